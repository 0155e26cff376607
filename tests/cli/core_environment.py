"""An environment with toolguard's own dependencies and nothing else: without the extras, and without what tests need.

Its packages are links to those of the environment that runs the tests, so nothing is downloaded and it takes a moment.
"""

from __future__ import annotations

import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
OWN = "openclaw-toolguard"
SOURCES = ("plugin", "cli", "manifests")


def needed(name: str = OWN, extras: frozenset[str] = frozenset()) -> Iterator[Requirement]:
    """What a distribution requires with these extras."""
    environment: dict[str, str] = {name: str(value) for name, value in default_environment().items()}
    for text in distribution(name).requires or []:
        requirement = Requirement(text)
        chosen = [{**environment, "extra": extra} for extra in ("", *extras)]
        if requirement.marker is None or any(requirement.marker.evaluate(each) for each in chosen):
            yield requirement


def core() -> dict[str, Distribution]:
    """All distributions that come with toolguard, without itself."""
    distributions: dict[str, Distribution] = {}
    left = list(needed())
    while left:
        requirement = left.pop()
        name = canonicalize_name(requirement.name)
        if name not in distributions:
            distributions[name] = distribution(name)
            left += needed(name, frozenset(requirement.extras))
    return distributions


def borrow(place: Path) -> None:
    """Makes the core's packages importable in this virtual environment."""
    (site_packages,) = place.glob("lib/python*/site-packages")
    for known in core().values():
        for top in {file.parts[0] for file in known.files or [] if file.parts[0] not in ("..", "__pycache__")}:
            (site_packages / top).symlink_to(Path(str(known.locate_file(top))))


def made(place: Path) -> Path:
    """Its Python, which has this checkout."""
    venv.create(place, with_pip=False, symlinks=True)
    borrow(place)
    (site_packages,) = place.glob("lib/python*/site-packages")
    (site_packages / "checkout.pth").write_text("".join(f"{ROOT / source}\n" for source in SOURCES))
    return place / "bin" / "python"
