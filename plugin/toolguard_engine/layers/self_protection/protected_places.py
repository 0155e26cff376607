"""Finds programs that change a protected place or read a secret. Other reads of protected places are allowed.

A program that prints paths (`ls`, `find`, `echo`) may pass them on by a pipe, a substitution or a loop: then every program
of its pipeline, and every program with an unknown argument, counts as naming the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import structs

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import in_place_edits
from toolguard_engine.effects.facts import program_catalogue, protected_paths
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.facts.protected_paths import Place
from toolguard_engine.effects.landings.copied_files import sources_and_target
from toolguard_engine.effects.manuals import manual_catalogue, option_parser
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.layers.self_protection import content_searches, glance, own_config, searches, sqlite_shell
from toolguard_engine.layers.self_protection.copies import working_folders
from toolguard_engine.layers.self_protection.exclusions import COPIERS, SEARCHERS, patterns
from toolguard_engine.layers.self_protection.gateway_command_line import message_positions
from toolguard_engine.layers.self_protection.process_signals import is_former
from toolguard_engine.layers.self_protection.scene import (
    AWKS,
    COPY,
    FILES,
    KEY,
    SEDS,
    CommandScene,
    ProtectionFinding,
    awk_prints,
    base,
    hands_on,
    holds_ours,
    is_interpreter,
    place_of,
    resolved,
    sed_prints,
    targets,
    texts,
)
from toolguard_engine.model.call import Keeping

READERS = program_catalogue.programs("path_reader")
_SHOWS_CONTENT = program_catalogue.programs("content_reader")
"""Readers that print a file's contents, never its name."""

_KEYLESS = program_catalogue.programs("metadata_reader")
_NAMED_IN = "--files0"
"""An option of `du` that prints names from a file."""

_FINDERS = program_catalogue.programs("file_finder")
"""Programs that insert what they find; `searches` checks what that is."""

_COPY_TO = program_catalogue.programs("copies_to_operand")
"""Readers that write to a second operand."""

_CHECKED = program_catalogue.programs("reader_with_options")
_WRITING_OPTION = lazy_re.compile(r"--(?:output|pre|log-file|LOG-FILE)\b|-\w*o|-[A-Za-z]*O")
_FIND_WRITES = lazy_re.compile(r"-(?:delete|fprint\w*|fls)")
_FIND_RUNS = manual_catalogue.spelled("find", "acts")

_IN_PLACE = lazy_re.compile(r"-[A-Za-z]*[is]|--(?:inplace|split-exp|from-file).*")
"""Options with which `yq` writes, or runs an expression from a file."""

_ARCHIVERS = program_catalogue.programs("archiver")
"""Programs that copy whole folders."""
_CONTAINERS = program_catalogue.programs("container")
_CP = frozenset(manual_catalogue.aliases("cp"))
_COPY_OVER = program_catalogue.programs("remote_copier")
_REMOTE = lazy_re.compile(r"(?!-)[\w.@-]{1,200}:[^\0]*")
_LOOPBACK = lazy_re.compile(r"(?:[\w.-]{1,64}@)?(?:localhost|127\.[\d.]{1,11}|0\.0\.0\.0|\[?::1\]?)\.?:", re.IGNORECASE)
_PLAIN_COPY = lazy_re.compile(r"-[apvnfuiTLPqzC]+|--(?:archive|verbose|preserve(?:=[\w,]{0,60})?)")
_FINDS = program_catalogue.programs("word_adder")
"""Programs that add words to another program's."""

_STARTS = frozenset({"run", "create"})
"""Sub-commands that mount folders into a container."""

_ROOT_CHANGERS = program_catalogue.programs("root_changer")
_ROOT_CODE = lazy_re.compile(r"rmtree|rmdir|rename|unlink|remove|rmSync|\bmove\b|copytree|make_archive|chmod|symlink")
_SEARCHES = program_catalogue.programs("text_searcher")
_DEEP_SEARCHERS = _SEARCHES & program_catalogue.programs("deep_searcher")
_SPLIT = lazy_re.compile(r"[\s'\"=,:;|&()<>`]+")
_SAFE_TARGET = lazy_re.compile(r"/dev/(?:null|stdout|stderr|tty)|&?\d|-")
_DESCRIPTOR = lazy_re.compile(r"/(?:proc/[^/]{1,20}(?:/task/[^/]{1,20})?/fd|dev/fd)/(\d{1,9})(?=/|\Z)")
_ATTACHED = lazy_re.compile(r"-[A-Za-z]([/~.].*)")


def findings(scene: CommandScene) -> Iterator[ProtectionFinding]:
    for run in scene.runs:
        if _names_nothing(run, scene):
            continue
        for place, is_named in _kinds(run, scene).items():
            if text := _judged(run, place, scene):
                is_spared = place == "root" and (_is_former_state(run, scene) or searches.spares_ours(run, scene))
                is_sure = text not in (COPY, own_config.CHANGED) and not is_spared
                certain = is_named and is_sure
                yield ProtectionFinding(text, certain, _cause(run, place, scene), _harmless(run, text, place))


