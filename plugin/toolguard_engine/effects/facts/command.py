"""The result types of reading a command line: programs that run (`ProgramRun`) and what they do (`Effect`). Values only.

Words are what a program would get: quotes removed, variables that the same command sets expanded. `UNKNOWN` stands in a word
for each part that cannot be known from the text alone; no argument of a real program contains that character. Wildcards are
kept as written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import structs

from toolguard_engine.effects.manuals import manual_catalogue, option_parser
from toolguard_engine.effects.manuals.command_words import CommandWords, ParsedWord
from toolguard_engine.model.lazy import LazyValue

UNKNOWN = "\0"

CARRIED = "(unknown)"
"""Stands in `ProgramRun.via` before the name of a program that is not known, around what it was given to run."""

STDIN = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
"""Names of the standard input."""

DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/")
"""How the names of what is opened already begin."""

Flaw = Literal["broken", "deep", "long", "intricate"]
"""Why a command was not read completely: its syntax, its nesting, its size, the work that it would take."""


# Structs rather than dataclasses, because a frozen dataclass takes three times as long to create.


class FilePlace(msgspec.Struct, frozen=True):
    """Where in a file that the call runs something stands. `file`: its name as shown; `path`: where it is; `text`: its
    content; `at`: a position in the line, 0 if unknown; `made`: an agent wrote the file, or it was fetched."""

    file: str
    path: str
    text: str
    at: int = 0
    made: bool = False

    def shown(self, target: str = "") -> str:
        """`build.sh line 3`: the line, else the first one that names the target of an effect."""
        wanted = target.rstrip("/").rpartition("/")[2][:MAX_SOUGHT].strip("\0 …")
        at = self.at or (self.text.find(wanted) + 1 if wanted else 0)
        return f"{self.file} line {self.text.count(chr(10), 0, at - 1) + 1}" if at else self.file


MAX_SOUGHT = 40


class Redirect(msgspec.Struct, frozen=True):
    """`fd` is empty for the default one; `target` is a path or, for `text`, the content of the here-document or
    here-string."""

    kind: Literal["read", "write", "append", "text"]
    target: str
    fd: str = ""


class StdinSource(msgspec.Struct, frozen=True):
    """The standard input of a program, or the output of a substitution.

    `text`: its content, None if unknown. `programs`: the names of the programs that produced it, in order, as in `("curl",
    "base64")`; `files`: the paths that those among them pass on. `was`: if `text` is None, the text before a program changed
    it in an unknown way; whatever runs the output is judged by that.
    """

    text: str | None = None
    programs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    was: str | None = None


class ProgramRun(msgspec.Struct, frozen=True, dict=True):
    """One program that runs, with wrappers unwrapped: `sudo env A=1 rm -r x` is three runs.

    `name`: `argv[0]` without its folder. `via`: the names of its wrappers, outermost first (`("sudo", "env")`, `("ssh",)`,
    `("xargs",)`; a substitution is `"$()"`, the body of a function `"()"`). `given`: for positions of `argv`, the output of
    the substitution in that word; `unset`: positions with a variable that the command never sets. `pipeline` is equal for
    programs of the same pipeline; `piped`: its output goes to the next one.
    `cwd`: the folder as far as the command itself sets it (`cd x`), else empty; `UNKNOWN` if it is unknown. `origin`: where
    it stands in a file that the call runs; None if it stands in the call.
    """

    argv: tuple[str, ...]
    name: str
    via: tuple[str, ...] = ()
    assigns: tuple[tuple[str, str], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    stdin: StdinSource | None = None
    given: tuple[tuple[int, StdinSource], ...] = ()
    piped: bool = False
    pipeline: int = 0
    cwd: str = ""
    origin: FilePlace | None = None
    unset: tuple[int, ...] = ()

    @LazyValue
    def readings(self) -> tuple[CommandWords, ...]:
        """What its words are by the program's manual, parsed once; empty if it has none. Several readings if an option is
        unknown: the strictest counts."""
        return option_parser.readings(self.name, self.argv)

    @LazyValue
    def words(self) -> CommandWords:
        """The first of its readings, in which unknown options take no value. Without a manual, the words as they look."""
        return self.readings[0] if self.readings else option_parser.plain(self.argv)

    def with_words(self, argv: tuple[str, ...], name: str | None = None, places: Sequence[int] | None = None) -> ProgramRun:
        """The same program with other words. `places`: for each word of `argv`, where it stood before, -1 if it is new;
        without them each stands where it stood. What is known of a word by its position goes along with it."""
        places = range(len(argv)) if places is None else places
        feeds = dict(self.given)
        return structs.replace(
            self,
            argv=argv,
            name=self.name if name is None else name,
            given=tuple((at, feeds[was]) for at, was in enumerate(places) if was in feeds) if feeds else (),
            unset=tuple(at for at, was in enumerate(places) if was in self.unset) if self.unset else (),
        )

    def fed_at(self, at: int) -> StdinSource | None:
        """The output of a substitution in the word at this position."""
        return next((feed for position, feed in self.given if position == at), None)

    def content(self, word: ParsedWord) -> StdinSource | None:
        """What is read under the name that this word is, if it means no file: the standard input, a process substitution
        or what the command has opened."""
        if word.text in STDIN:
            return StdinSource(text) if (text := self.stdin_text) else self.stdin
        return self.fed_at(word.at) if word.text == UNKNOWN or word.text.startswith(DESCRIPTORS) else None

    @property
    def likeness(self) -> tuple[object, ...]:
        """What tells programs apart, but for where they stand."""
        return (
            self.argv, self.assigns, self.redirects, self.given, self.stdin, self.unset, self.via, self.cwd, self.piped,
        )  # fmt: skip

    @property
    def moves_files(self) -> bool:
        """Whether its manual says what it does with files: it copies, packs, unpacks or the like."""
        return self.name in manual_catalogue.movers()

    @property
    def stdin_text(self) -> str:
        """The text at standard input; empty where it is not known."""
        for redirect in self.redirects:
            if redirect.kind == "text" and redirect.fd in ("", "0"):
                return redirect.target
        return (self.stdin.text or "") if self.stdin is not None else ""


class UnreadFile(msgspec.Struct, frozen=True):
    """A file that the call runs and whose content is not known. `made`: see `FilePlace`."""

    file: str
    why: str
    made: bool = False


class RanScripts(msgspec.Struct, frozen=True):
    """The scripts that a command runs by their names. `ran`: their paths, each with the number of programs that were noted
    when it ran last, `REPEATED` if it may run again after anything else. `opaque`: files whose content the command changes
    in an unknown way; `copies`: files that it fills from others, and those; `foreign`: archives that an agent made or
    fetched.
    """

    ran: tuple[tuple[str, int], ...]
    opaque: frozenset[str] = frozenset()
    copies: tuple[tuple[str, str], ...] = ()
    foreign: frozenset[str] = frozenset()


def _without_repeats(pipeline: list[ProgramRun]) -> list[ProgramRun]:
    """All programs of a script are in the pipeline that runs it. Of those that repeat each other, with what they are piped
    into, the first and the last are left: so whatever runs before something else still does."""
    chains: list[list[ProgramRun]] = [[]]
    for run in pipeline:
        chains[-1].append(run)
        if not run.piped:
            chains.append([])
    alike = [tuple([run.likeness for run in chain]) for chain in chains]
    last = {likeness: at for at, likeness in enumerate(alike)}
    first = {likeness: at for at, likeness in reversed([*enumerate(alike)])}
    return [run for at, chain in enumerate(chains) if at in (first[alike[at]], last[alike[at]]) for run in chain]


class Reading(msgspec.Struct, frozen=True, dict=True):
    """Everything that a command would run, in the order of its text. `argv` is never empty; `flaws` is empty if reading was
    complete. `unread`: files that it runs and that were not read to their end; `written`: files whose content it gives
    itself, more than once if it gives several texts in turn; `scripts`: what it runs, and what is not known about it, None
    if it runs no script. `loose`: the pipelines that run whatever became of the one before, or beside it; `repeated`: those
    in a loop whose rounds are not known."""

    runs: tuple[ProgramRun, ...]
    flaws: frozenset[Flaw] = frozenset()
    unread: tuple[UnreadFile, ...] = ()
    written: tuple[tuple[str, str], ...] = ()
    scripts: RanScripts | None = None
    loose: frozenset[int] = frozenset()
    repeated: frozenset[int] = frozenset()

    @LazyValue
    def distinct(self) -> tuple[ProgramRun, ...]:
        """The programs without pipelines that are like one before: what nothing is asked of but whether there is one."""
        if len(self.runs) < FEW_RUNS:
            return self.runs
        pipelines: dict[int, list[ProgramRun]] = {}
        for run in self.runs:
            pipelines.setdefault(run.pipeline, []).append(run)
        alike: dict[tuple[tuple[object, ...], ...], list[ProgramRun]] = {}
        for pipeline in pipelines.values():
            shorter = pipeline if len(pipeline) < FEW_RUNS else _without_repeats(pipeline)
            alike.setdefault(tuple([run.likeness for run in shorter]), shorter)
        kept = {id(run) for pipeline in alike.values() for run in pipeline}
        return tuple([run for run in self.runs if id(run) in kept])


FEW_RUNS = 16
"""Programs of which it is not worth the while to find out which are alike."""


REPEATED = 1_000_000
"""The position of a script that runs in a loop or in the background."""


Place = Literal[
    "", "root", "device", "system", "home", "in-home", "credentials", "startup", "repository", "workspace", "in-workspace",
    "artefact", "temp", "null", "unknown", "remote",
]  # fmt: skip
"""What a path is to the user; `facts.places` defines each."""


class Effect(msgspec.Struct, frozen=True):
    """One thing that a call would do. `target`: the path, host or statement concerned, in a form that can be shown.

    `run`: the program that does it; None for a tool that is not a shell.
    """

    kind: str
    target: str = ""
    place: Place = ""
    flags: frozenset[str] = frozenset()
    program: ProgramRun | None = None
