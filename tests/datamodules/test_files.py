"""A file is whole or not there, and nothing is left beside it."""

from __future__ import annotations

import pytest

from datamodules.files import replacing


@pytest.mark.parametrize("before", [None, "before"])
@pytest.mark.parametrize("name", ["archive.tar.gz", "plain"])
def test_replacing(tmp_path, name, before):
    path = tmp_path / name
    if before is not None:
        path.write_text(before)

    def fail():
        with replacing(path) as partial:
            partial.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [each.read_text() for each in tmp_path.iterdir()] == ([] if before is None else [before])
    with replacing(path) as partial:
        partial.write_text("whole")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [(name, "whole")]