def _is_former_state(run: ProgramRun, scene: CommandScene) -> bool:
    """Whether the state that it names is that of the gateway under its former name, and not this one's."""
    named = [path for path in _paths(run, scene) if scene.place(path) == "root"]
    return bool(named) and all(is_former(base(path.rstrip("/")), scene.host) for path in named)


def _harmless(run: ProgramRun, text: str, place: Place) -> Keeping | None:
    """The whole state is more than what is kept from commands, and a person may want the config to change. What shows all
    that is in a folder may show credentials as well."""
    if text in (KEY, COPY):
        return "secrets" if text == KEY or run.name in _ARCHIVERS else "credentials"
    return "files" if place == "guard" and text == FILES else None


def _cause(run: ProgramRun, place: Place, scene: CommandScene) -> str:
    """The word by which it names a place, else where it runs, or all of it."""
    named = (path for path in _paths(run, scene) if place in (scene.place(path), scene.possible(path)))
    return next(named, run.cwd or " ".join(run.argv))


def _names_nothing(run: ProgramRun, scene: CommandScene) -> bool:
    """A quick look: whether its words are plain paths that stay below its folder, which is none of ours, and contain none of
    our names. Most programs of a long command are such."""
    if scene.is_among_ours or run.name in sqlite_shell.SHELLS or UNKNOWN in run.cwd:
        return False
    words = [*run.argv, *[redirect.target for redirect in run.redirects], *[value for _, value in run.assigns]]
    text = "\n".join(words)
    if may_lead_anywhere(text):
        return False
    return not glance.names_ours(text.lower(), scene.host)


def may_lead_anywhere(text: str) -> bool:
    """Whether one of these words, each in a line, is more than a plain path below the folder."""
    return not text.isascii() or _OPEN_SIGN.search(text) is not None


_OPEN_SIGN = lazy_re.compile(r"[~$*?\[{%\\\0]|\.\.|(?:\A|\n(?:-[A-Za-z]*)?|[^\w.@+\n-])/")
"""What a path has that may lead anywhere: it is absolute, goes up, or is not known."""


def _judged(run: ProgramRun, place: Place, scene: CommandScene) -> str:
    if place == "key" and not (_shows_no_content(run) and _keeps_names(run, scene)):
        return KEY
    taken = _taken(run, scene)
    if place == "config":
        changers = [program for program in (run, *taken) if not _only_reads(_without_other_targets(program, scene), scene)]
        return (
            own_config.judged(run, tuple(changer for changer in changers if changer is not run), scene) if changers else ""
        )
    if place == "guard" and not all(_only_reads(program, scene) for program in (run, *taken)):
        return FILES
    if _reads_tree(run, place):
        if place == "guard" or _names_secret(run, scene):
            return KEY
        return "" if _seeks_fixed_text(run) and not _holds_chosen_secret(run, scene) else COPY
    if place == "root" and (_changes_root(run, scene) or not all(_only_reads(program, scene) for program in taken)):
        return FILES
    return ""


def _holds_chosen_secret(run: ProgramRun, scene: CommandScene) -> bool:
    """Whether a folder that it names holds a secret that is not random: a text in a pattern may be part of it."""
    folders = [resolved(path, scene.host, scene.here(run)) for path in _paths(run, scene) if UNKNOWN not in path]
    return any(secret.lower().startswith(f"{folder.lower()}/") for secret in scene.host.secrets for folder in folders)


def _names_secret(run: ProgramRun, scene: CommandScene) -> bool:
    """Whether a container or a database shell, which sees a folder of ours, is told to use a secret in it."""
    if run.name not in _CONTAINERS and run.name not in sqlite_shell.SHELLS:
        return False
    text = "\n".join(run.argv[1:]).lower()
    return any(name in text for name in ("toolguard", "token", *map(str.lower, scene.protected.secret_names)))


def _without_other_targets(run: ProgramRun, scene: CommandScene) -> ProgramRun:
    """The program without its redirections to files that are none of ours."""
    pieces = [piece for target in targets(run) for piece in (target, *_SPLIT.split(target)) if piece]
    if not pieces or any(scene.place(piece) or scene.possible(piece) or piece[0] == UNKNOWN for piece in pieces):
        return run
    return structs.replace(run, redirects=())


def _seeks_fixed_text(run: ProgramRun) -> bool:
    """Whether it prints only lines with a text that no random secret contains."""
    asked = content_searches.read(run)
    return bool(asked) and not any(request.lax for request in asked)


