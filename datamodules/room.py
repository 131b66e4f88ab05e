"""Data that say they are larger than this machine can hold."""

from __future__ import annotations

from datamodules.limits import memory_limit


def check_room(what: str, size: int, remedy: str = "") -> None:
    """Raises ValueError for data of more bytes than data may take.

    Args:
        what: the data, for the message.
        size: bytes of memory that it would take.
        remedy: what to do about it, for the message.
    """
    limit = memory_limit()
    if size > limit:
        raise ValueError(
            f"{what} would take {printed(size)} of memory, more than the {printed(limit)} that data may take on this "
            f"machine{remedy and ': '}{remedy}"
        )


def printed(size: int) -> str:
    """A number of bytes as it is read easily, such as 1.5 GiB."""
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / 2**20:,.1f} MiB"
