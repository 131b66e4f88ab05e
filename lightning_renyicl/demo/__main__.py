"""``python -m lightning_renyicl.demo`` is ``make demo`` without the installation."""

from lightning_renyicl.demo.pool import main

main()
