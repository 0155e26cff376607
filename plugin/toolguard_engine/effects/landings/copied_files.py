"""Where programs that copy, move and link files put them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from toolguard_engine.effects.landings.landing import Landing, Lands, When, last_part, split_host
from toolguard_engine.effects.programs.getopt import OptionTable, options
from toolguard_engine.effects.shell.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.shell.place_names import words as words_of

_TARGET = frozenset({"-t", "--target-directory", "-S", "--suffix"})
_INSTALL = _TARGET | {"-m", "--mode", "-o", "--owner", "-g", "--group", "--strip-program"}
_SCP = frozenset({"-c", "-D", "-F", "-i", "-J", "-l", "-o", "-P", "-S", "-X"})
_DITTO = frozenset({"--arch", "--bom", "--zlibCompressionLevel", "--password"})
_RSYNC = words_of(
    "-e --rsh --exclude --include --filter -f --files-from --exclude-from --include-from --log-file --log- "
    "file-format --out-format --bwlimit --timeout --contimeout --port --password-file --early-input --temp-dir "
    "-T --backup-dir --suffix --chmod --chown --usermap --groupmap --partial-dir --compare-dest --copy-dest "
    "--link-dest -B --block-size -M --remote-option --rsync-path --max-size --min-size --max-delete --max- "
    "alloc --modify-window -@ --compress-level --zl --compress-choice --zc --checksum-choice --cc --checksum- "
    "seed --skip-compress --sockopts --address --outbuf --info --debug --protocol --iconv --stop-after --stop- "
    "at --time-limit --write-batch --only-write-batch --read-batch --copy-as --config --dparam "
)
_DEEP = ("-r", "-R", "-a", "--recursive", "--archive")
_DEEP_RSYNC = ("-r", "-a", "-d", "--recursive", "--archive", "--dirs", "--files-from")


def has(words: OptionTable, *names: str) -> bool:
    """Whether one of these options is given; a long one may be abbreviated."""
    return any(
        name in names or (len(name) > 3 and name[:2] == "--" and any(each.startswith(name) for each in names))  # noqa: PLR2004 - `--` and 2 letters
        for name, _ in words.options
    )


def sources_and_target(words: OptionTable) -> tuple[list[str], str, bool]:
    """What is copied, where to, and whether an option says that this is a folder."""
    named = [word.text for word in words.operands]
    target = words.last("-t", "--target-directory")
    if target:
        return named or [UNKNOWN], target, True
    return named[:-1], named[-1] if named else "", False


def landings_in(
    sources: list[str], target: str, *, is_folder: bool, like: Landing, keeps_folders: bool = False, bsd: bool = False
) -> Iterator[Landing]:
    """One or two for each source: a target that is a folder gets it inside, any other becomes it.

    `keeps_folders`: names keep the folders that the command names (`--parents`); `bsd`: a slash after a source means what is
    in it.
    """
    host, folder = split_host(target) if like.host == "?" else ("", target)
    for source in sources:
        path = split_host(source)[1] if like.host == "?" else source
        name = path.lstrip("/") if keeps_folders else "" if bsd and path.endswith("/") else last_part(path)
        made = (like.deep, like.merges, like.overwrites)
        certain = is_folder or keeps_folders or len(sources) > 1 or target.endswith("/")
        when: When = "" if not name or certain else "folder"
        yield Landing(source, folder, name, *made, when, host)
        if when:
            yield Landing(source, folder, "", *made, "no-folder", host)


def _exactly(sources: list[str], target: str, like: Landing) -> Iterator[Landing]:
    """The target is never a folder to put things into (`-T`)."""
    for source in sources:
        yield Landing(source, target, "", like.deep, like.merges, like.overwrites)


def _copy(
    run: ProgramRun, valued: frozenset[str] = _TARGET, *, always_deep: bool = False, bsd: bool = False
) -> Iterator[Landing]:
    words = options(run, valued)
    sources, target, is_folder = sources_and_target(words)
    if not target:
        return
    like = Landing("", "", "", always_deep or has(words, *_DEEP), overwrites=not has(words, "-n", "--no-clobber"))
    if has(words, "-T", "--no-target-directory"):
        yield from _exactly(sources, target, like)
    else:
        yield from landings_in(
            sources, target, is_folder=is_folder, like=like, keeps_folders=has(words, "--parents"), bsd=bsd
        )


def _move(run: ProgramRun) -> Iterator[Landing]:
    """A folder that is not empty is not replaced by a move, unless it is put aside first."""
    words = options(run, _TARGET)
    sources, target, is_folder = sources_and_target(words)
    if not target:
        return
    aside = has(words, "-b", "--backup", "--exchange")
    like = Landing("", "", "", merges=aside, overwrites=not has(words, "-n", "--no-clobber"))
    if has(words, "-T", "--no-target-directory"):
        yield from _exactly(sources, target, like)
    else:
        yield from landings_in(sources, target, is_folder=is_folder, like=like)


def _link(run: ProgramRun) -> Iterator[Landing]:
    words = options(run, _TARGET)
    sources, target, is_folder = sources_and_target(words)
    if not sources and target:
        sources, target, is_folder = [target], ".", True
    like = Landing("", "", "", merges=False, overwrites=has(words, "-f", "--force", "-b", "--backup", "-i", "--interactive"))
    sources = [source for source in sources if last_part(source)]
    if has(words, "-T", "--no-target-directory"):
        yield from _exactly(sources, target, like)
    elif target:
        yield from landings_in(sources, target, is_folder=is_folder, like=like)


def _install(run: ProgramRun) -> Iterator[Landing]:
    words = options(run, _INSTALL)
    if has(words, "-d", "--directory"):
        yield from (Landing("", word.text, deep=False, overwrites=False) for word in words.operands)
        return
    sources, target, is_folder = sources_and_target(words)
    like = Landing("", "", "", deep=False)
    if has(words, "-T", "--no-target-directory"):
        yield from _exactly(sources, target, like)
    elif target:
        yield from landings_in(sources, target, is_folder=is_folder, like=like)


def _ditto(run: ProgramRun) -> Iterator[Landing]:
    """The content of a folder lands in the target; a file in it or as it. With `-c` one archive is written."""
    words = options(run, _DITTO)
    named = [word.text for word in words.operands]
    if len(named) < 2:  # noqa: PLR2004 - a source and a target
        return
    if has(words, "-c"):
        yield Landing(named[0], named[-1], deep=False)
        return
    for source in named[:-1]:
        yield Landing(UNKNOWN if has(words, "-x") else source, named[-1])
        if name := last_part(source):
            yield Landing(source, named[-1], name, deep=has(words, "--keepParent"), when="folder")


def _scp(run: ProgramRun) -> Iterator[Landing]:
    words = options(run, _SCP)
    sources, target, _ = sources_and_target(words)
    if target:
        like = Landing("", "", "", has(words, "-r"), host="?")
        yield from landings_in(sources, target, is_folder=False, like=like)


def _rsync(run: ProgramRun) -> Iterator[Landing]:
    words = options(run, _RSYNC)
    sources, target, _ = sources_and_target(words)
    sources = sources or [UNKNOWN] * bool(words.last("--read-batch"))
    if not target or not sources:
        return
    deep, overwrites = has(words, *_DEEP_RSYNC), not has(words, "--ignore-existing")
    host, folder = split_host(target)
    relative = has(words, "-R", "--relative")
    for source in sources:
        yield from _synchronized(source, folder, host, relative=relative, listed=words.has("--files-from"), deep=deep,
                                 overwrites=overwrites)  # fmt: skip
    if put_aside := words.last("--backup-dir"):
        yield Landing(UNKNOWN, put_aside, host=host)


def _synchronized(
    source: str, folder: str, host: str, *, relative: bool, listed: bool, deep: bool, overwrites: bool
) -> Iterator[Landing]:
    path = split_host(source)[1]
    if listed or (path.endswith(("/", "/.")) and not relative):
        name = ""
    elif relative:
        name = (path.rpartition("/./")[2] if "/./" in path else path).lstrip("/").removesuffix("/.")
        name = "" if name in (".", "") else name
    else:
        name = last_part(path)
    when: When = "folder" if name and not folder.endswith("/") and not relative else ""
    yield Landing(source, folder, name, deep, overwrites=overwrites, when=when, host=host)
    if when:
        yield Landing(source, folder, deep=False, overwrites=overwrites, when="no-folder", host=host)


_CONTAINER_VERBS = frozenset({"cp"})


def _container(run: ProgramRun) -> Iterator[Landing]:
    """`docker cp box:/d/. ~` works as `cp -a` does."""
    at = next((at for at, word in enumerate(run.argv[:4]) if word in _CONTAINER_VERBS), 0)
    named = [
        word.text for word in options(run, frozenset({"-c", "--container", "-n", "--namespace"}), start=at + 1).operands
    ]
    if at and len(named) > 1:
        yield from landings_in(named[:-1], named[-1], is_folder=False, like=Landing("", "", "", host="?"))


_CLOUD_VERBS = frozenset({"copy", "sync", "move", "bisync"})
_CLOUD_VALUED = frozenset({"--exclude", "--include", "--filter", "--transfers", "--config", "--bwlimit", "--log-file"})


def _rclone(run: ProgramRun) -> Iterator[Landing]:
    """The content of the source, always."""
    named = [word.text for word in options(run, _CLOUD_VALUED).operands]
    if len(named) > 2 and named[0] in _CLOUD_VERBS and ":" not in named[2]:  # noqa: PLR2004 - a verb, a source, a target
        yield Landing(named[1], named[2])


_SWITCH = "/-"


def _robocopy(run: ProgramRun) -> Iterator[Landing]:
    """Windows: `robocopy` and `xcopy` put the content of the source into the target."""
    named = [word for word in run.argv[1:] if not (word[:1] in _SWITCH and "/" not in word[1:])]
    if len(named) > 1:
        yield Landing(named[0], named[1])


_NAMED = {"-path": 0, "-literalpath": 0, "-destination": 1, "-destinationpath": 1}


def _power_shell(run: ProgramRun, *, deep: bool = False, unpacks: bool = False) -> Iterator[Landing]:
    """`Copy-Item -Recurse d/* -Destination ~`, `Move-Item`, `Expand-Archive`."""
    given, named, at = ["", ""], list[str](), 1
    while at < len(run.argv):
        word = run.argv[at].lower()
        if word in _NAMED:
            given[_NAMED[word]] = "".join(run.argv[at + 1 : at + 2])
            at += 1
        elif word.startswith("-"):
            deep = deep or (len(word) > 1 and "-recurse".startswith(word))
        else:
            named.append(run.argv[at])
        at += 1
    source = given[0] or "".join(named[:1])
    target = given[1] or "".join(named[0 if given[0] else 1 :][:1])
    if unpacks and source:
        yield Landing(UNKNOWN, target or ".")
    elif source and target:
        yield from landings_in([source], target, is_folder=False, like=Landing("", "", "", deep))


PROGRAMS: dict[str, Lands] = {
    "cp": _copy, "gcp": _copy, "rcp": _copy, "mv": _move, "gmv": _move, "ln": _link, "gln": _link, "install": _install,
    "ginstall": _install, "ditto": _ditto, "scp": _scp, "rsync": _rsync, "rclone": _rclone,
    **dict.fromkeys(("docker", "podman", "nerdctl", "kubectl", "oc"), _container),
    "robocopy": _robocopy, "xcopy": _robocopy,
    "Copy-Item": _power_shell, "Move-Item": partial(_power_shell, deep=True),
    "Expand-Archive": partial(_power_shell, unpacks=True),
}  # fmt: skip
