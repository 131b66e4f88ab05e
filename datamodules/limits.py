"""How much memory unpacked data may take."""

from __future__ import annotations

import os


def memory_limit() -> int:
    """Bytes that unpacked data may take: half of this machine's memory, or 8 GiB where the system doesn't say it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return 8 * 2**30
