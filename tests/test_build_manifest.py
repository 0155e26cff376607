"""What is wrong with a source of the generated files, or with the Python that builds them, is said in words."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from toolguard_engine import packaged

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "scripts" / "build_manifest"


def _built(*options: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if path is not None:
        env["PYTHONPATH"] = os.pathsep.join(map(str, (path, ROOT / "plugin", ROOT / "cli")))
    return subprocess.run(
        [sys.executable, *options, str(SCRIPT), "--check"], capture_output=True, text=True, check=False, env=env
    )


def test_a_python_without_the_packages_is_named_with_what_to_do() -> None:
    done = _built("-S")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    assert ".venv/bin/python scripts/build_manifest" in done.stderr


def test_a_wrong_entry_is_named_in_one_line(tmp_path: Path) -> None:
    manifests = tmp_path / "toolguard_manifests"
    shutil.copytree(packaged.FOLDER, manifests, ignore=shutil.ignore_patterns("__pycache__"))
    (manifests / "manuals" / "new.toml").write_text('[mirrorup]\nkind = "rsync"\nwords = "source... target"\n')
    done = _built(path=tmp_path)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    assert all(word in lines[0] for word in ("mirrorup", "`does`", '`does = "copies"`'))
