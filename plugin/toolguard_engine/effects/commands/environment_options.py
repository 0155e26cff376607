"""Options that programs take from environment variables, besides those of their command line."""

from __future__ import annotations

from collections.abc import Mapping

from toolguard_engine.effects.facts.command import ProgramRun

_VARIABLES: dict[str, tuple[str, ...]] = {
    "tar": ("TAR_OPTIONS",), "gtar": ("TAR_OPTIONS",), "unzip": ("UNZIP", "UNZIPOPT"), "zip": ("ZIP", "ZIPOPT"),
    "gzip": ("GZIP",), "xz": ("XZ_DEFAULTS", "XZ_OPT"), "bzip2": ("BZIP2", "BZIP"), "zstd": ("ZSTD_CLEVEL",),
    "grep": ("GREP_OPTIONS",), "rar": ("RAR",), "unrar": ("RAR",),
}  # fmt: skip
MAX_OPTIONS = 40


def with_options(program: ProgramRun, variables: Mapping[str, str | tuple[str, ...]]) -> ProgramRun:
    """The program with the options that its variables hold, behind its own words. `variables`: those of the shell."""
    names = _VARIABLES.get(program.name)
    if names is None:
        return program
    own = dict(program.assigns)
    values = [own.get(name) or variables.get(name, "") for name in names]
    more = tuple(word for value in values if isinstance(value, str) for word in value.split())[:MAX_OPTIONS]
    if not more or program.argv[-len(more) :] == more:
        return program
    return program.with_words((*program.argv, *more))
