"""Archives, repositories and packages put into a gateway folder, where the gateway loads or runs what it finds.

In other folders they are ordinary work, which `file_readers` and `file_programs` cover.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from posixpath import basename

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where, marks
from toolguard_engine.effects.landings import landings
from toolguard_engine.effects.manuals import manual_catalogue, option_parser
from toolguard_engine.effects.programs import Act, write_effects
from toolguard_engine.model.text_answers import kept_by_text

_FOLDER = lazy_re.compile(
    r"-[a-zA-Z]*[CdDoPy]|-out|--(?:directory(?:-prefix)?|prefix|dir|cwd|output-directory|destination|extract-to|work-tree)"
)
_ATTACHED = lazy_re.compile(r"(?:-[CdDoPy]|--[a-z-]{2,20}=)(.+)", re.DOTALL)
_MAX_WORDS = 60

_EXTRACTS = {
    "git": lazy_re.compile(r"clone|worktree|submodule|apply|am|checkout|restore|pull|init"),
    "hg": lazy_re.compile(r"clone"),
    "svn": lazy_re.compile(r"checkout|co|export"),
    "gh": lazy_re.compile(r"clone|download"),
    "npm": lazy_re.compile(r"i|in|install|add|ci|init|create|link|ln"),
    "python": lazy_re.compile(r"-e|--extract"),
    "docker": lazy_re.compile(r"cp"),
    "yq": lazy_re.compile(r"-[a-zA-Z]*i[a-zA-Z]*|--inplace"),
    "gzip": lazy_re.compile(r"-[a-z]*d[a-z]*|--(?:de|un)compress"),
}
"""The word that makes a program put files into a folder. Programs that are not listed do nothing else."""

_ALIASES = {
    "glab": "gh", "podman": "docker", "kubectl": "docker", "nerdctl": "docker", "lxc": "docker", "xz": "gzip",
    "zstd": "gzip", "bzip2": "gzip", "brotli": "gzip", "lz4": "gzip", "pnpm": "npm", "yarn": "npm", "bun": "npm",
}  # fmt: skip
_MODULES = frozenset({"zipfile", "tarfile"})
_COPIERS = frozenset({"docker", "podman", "kubectl", "nerdctl", "lxc", "yq", "openssl"})
"""Programs whose last word is always the destination."""


def _unpacks(program: ProgramRun, where: Where) -> Iterator[Effect]:
    words = program.argv[1:_MAX_WORDS]
    kind = _ALIASES.get(program.name, program.name)
    verb = _EXTRACTS.get(kind)
    if verb is not None and not any(map(verb.fullmatch, words)):
        return
    if kind == "python" and _MODULES.isdisjoint(words):
        return
    yield from _landed(_targets(words, copies_here=program.name not in _COPIERS), program, where)
    if kind == "npm":
        yield from _by_manual(program, where)


def _landed(targets: Iterable[str], program: ProgramRun, where: Where) -> Iterator[Effect]:
    """A write to the first of these paths that is a file or folder of the gateway."""
    for target in dict.fromkeys(targets):
        if "gateway-file" in marks(target, where, program.cwd):
            yield from write_effects(target, program, where, "unpacked")
            return


def _by_manual(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """What an archiver unpacks, or a program copies or installs from another machine, into a folder of the gateway."""
    here = (landing for landing in landings(program) if not landing.host and landing.when != "absolute-names")
    yield from _landed((landing.path for landing in islice(here, _MAX_WORDS)), program, where)


def _targets(words: tuple[str, ...], *, copies_here: bool) -> Iterator[str]:
    """The folders that the unpacked files may land in: an option's, the last word, or the current folder."""
    folders = [value for option, value in pairwise(words) if _FOLDER.fullmatch(option)]
    folders += [match[1] for word in words if (match := _ATTACHED.fullmatch(word))]
    yield from folders
    named = option_parser.plain(("", *words)).texts
    if named:
        yield named[-1]
        yield from (f"{folder}/{named[-1]}" for folder in folders)
    if not folders and copies_here:
        yield f"./{basename(''.join(named[-1:]).rstrip('/')).removesuffix('.git') or '.'}"


