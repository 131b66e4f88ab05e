"""Files of a data set from its folder, or from its archive as it was shipped."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterable
from pathlib import Path

from datamodules.room import check_room


def read_files(root: Path, archive: str, names: Iterable[str], url: str) -> dict[str, bytes]:
    """The contents of files under ``root``, unpacked if all are there, else out of the ``.tar.gz`` beside them.

    Args:
        root: folder of the data.
        archive: name of the archive.
        names: names of the files, from the folder and within the archive.
        url: address of the archive, for messages.

    Raises:
        ValueError: a damaged archive, one without these files, or one in which they are larger than memory.
    """
    names = list(names)
    if all((root / name).is_file() for name in names):
        return {name: (root / name).read_bytes() for name in names}
    path = root / archive
    try:
        contents = read_archive(path, names)
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is damaged or cut short ({error}): delete it and get {url} again") from error
    missing = [name for name in names if name not in contents]
    if missing:
        raise ValueError(f"{path} is not {url}: it has no {', '.join(missing)}")
    return contents


def read_archive(path: Path, names: Iterable[str]) -> dict[str, bytes]:
    """The contents of some files of a ``.tar.gz``, which is read to its end, so that its checksum is compared.

    Raises:
        ValueError: files that together are larger than data may be.
    """
    contents: dict[str, bytes] = {}
    unpacked = 0
    with gzip.open(path) as stream:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                name = member.name.removeprefix("./")
                file = archive.extractfile(member) if name in names else None
                if file is not None:
                    unpacked += member.size
                    check_room(f"{name} in {path}", unpacked, f"if it is meant so, unpack it in {path.parent}")
                    contents[name] = file.read()
        while stream.read(2**20):
            pass
    return contents
