"""Archives, repositories and packages put into a gateway folder, where the gateway loads or runs what it finds.

In other folders they are ordinary work, which `file_readers` and `file_programs` cover.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from posixpath import basename

from toolguard_engine.effects.programs import Act, write_effects
from toolguard_engine.effects.shell.command import Effect, ProgramRun
from toolguard_engine.effects.shell.places import Where, marks

_FOLDER = re.compile(
    r"-[a-zA-Z]*[CdDoPy]|-out|--(?:directory(?:-prefix)?|prefix|dir|cwd|output-directory|destination|extract-to|work-tree)"
)
_ATTACHED = re.compile(r"(?:-[CdDoPy]|--[a-z-]{2,20}=)(.+)", re.DOTALL)
_MAX_WORDS = 60

_EXTRACTS = {
    "tar": re.compile(r"-?[a-zA-Z]*x[a-zA-Z]*|--(?:extract|get)"),
    "7z": re.compile(r"[xe]"),
    "unrar": re.compile(r"[xe]"),
    "cpio": re.compile(r"-[a-zA-Z]*i[a-zA-Z]*|--extract"),
    "pax": re.compile(r"-[a-z]*r[a-z]*"),
    "jar": re.compile(r"-?[a-z]*x[a-z]*|--extract"),
    "git": re.compile(r"clone|worktree|submodule|apply|am|checkout|restore|pull|init"),
    "hg": re.compile(r"clone"),
    "svn": re.compile(r"checkout|co|export"),
    "gh": re.compile(r"clone|download"),
    "npm": re.compile(r"i|in|install|add|ci|init|create|link|ln"),
    "python": re.compile(r"-e|--extract"),
    "docker": re.compile(r"cp"),
    "yq": re.compile(r"-[a-zA-Z]*i[a-zA-Z]*|--inplace"),
    "gzip": re.compile(r"-[a-z]*d[a-z]*|--(?:de|un)compress"),
}
"""The word that makes a program put files into a folder. Programs that are not listed do nothing else."""

_ALIASES = {
    "bsdtar": "tar", "gtar": "tar", "star": "tar", "7za": "7z", "7zz": "7z", "7zr": "7z", "rar": "unrar", "glab": "gh",
    "podman": "docker", "kubectl": "docker", "nerdctl": "docker", "lxc": "docker", "xz": "gzip", "zstd": "gzip",
    "bzip2": "gzip", "brotli": "gzip", "lz4": "gzip", "pnpm": "npm", "yarn": "npm", "bun": "npm", "python3": "python",
}  # fmt: skip
_MODULES = frozenset({"zipfile", "tarfile"})
_COPIERS = frozenset({"scp", "sftp", "rclone", "ditto", "docker", "podman", "kubectl", "nerdctl", "lxc", "yq", "openssl"})
"""Programs whose last word is always the destination."""

_LISTS = re.compile(r"-[a-zA-Z]*[lvtpZ][a-zA-Z]*")


def _unpacks(run: ProgramRun, where: Where) -> Iterator[Effect]:
    words = run.argv[1:_MAX_WORDS]
    kind = _ALIASES.get(run.name, run.name)
    verb = _EXTRACTS.get(kind)
    if verb is not None and not any(map(verb.fullmatch, words)):
        return
    if (kind == "python" and _MODULES.isdisjoint(words)) or (run.name == "unzip" and any(map(_LISTS.fullmatch, words))):
        return
    for target in dict.fromkeys(_targets(words, copies_here=run.name not in _COPIERS)):
        if "gateway-file" in marks(target, where, run.cwd):
            yield from write_effects(target, run, where, "unpacked")
            return


def _targets(words: tuple[str, ...], *, copies_here: bool) -> Iterator[str]:
    """The folders that the unpacked files may land in: an option's, the last word, or the current folder."""
    folders = [value for option, value in pairwise(words) if _FOLDER.fullmatch(option)]
    folders += [match[1] for word in words if (match := _ATTACHED.fullmatch(word))]
    yield from folders
    named = [word for word in words if not word.startswith("-")]
    if named:
        yield named[-1]
        yield from (f"{folder}/{named[-1]}" for folder in folders)
    if not folders and copies_here:
        yield f"./{basename(''.join(named[-1:]).rstrip('/')).removesuffix('.git') or '.'}"


_NAMES = (
    "tar bsdtar gtar star unzip 7z 7za 7zz 7zr unar unrar rar cpio pax jar ditto git hg svn gh glab degit tiged npm pnpm "
    "yarn bun python python3 scp sftp rclone patch docker podman kubectl nerdctl lxc yq "
    "openssl gzip xz zstd bzip2 brotli lz4 "
    "gunzip unxz unzstd bunzip2 uncompress"
)

