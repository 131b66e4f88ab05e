"""``python -m lightning_renyicl`` is the command ``lightning``."""

from lightning_renyicl.cli import main

main()
