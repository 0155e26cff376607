"""Where programs that copy, move and link files put them."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.landings.landing import Landing, Lands, When, last_part, split_host
from toolguard_engine.effects.manuals import manual_catalogue, option_parser
from toolguard_engine.effects.manuals.command_words import CommandWords


def sources_and_target(program: ProgramRun, words: CommandWords) -> tuple[list[str], str]:
    """What is copied, and where to. What another program appends (`xargs`) or a list names counts as one unknown source, and
    the only operand then is the target; but programs of the kind `rsync` list it if there is no list of sources."""
    sources, target = [word.text for word in words.named("source")], words.one("target")
    if target:
        # A list may name anything, unless its names are looked up below the source: one beside it says nothing of them.
        return ([*sources, UNKNOWN] if not sources or _lists_sources(words) else sources), target
    appended = program.via and manual_catalogue.kind(program.name) != "rsync"
    if len(sources) == 1 and (appended or words.named("names")):
        return [UNKNOWN], sources[0]
    return sources, ""


def _lists_sources(words: CommandWords) -> bool:
    """Whether a list names sources of its own."""
    return any(option.entry.role == "names" and "below-source" not in option.entry.traits for option in words.given)


def is_folder_by_option(words: CommandWords) -> bool:
    """Whether an option says that the target is a folder."""
    return any(option.entry.role == "target" for option in words.given)


def is_never_folder(words: CommandWords) -> bool:
    """Whether the target is never a folder to put things into (`-T`)."""
    return words.has("--no-target-directory")


def _name_inside(path: str, *, keeps_folders: bool, bsd: bool) -> str:
    """The name that a source has in the target; empty if its content lands there without it."""
    if keeps_folders:
        return path.lstrip("/")
    return "" if bsd and path.endswith("/") else last_part(path)


def landings_in(
    sources: list[str], target: str, *, is_folder: bool, like: Landing, keeps_folders: bool = False, bsd: bool = False
) -> Iterator[Landing]:
    """One or two for each source: a target that is a folder gets it inside, any other becomes it.

    `keeps_folders`: names keep the folders that the command names (`--parents`); `bsd`: a slash after a source means what is
    in it.
    """
    host, folder = split_host(target) if like.host == "?" else ("", target)
    made = (like.deep, like.merges, like.overwrites)
    certain = is_folder or keeps_folders or len(sources) > 1 or target.endswith("/")
    for source in sources:
        path = split_host(source)[1] if like.host == "?" else source
        name = _name_inside(path, keeps_folders=keeps_folders, bsd=bsd)
        when: When = "" if not name or certain else "folder"
        yield Landing(source, folder, name, *made, when, host)
        if when:
            yield Landing(source, folder, "", *made, "no-folder", host)


def _placed(program: ProgramRun, words: CommandWords, like: Landing) -> Iterator[Landing]:
    """The same as `landings_in`, with the options that all of these programs have."""
    sources, target = sources_and_target(program, words)
    if not target:
        return
    if is_never_folder(words):
        for source in sources:
            yield Landing(source, target, "", like.deep, like.merges, like.overwrites)
    else:
        keeps = words.has("--parents")
        is_folder = is_folder_by_option(words)
        yield from landings_in(sources, target, is_folder=is_folder, like=like, keeps_folders=keeps)


def _copy(program: ProgramRun, words: CommandWords) -> Iterator[Landing]:
    yield from _placed(program, words, Landing("", "", deep=words.recursive))


def _move(program: ProgramRun, words: CommandWords) -> Iterator[Landing]:
    """A folder that is not empty is not replaced by a move, unless it is put aside first."""
    yield from _placed(program, words, Landing("", "", merges=words.has("-b", "--backup", "--exchange")))


def _link(program: ProgramRun, words: CommandWords) -> Iterator[Landing]:
    """A link to one thing that names no target lands in the current folder."""
    replaces = words.has("--force", "-b", "--backup", "--interactive")
    like = Landing("", "", merges=False, overwrites=replaces)
    sources, target = sources_and_target(program, words)
    if not target:
        yield from landings_in(list(filter(last_part, sources)), ".", is_folder=True, like=like)
        return
    yield from (landing for landing in _placed(program, words, like) if last_part(landing.source))


def _install(program: ProgramRun, words: CommandWords) -> Iterator[Landing]:
    if words.has("--directory"):
        yield from (Landing("", word.text, deep=False, overwrites=False) for word in words.operands)
    else:
        yield from _placed(program, words, Landing("", "", deep=False))


def _ditto(_: ProgramRun, words: CommandWords) -> Iterator[Landing]:
    """The content of a folder lands in the target; a file in it or as it. With `-c` one archive is written."""
    target = words.one("target")
    sources = [word.text for word in words.named("source")] if target else []
    if words.has("-c"):
        yield from (Landing(source, target, deep=False) for source in sources)
        return
    for source in sources:
        yield Landing(UNKNOWN if words.has("-x") else source, target)
        if name := last_part(source):
            yield Landing(source, target, name, deep=words.has("--keepParent"), when="folder")


def _scp(program: ProgramRun, words: CommandWords) -> Iterator[Landing]:
    sources, target = sources_and_target(program, words)
    if target:
        yield from landings_in(sources, target, is_folder=False, like=Landing("", "", deep=words.recursive, host="?"))


def _rsync(program: ProgramRun, words: CommandWords) -> Iterator[Landing]:
    sources, target = sources_and_target(program, words)
    if not target and words.has("--read-batch") and sources:
        host, folder = split_host(sources[-1])
        yield Landing(UNKNOWN, folder, host=host)
        return
    if not target or not sources or words.rehearses:
        return
    host, folder = split_host(target)
    for source in sources:
        yield from _synchronized(source, folder, host, words)
    if put_aside := words.last("--backup-dir"):
        yield Landing(UNKNOWN, put_aside, host=host)


def _synchronized(source: str, folder: str, host: str, words: CommandWords) -> Iterator[Landing]:
    path = split_host(source)[1]
    relative, listed = words.has("--relative"), bool(words.named("names"))
    deep = words.recursive or listed or words.has("--dirs", "--old-dirs")
    if listed or (path.endswith(("/", "/.")) and not relative):
        name = ""
    elif relative:
        name = (path.rpartition("/./")[2] if "/./" in path else path).lstrip("/").removesuffix("/.")
        name = "" if name in (".", "") else name
    else:
        name = last_part(path)
    when: When = "folder" if name and not folder.endswith("/") and not relative else ""
    yield Landing(source, folder, name, deep, when=when, host=host)
    if when:
        yield Landing(source, folder, deep=deep, when="no-folder", host=host)


_CONTAINER_VERBS = frozenset({"cp"})


def by_container(program: ProgramRun) -> Iterator[Landing]:
    """`docker cp box:/d/. ~` works as `cp -a` does. Every word is taken for what is copied, so that no option hides one."""
    at = next((at for at, word in enumerate(program.argv[:4]) if word in _CONTAINER_VERBS), 0)
    named = [word.text for word in program.words.operands if word.at > at] if at else []
    for target in named[1:]:
        yield from landings_in([word for word in named if word is not target], target, is_folder=False, like=_FROM_AFAR)


_FROM_AFAR = Landing("", "", host="?")


def from_afar(_: ProgramRun, words: CommandWords) -> Iterator[Landing]:
    """Copiers of clouds: the content of the source lands in the target, or the source itself."""
    target = words.one("target")
    if words.does.isdisjoint(_COPIES) or not target or ":" in target.partition("/")[0]:
        return
    for word in words.named("source", "host"):
        yield Landing(word.text, target)
        if name := last_part(word.text):
            yield Landing(word.text, target, name, when="folder")


_COPIES = frozenset({"copies", "moves"})
_NAMED_PART = lazy_re.compile(r"#\d+")
_EXPRESSION = lazy_re.compile(r"\s*(?:s|tr|y)([^\w\s])")


def by_pattern(program: ProgramRun) -> Iterator[Landing]:
    """`mmv 'd/*' '/x/#1'`, `rename 's,d/,/x/,' d/a`, `rename d/ /x/ d/a`: whatever begins like one of the words."""
    for word in program.argv[1:_MAX_WORDS]:
        match = _EXPRESSION.match(word)
        for piece in word.split(match[1]) if match and match[1] != "/" else [_NAMED_PART.sub(UNKNOWN, word)]:
            if "/" in piece:
                yield Landing(UNKNOWN, piece if UNKNOWN in piece else piece + UNKNOWN, deep=False)


_MAX_WORDS = 60
_SWITCH = "/-"


def by_robocopy(program: ProgramRun) -> Iterator[Landing]:
    """Windows: `robocopy` and `xcopy` put the content of the source into the target."""
    named = [word for word in program.argv[1:] if not (word[:1] in _SWITCH and "/" not in word[1:])]
    if len(named) > 1:
        yield Landing(named[0], named[1])


def by_power_shell(program: ProgramRun, *, deep: bool = False, unpacks: bool = False) -> Iterator[Landing]:
    """`Copy-Item -Recurse d/* -Destination ~`, `Move-Item`, `Expand-Archive`."""
    words = option_parser.read_words(program.name, tuple([word.lower() for word in program.argv]))
    source, target = ("".join(program.argv[word.at] for word in words.named(role)[-1:]) for role in ("source", "target"))
    deep = deep or words.recursive
    if unpacks and source:
        yield Landing(UNKNOWN, target or ".")
    elif source and target:
        yield from landings_in([source], target, is_folder=False, like=Landing("", "", "", deep))


PROGRAMS: dict[str, Lands] = {
    "cp": _copy, "mv": _move, "ln": _link, "install": _install, "ditto": _ditto, "scp": _scp, "rsync": _rsync,
}  # fmt: skip
"""By the first name of their manuals."""
