"""What a run leaves on disk: its folder, its configuration and its curves."""