def _shows_no_content(run: ProgramRun) -> bool:
    if run.name == "file" and any(map(_FILE_READS.match, run.argv[1:])):
        return False
    return run.name in _KEYLESS and not any(word.startswith(_NAMED_IN) for word in run.argv)


_FILE_READS = lazy_re.compile(r"-\w*[fmC]|--(?:files-from|magic-file|compile)")
"""Options with which `file` prints lines of a file, or takes it for something else than a file to look at."""


def _keeps_names(run: ProgramRun, scene: CommandScene) -> bool:
    """Whether the names that it prints are not what another program opens."""
    if len(scene.runs) == 1:
        return True
    if scene.takers or scene.writers or scene.is_read_later(run) or not all(map(_SAFE_TARGET.fullmatch, targets(run))):
        return False
    after = [other for other in scene.pipelines[run.pipeline] if other is not run]
    return "$()" not in run.via and all(other.name in READERS or other.name in SEDS | AWKS for other in after)


def _taken(run: ProgramRun, scene: CommandScene) -> tuple[ProgramRun, ...]:
    """The programs that may receive a path that this one prints."""
    if run.name in _SHOWS_CONTENT or not hands_on(run):
        return ()
    return (*(other for other in scene.pipelines[run.pipeline] if other is not run), *scene.takers)


def _kinds(run: ProgramRun, scene: CommandScene) -> dict[Place, bool]:
    """The kinds of protected places that a program names or runs in, each with whether that is certain.

    A secret is also named by its bare name beside a state folder (`git -C`) or in an unknown folder. Quoted sentences are
    skipped: they are judged as commands, or are only text.
    """
    paths = set(_paths(run, scene))
    remote = {word for word in run.argv[1:] if _REMOTE.fullmatch(word)} if _is_remote_copy(run) else set()
    places: set[Place] = {scene.place(path) for path in paths}
    if scene.is_all_over_ours:
        places |= {scene.place_from(path, run) for path in paths if UNKNOWN not in path}
    inside = run.cwd if run.cwd and UNKNOWN not in run.cwd else scene.folder
    if inside and place_of(scene.here(run), scene.host, ("/",)) in {"guard", "key"}:
        places.add("guard")
    if (not scene.folder and not run.cwd) or UNKNOWN in run.cwd:
        places |= {place_of(word, scene.host, ()) for word in run.argv if word in protected_paths.CONFIG_NAMES}
    if (UNKNOWN in run.cwd or "root" in places) and not {"toolguard/key", *scene.protected.secret_names}.isdisjoint(
        run.argv
    ):
        places.add("key")
    if run.name in sqlite_shell.SHELLS:
        walked = sqlite_shell.walked((*run.argv[1:], *texts(run)))
        places |= {"root" for path in walked if holds_ours(path, scene.host, scene.here(run))}
    open_paths = {scene.possible(path) for path in paths} - places if not _FINDERS.intersection(run.via[-1:]) else set()
    for words in run.readings if remote else ():
        if (target := sources_and_target(run, words)[1]) in remote:
            open_paths = {*open_paths, scene.place(target.partition(":")[2])} - places
    return {place: place in places for place in (*places, *open_paths) if place}


def _is_remote_copy(run: ProgramRun) -> bool:
    """Whether it copies from or to another machine or a container, rather than this machine by a loopback name."""
    return (run.name in _COPY_OVER or (run.name in _CONTAINERS and "cp" in run.argv[1:3])) and not any(
        map(_LOOPBACK.match, run.argv)
    )


def _copies_out(run: ProgramRun, scene: CommandScene) -> bool:
    """Whether it plainly copies files to an unprotected place: only its last operand is written."""
    if not all(map(_PLAIN_COPY.fullmatch, run.words.option_words(run.argv))) or not _FINDS.isdisjoint(run.via):
        return False
    return bool(run.readings) and all(_writes_elsewhere(run, words, scene) for words in run.readings)


def _writes_elsewhere(run: ProgramRun, words: CommandWords, scene: CommandScene) -> bool:
    sources, last = sources_and_target(run, words)
    if not sources or not last or any(UNKNOWN in word or "{}" in word or "$" in word for word in sources):
        return False
    if last[0] == UNKNOWN or "{}" in last or "$" in last or scene.possible(last):
        return False
    target = last.partition(":")[2] if _REMOTE.fullmatch(last) else last
    return not any(scene.place(path) for path in (target, *(f"{target}/{base(word)}" for word in sources)))