_QUOTED = re.compile(r"['\"]\s{0,3}(>{0,2})\s{0,3}([~./][^'\"\n]{1,300})['\"]")
_CODE_WRITES = re.compile(
    r"cop(?:y|ytree|yfile|ySync)\b|copy2|\bcp_?r?\(|extract|unpack|\bmove|rename|symlink|>\s{0,3}\(?['\"$]|write"
    r"|['\"][wax]b?\+?['\"]|truncate|dump"
)
_INTERPRETERS = "awk gawk mawk nawk perl python python3 ruby node bun deno php lua tclsh"


def _coded(run: ProgramRun, where: Where) -> Iterator[Effect]:
    """Code that names a file of the gateway and contains something that writes, copies or unpacks."""
    for code in (*run.argv[1:_MAX_WORDS], (run.stdin.text or "") if run.stdin else ""):
        for match in _QUOTED.finditer(code[:_MAX_CODE]) if "/" in code else ():
            if "gateway-file" in marks(match[2], where, run.cwd) and (match[1] or _CODE_WRITES.search(code)):
                yield from write_effects(match[2], run, where)
                return


_MAX_CODE = 20_000


def _both(run: ProgramRun, where: Where) -> Iterator[Effect]:
    yield from _unpacks(run, where)
    yield from _coded(run, where)


PROGRAMS: dict[str, Act] = dict.fromkeys(_INTERPRETERS.split(), _coded)
PROGRAMS |= {name: _both if name in PROGRAMS else _unpacks for name in _NAMES.split()}


# --- what an archive leaves behind, in whatever folder ---------------------------------------------------------------------

_INTO = {
    "tar": ("-C", "--directory", "--cd"), "bsdtar": ("-C", "--cd"), "gtar": ("-C", "--directory"), "unzip": ("-d",),
    "unrar": ("-op",), "cpio": ("-D", "--directory"), "7z": ("-o",),
}  # fmt: skip
_ENDS = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".br", ".Z", ".lzma", ".gpg", ".asc", ".enc", ".uu")
_INFLATERS = frozenset({"gunzip", "unxz", "unzstd", "bunzip2", "uncompress", "unlzma"})
_VALUED = frozenset({"-f", "-C", "-d", "-T", "-X", "-D", "-I", "-F", "--file", "--directory", "-K"})
_INFLATES = re.compile(r"-[a-zA-Z]*d[a-zA-Z]*|--(?:de|un)compress")


def unpacks(run: ProgramRun) -> bool:
    """Whether it unpacks an archive."""
    kind, words = _ALIASES.get(run.name, run.name), run.argv[1:_MAX_WORDS]
    if kind == "python":
        return not _MODULES.isdisjoint(words) and "-e" in words
    if run.name in ("unzip", "ditto", "unar"):
        return not any(map(_LISTS.fullmatch, words)) and (run.name != "ditto" or "-x" in words)
    if kind not in ("tar", "7z", "unrar", "cpio", "pax", "jar"):
        return False
    return any(map(_EXTRACTS[kind].fullmatch, words[:3] if kind == "tar" else words))


def folder_of(run: ProgramRun) -> str:
    """The folder that it is told to unpack into; empty for the current one."""
    kind, words = _ALIASES.get(run.name, run.name), run.argv[1:_MAX_WORDS]
    if run.name in ("ditto", "python", "python3"):
        return words[-1] if words and words[-1] not in (".", "./") else ""
    into = _INTO.get(run.name) or _INTO.get(kind, ())
    folder = ""
    for word, value in pairwise((*words, "")):
        if word in into:
            folder = value
        else:
            name = next((name for name in into if word.startswith(name) and len(word) > len(name)), "")
            folder = word[len(name) :].removeprefix("=") if name and (name[:2] != "--" or "=" in word) else folder
    return "" if folder in (".", "./") else folder


def archive_of(run: ProgramRun) -> str:
    """The archive; empty if it is the standard input."""
    words = run.argv[1:_MAX_WORDS]
    for word, value in pairwise((*words, "")):
        if word.startswith("--file="):
            return word.removeprefix("--file=")
        is_letters = word[:1] == "-" or word == words[0]
        if word == "--file" or (is_letters and word[:2] != "--" and word.endswith("f") and run.name.endswith("tar")):
            return value
    skipped = {value for word, value in pairwise(words) if word in _VALUED}
    kind = _ALIASES.get(run.name, run.name)
    named = [word for word in words if word[:1] != "-" and word not in skipped]
    if kind in ("7z", "unrar", "jar"):
        named = named[1:]
    return "" if kind in ("tar", "cpio", "pax") else "".join(named[:1])


def inflated(run: ProgramRun) -> Iterator[str]:
    """The files that take the place of compressed ones: `gunzip x.sh.gz` makes `x.sh`."""
    words = run.argv[1:_MAX_WORDS]
    packs = _ALIASES.get(run.name) == "gzip" or run.name == "gzip"
    if run.name in _INFLATERS or (packs and any(map(_INFLATES.fullmatch, words))):
        for word in words:
            end = next((end for end in _ENDS if word.endswith(end)), "")
            if end and word[:1] != "-":
                yield word.removesuffix(end)
