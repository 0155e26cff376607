"""The plugin's folder is replaced in one step, and where the system cannot do that, in two."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolguard_cli.setup import plugin_folder
from toolguard_cli.system.exchange import exchange


def folder(path: Path, text: str) -> Path:
    path.mkdir()
    (path / "x.mjs").write_text(text)
    return path


def test_two_folders_change_places(tmp_path: Path) -> None:
    one, other = folder(tmp_path / "one", "1"), folder(tmp_path / "other", "2")
    if not exchange(one, other):
        pytest.skip("this system or file system exchanges nothing")
    assert [(each / "x.mjs").read_text() for each in (one, other)] == ["2", "1"]
    with pytest.raises(FileNotFoundError, match="missing"):
        exchange(one, tmp_path / "missing")


@pytest.mark.parametrize("supported", [True, False])
def test_a_copy_replaces_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, supported: bool) -> None:
    if not supported:
        monkeypatch.setattr(plugin_folder, "exchange", lambda *_: False)
    target = tmp_path / "state" / "extensions" / "toolguard"
    for text in ("1", "2"):
        source = folder(tmp_path / f"source{text}", text)
        plugin_folder.copy(source, target, text)
    assert (target / "x.mjs").read_text() == "2"
    assert [path.name for path in target.parent.parent.iterdir()] == ["extensions"]
