"""``python -m lightning_renyicl.import_weights``: encoders of other programs as checkpoints of the command."""
