"""Records what programs do to files that the same command may run later."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec.structs import replace

from toolguard_engine.effects.commands import patches
from toolguard_engine.effects.commands.file_walk import MAX_FED, FileWalk
from toolguard_engine.effects.commands.walk_state import OUTPUT
from toolguard_engine.effects.commands.walk_steps import CHARACTERS
from toolguard_engine.effects.commands.written_files import MAX_SKIPPED, MAX_TOTAL, last_part, located, path_below
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import STDIN, UNKNOWN, ProgramRun, StdinSource
from toolguard_engine.effects.facts.place_globs import GLOB
from toolguard_engine.effects.landings import landings
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.programs import unpacking
from toolguard_engine.effects.programs.wrappers import SHELLS
from toolguard_engine.effects.syntax.made_texts import QUERIED, literals
from toolguard_engine.effects.syntax.outputs import known_text, printed
from toolguard_engine.effects.syntax.parse import MAX_CHARS
from toolguard_engine.effects.syntax.shell_state import ShellState

LOOKED_AT, PLACED = 0.5, 6
"""Steps for each file that the command wrote, where a program copies or moves files, and for each that it brings along."""

COPIERS = program_catalogue.programs("copier")
PLACERS = frozenset().union(*map(manual_catalogue.doing, ("copies", "moves", "links")))
STORING = program_catalogue.programs("input_storer")
PATCHERS = frozenset({"git", "patch"})
UNPACKERS = manual_catalogue.doing("unpacks")
EDITORS = frozenset({"sed", "gsed"})
"""Change a file in its place."""

_LISTERS = frozenset({"ls", "du", "stat", "wc", "realpath", "readlink", "basename", "dirname"})
"""Programs that print names and figures of the files that they are named, not what is in them."""


class ChangeWalk(FileWalk):
    """Records the texts that programs write, copy, edit and unpack."""

    def _stored(self, at: int, program: ProgramRun, feed: StdinSource, state: ShellState) -> None:
        """The output of a group or function goes to files, as a program's would. `at`: where it stands among the runs."""
        state.work.spend(len(known_text(feed) or "") / CHARACTERS)
        if at < len(self.runs):
            self.runs[at] = replace(self.runs[at], stdin=feed)
        self._keep(program, feed, state)

    def _edited(self, program: ProgramRun) -> None:
        """A file that `sed` changes in its place: exactly, where one plain text replaces another."""
        path = program.argv[-1]
        text = self.written.run_text(path, program.cwd)
        if text is None and self.running is not None and (file := self.running.text(path, program.cwd, sure=False)):
            text = file.text
        apart = {option.word for option in program.words.given if "in-place" in option.entry.traits}
        apart -= {option.word for option in program.words.given if "in-place" not in option.entry.traits}
        places = [at for at in range(len(program.argv) - 1) if at not in apart]
        filtering = program.with_words(tuple(program.argv[at] for at in places), places=places)
        changed = None if text is None else printed(replace(filtering, stdin=StdinSource(text))).text
        if changed is not None:
            self._edited_before(path, filtering, changed)
            self.written.store(located(path, program.cwd), changed[:MAX_CHARS])
        elif own := literals(program):
            self.written.append(own, path, program.cwd)
            if text is not None:
                self.written.opaque.add(located(path, program.cwd))

    def _edited_before(self, path: str, program: ProgramRun, changed: str) -> None:
        """What an edit makes of a file if changes before it have not happened (`false && echo > x; sed -i s/a/b/ x`)."""
        place = located(path, program.cwd)
        if place not in self.written.texts:
            return
        there = None if self.running is None else self.running.text(path, program.cwd, sure=False)
        before = dict.fromkeys(
            (there.text if there else "", *(text for other, text in self.written.replaced if other == place))
        )
        for text in islice(filter(None, before), MAX_SKIPPED):
            edited = printed(replace(program, stdin=StdinSource(text))).text
            if edited is not None and edited not in (text, changed):
                self.written.replaced.append((place, edited[:MAX_CHARS]))
                self.written.stored += len(edited)

    def _place(self, program: ProgramRun, state: ShellState) -> None:
        """What this command wrote is at its new place as well when it, or a folder around it, is copied, moved or linked."""
        for landing in landings(program):
            state.work.spend(PLACED)
            if not landing.source or UNKNOWN in landing.source or landing.host:
                continue
            state.work.spend(len(self.written.texts) * LOOKED_AT)
            source, text_at = located(landing.source, program.cwd), dict(self.written.texts)
            for place, text in text_at.items():
                if (rest := path_below(place, source)) is not None:
                    state.work.spend(PLACED + len(place) / CHARACTERS)
                    landed = landing.folder if GLOB.search(landing.name) else landing.path
                    self.written.store(located(f"{landed}{rest}", program.cwd), text)

    def _brought(self, program: ProgramRun) -> None:
        """What an archive or a patch brings along."""
        if program.name in UNPACKERS and self.running is not None and unpacking.unpacks(program):
            self.running.unpacked(unpacking.archive_of(program), program.cwd)
        elif patches.applies(program):
            named = patches.file_of(program)
            text = (self.written.run_text(named, program.cwd) if named else self.fed(program)) or ""
            files = [self.file_at(named, program)] if named and not text else self.fed_files(program)
            for diff in (text, *(file.text for file in files if file is not None and file.made)):
                for path, added in patches.added(diff):
                    self.written.append(added, path, program.cwd)

    def _keep(self, program: ProgramRun, feed: StdinSource, state: ShellState) -> None:
        """Records what a program writes to files, if known: it may be run later."""
        text = feed.text
        if text is None:
            text = f"{feed.was}\n{UNKNOWN}\n" if feed.was else None
            text = self.written.joined(filter(None, (*self._put_in(program, feed), text)), "\n") or None
        paths = [redirect.target for redirect in program.redirects if redirect.kind in OUTPUT and redirect.fd in ("", "1")]
        if program.name in STORING:
            paths += [word.removeprefix("of=") for word in program.words.texts if not word.startswith(("if=", "bs="))]
        if text is None:
            self._changed(paths, feed, program)
            return
        appends = any(redirect.kind == "append" for redirect in program.redirects)
        for path in paths:
            self.written.kept += len(text)
            if self.written.kept > MAX_TOTAL:
                self.flaws.add("long")
                return
            place, replaces = located(path, program.cwd), not (appends or state.maybe)
            self._put(text, place, appends=appends, replaces=replaces, whole=feed.text is not None)

    def _put(self, text: str, place: str, *, appends: bool, replaces: bool, whole: bool) -> None:
        """Puts a text into a file. `whole`: it is all that the program writes; `replaces`: it does so in any case."""
        written = self.written
        if whole and replaces:
            written.opaque.discard(place)
        before = "" if replaces and UNKNOWN not in place else written.texts.get(place, "")  # one of several of this name
        if before and not appends:  # each of them stands in lines of its own
            before = before if before.endswith("\n") else f"{before}\n"
            text = "" if f"\n{text.rstrip()}\n" in f"\n{before}" else text
        if appends and place not in written.texts:
            written.appended.add(place)
        written.store(place, (before + text)[:MAX_CHARS])

    def _changed(self, paths: list[str], feed: StdinSource, program: ProgramRun) -> None:
        """A text that is not known gets into files: it is that of another file, or nobody knows it."""
        is_copy = len(feed.files) == 1 and program.name == "cat"
        kinds = {redirect.kind for redirect in program.redirects}
        is_copy = is_copy and (feed.programs == ("cat",) or "read" in kinds) and "append" not in kinds
        for path in paths:
            if is_copy and self.running is not None:
                self.running.copy(feed.files[0], path, program.cwd)
            else:
                self.written.opaque.add(located(path, program.cwd))

    def _copy(self, program: ProgramRun) -> None:
        """Records copied, moved or linked content under its new name as well."""
        named, target = [word.text for word in program.words.named("source")], program.words.one("target")
        words = [*named, target] if named and target else program.words.texts
        for source in words[:-1]:
            text = known_text(program.stdin) if source in STDIN else self.written.possible_text(source, program.cwd)
            if text is None and UNKNOWN in words[-1] and (file := self.file_at(source, program)):
                text = file.text[:MAX_CHARS]
            if last_part(source) in SHELLS and text is None:
                text = f'{last_part(source)} "$@"'
            if text is not None:
                self.written.store(located(words[-1], program.cwd), text)
                self.written.store(located(f"{words[-1]}/{last_part(source)}", program.cwd), text)

    def _printed(self, program: ProgramRun) -> StdinSource:
        """The output of a program. `cat` may show what this command wrote."""
        if self.written.texts and program.name == "cat" and len(program.argv) > 1:
            texts = [self.written.text(word, program.cwd) for word in program.argv[1:]]
            if None not in texts:
                return StdinSource(
                    self.written.joined(text for text in texts if text is not None), ("cat",), program.argv[1:]
                )
        feed = printed(program)
        if program.name in QUERIED and feed.text is None and (made := literals(program)):
            return StdinSource(None, feed.programs, feed.files, made)
        if self.written.texts and feed.text is None and feed.was is None and program.name not in _LISTERS:
            text = self.written.joined(
                (
                    text
                    for word in self.written.possible_files(program.argv[1:])
                    if (text := self.written.possible_text(word, program.cwd))
                ),
                "\n",
            )
            return StdinSource(None, feed.programs, feed.files, text) if text else feed
        return feed

    def _put_in(self, program: ProgramRun, feed: StdinSource) -> list[str]:
        """What the programs of a pipeline put into a text, and the files that they change, as far as they are known."""
        makers = [
            run for run in self.runs[-MAX_FED:] if run is program or (program.pipeline and run.pipeline == program.pipeline)
        ]
        own = [text for maker in makers if (text := literals(maker))]
        return [*own, *(text for maker in makers for text in self._named(maker, feed))] if own else []

    def _named(self, program: ProgramRun, feed: StdinSource) -> Iterator[str]:
        """The texts of the files that a program names."""
        for path in self.written.possible_files((*program.argv[2:], *feed.files)):
            if (text := self.written.possible_text(path, program.cwd)) is not None:
                yield text
            elif self.running is not None and (file := self.running.text(path, program.cwd, sure=False)):
                yield file.text
