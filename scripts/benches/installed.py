"""What an installation takes: the wheel, and fresh environments with the core alone and with each extra.

Everything comes from the registry that pip is set up to use, without pip's cache; seconds depend on it. Sizes are those of
site-packages without pip, in MB of 10^6 bytes, as files are stored.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WANTED = ("", "[dashboard]", "[notify]", "[fleet]", "[dashboard,notify,fleet]")
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")
MB = 1_000_000


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, *PIP, "wheel", "--no-deps", "--wheel-dir", folder, str(ROOT))
        (wheel,) = Path(folder).glob("*.whl")
        print(f"the wheel: {wheel.stat().st_size / MB:.1f} MB")
        print(f"{'installed':28}{'packages':>10}{'MB':>8}{'seconds':>9}{'processor s':>13}")
        for extras in WANTED:
            print(f"{extras or 'core':28}{measured(wheel, extras)}", flush=True)


def measured(wheel: Path, extras: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        (packages,) = Path(folder).glob("lib/python*/site-packages")
        before, present = size(packages), distributions(packages)
        seconds, used = time.monotonic(), processor_time()
        run(str(Path(folder, "bin", "python")), *PIP, "--no-cache-dir", "install", f"{wheel}{extras}")
        seconds, used = time.monotonic() - seconds, processor_time() - used
        return f"{distributions(packages) - present:>10}{(size(packages) - before) / MB:>8.1f}{seconds:>9.1f}{used:>13.1f}"


def distributions(packages: Path) -> int:
    return len(list(packages.glob("*.dist-info")))


def size(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(*command: str) -> None:
    subprocess.run(command, check=True, cwd="/")


if __name__ == "__main__":
    main()