def _paths(run: ProgramRun, scene: CommandScene) -> Iterator[str]:
    words = [
        *(scene.own_words(run) if scene.is_wrapper(run) else _named(run)),
        *(redirect.target for redirect in run.redirects if redirect.kind != "text"),
        *(value for _, value in run.assigns),
    ]
    coded = is_interpreter(run.name)
    if run.name in sqlite_shell.SHELLS:
        yield from sqlite_shell.opened((*run.argv[1:], *texts(run)))
    over = _is_remote_copy(run)
    for word in words:
        if over and _REMOTE.fullmatch(word):
            continue
        if " " in word or "\n" in word or (coded and "(" in word):
            continue
        if attached := _ATTACHED.fullmatch(word):
            yield attached[1]
        pieces = [path for path in _SPLIT.split(word) if path and path != "?"]
        yield from pieces
        for path in pieces:
            if "/fd/" in path and (link := _DESCRIPTOR.match(path)):
                yield from (target + path[link.end() :] for target in scene.descriptors.get(link[1], ()))
        if run.name in _CONTAINERS:
            yield from (path.lstrip("/") for path in pieces if path.startswith("/"))


def _named(run: ProgramRun) -> tuple[str, ...]:
    """The words of a program that may name files."""
    aside = content_searches.patterns_at(run.words) if run.name in _SEARCHES else set[int]()
    aside |= message_positions(run)
    if run.name == "find":
        aside |= {word.at for word in run.words.named("pattern")}
    if run.name in SEDS and in_place_edits.is_understood(run):
        aside |= {word.at for word in run.words.named("script")}
    if run.moves_files or run.name in COPIERS or run.name in SEARCHERS:
        aside |= {at for at, _ in patterns(run)} | working_folders(run)
    return tuple(word for at, word in enumerate(run.argv) if at not in aside) if aside else run.argv


def _only_reads(run: ProgramRun, scene: CommandScene) -> bool:
    if any(not _SAFE_TARGET.fullmatch(target) for target in targets(run)):
        return False
    if (scene.is_wrapper(run) and run.name != "find") or own_config.only_takes_from_others(run):
        return True
    if run.name in _COPY_OVER or run.name in _CP:
        return _copies_out(run, scene)
    if run.name in SEDS:
        return sed_prints(run.words)
    if run.name in sqlite_shell.NAMES:
        return sqlite_shell.only_reads(run.words)
    if run.argv[1:3] == ("-m", "json.tool") and is_interpreter(run.name):
        return len(option_parser.read_words("json.tool", run.argv[2:]).texts) == 1
    if run.name in AWKS:
        return awk_prints("\n".join(run.argv[1:]))
    if run.name not in READERS or (run.name in _COPY_TO and len(run.words.texts) > 1):
        return False
    if run.name == "yq" and any(_IN_PLACE.fullmatch(word) for word in run.argv[1:]):
        return False
    if run.name == "find":
        return not _find_changes(run, scene)
    options = run.words.option_words(run.argv) if run.name in _CHECKED else []
    return not any(_WRITING_OPTION.match(option) for option in options)


def _find_changes(run: ProgramRun, scene: CommandScene) -> bool:
    """Whether `find` writes, deletes, or runs a program that does more than read."""
    if any(_FIND_WRITES.fullmatch(word) for word in run.argv):
        return True
    runs = [other for other in scene.pipelines[run.pipeline] if "find" in other.via]
    return any(word in _FIND_RUNS for word in run.argv) and not (runs and all(_only_reads(other, scene) for other in runs))


def _reads_tree(run: ProgramRun, place: Place) -> bool:
    """Whether it prints or copies the contents of every file in a folder."""
    if run.name in _DEEP_SEARCHERS:
        return True
    if run.name.endswith("grep"):
        return any(content_searches.is_deep(run, words) for words in run.readings or (run.words,))
    if run.name == "diff":
        return not run.words.trait("tells-names") and (place == "root" or run.words.recursive)
    if run.name in _CONTAINERS:
        return place == "root" and not _STARTS.isdisjoint(run.argv[1:4])
    return place == "root" and (run.name in _ARCHIVERS or run.name in sqlite_shell.SHELLS)


def _changes_root(run: ProgramRun, scene: CommandScene) -> bool:
    if run.name == "find":
        return _find_changes(run, scene)
    if is_interpreter(run.name):
        return _ROOT_CODE.search("\n".join(run.argv)) is not None
    if any(scene.place(target) for target in targets(run)):
        return True
    if own_config.only_takes_from_others(run) or own_config.is_private_folder(run) or _only_copies(run, scene):
        return False
    return run.name in _ROOT_CHANGERS


def _only_copies(run: ProgramRun, scene: CommandScene) -> bool:
    """Whether a folder of ours is only copied or packed; what lands in one is found by `landed_files`."""
    return bool(run.readings) and all(_copies(words, scene) for words in run.readings)


def _copies(words: CommandWords, scene: CommandScene) -> bool:
    if (
        "moves" in words.does
        or words.trait("moves")
        or ("copies" not in words.does and words.acts.isdisjoint(("packs", "unpacks")))
    ):
        return False
    written = [*words.named("target", "archive")]
    return not any(scene.place(word.text) not in ("", "root") for word in written)