_NAMES = (
    "git hg svn gh glab degit tiged npm pnpm yarn bun python patch docker podman kubectl nerdctl lxc yq "
    "openssl gzip xz zstd bzip2 brotli lz4 "
    "gunzip unxz unzstd bunzip2 uncompress"
)

_QUOTED = lazy_re.compile(r"['\"]\s{0,3}(>{0,2})\s{0,3}([~./][^'\"\n]{1,300})['\"]")
_CODE_WRITES = lazy_re.compile(
    r"cop(?:y|ytree|yfile|ySync)\b|copy2|\bcp_?r?\(|extract|unpack|\bmove|rename|symlink|>\s{0,3}\(?['\"$]|write"
    r"|['\"][wax]b?\+?['\"]|truncate|dump"
)


def _coded(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """Code that names a file of the gateway and contains something that writes, copies or unpacks."""
    for code in (*program.argv[1:_MAX_WORDS], (program.stdin.text or "") if program.stdin else ""):
        for sign, path in _named(code) if "/" in code else ():
            if "gateway-file" in marks(path, where, program.cwd) and (sign or _CODE_WRITES.search(code)):
                yield from write_effects(path, program, where)
                return


@kept_by_text
def _named(code: str) -> tuple[tuple[str, str], ...]:
    """The paths in quotes, with the sign of a redirection before them."""
    return tuple((match[1], match[2]) for match in _QUOTED.finditer(code[:_MAX_CODE]))


_MAX_CODE = 20_000


def _both(program: ProgramRun, where: Where) -> Iterator[Effect]:
    yield from _unpacks(program, where)
    yield from _coded(program, where)


_FROM_AFAR = frozenset({*manual_catalogue.aliases("scp"), "sftp", "rclone", "ditto"})

PROGRAMS: dict[str, Act] = dict.fromkeys(program_catalogue.programs("interpreter"), _coded)
PROGRAMS |= {name: _both if name in PROGRAMS else _unpacks for name in _NAMES.split()}
PROGRAMS |= dict.fromkeys(manual_catalogue.doing("unpacks") | _FROM_AFAR, _by_manual)


# --- what an archive leaves behind, in whatever folder ---------------------------------------------------------------------

_ENDS = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".br", ".Z", ".lzma", ".gpg", ".asc", ".enc", ".uu")
_INFLATERS = frozenset({"gunzip", "unxz", "unzstd", "bunzip2", "uncompress", "unlzma"})
_INFLATES = lazy_re.compile(r"-[a-zA-Z]*d[a-zA-Z]*|--(?:de|un)compress")


def unpacks(program: ProgramRun) -> bool:
    """Whether it unpacks an archive."""
    if program.name.rstrip("0123456789.") == "python":
        return not _MODULES.isdisjoint(program.argv[1:_MAX_WORDS]) and "-e" in program.argv
    return any("unpacks" in words.acts for words in program.readings)


def folder_of(program: ProgramRun) -> str:
    """The folder that it is told to unpack into, in the end; empty for the current one."""
    folders = [landing.folder for landing in landings(program) if landing.deep and not landing.name and not landing.when]
    return next((folder for folder in reversed(folders) if folder not in ("", ".", "./")), "")


def archive_of(program: ProgramRun) -> str:
    """The archive; empty if it is the standard input."""
    archive = next(filter(None, (words.one("archive") or words.one("source") for words in program.readings)), "")
    return "" if archive == "-" else archive


def inflated(program: ProgramRun) -> Iterator[str]:
    """The files that take the place of compressed ones: `gunzip x.sh.gz` makes `x.sh`."""
    words = program.argv[1:_MAX_WORDS]
    packs = _ALIASES.get(program.name) == "gzip" or program.name == "gzip"
    if program.name in _INFLATERS or (packs and any(map(_INFLATES.fullmatch, words))):
        for word in program.words.texts:
            end = next((end for end in _ENDS if word.endswith(end)), "")
            if end:
                yield word.removesuffix(end)
