"""``make bench``: every pipeline as a ratio of two things that are timed in one run."""
