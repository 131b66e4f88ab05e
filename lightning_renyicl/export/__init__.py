"""``python -m lightning_renyicl.export``: a checkpoint's encoder for programs that know nothing of this one."""
