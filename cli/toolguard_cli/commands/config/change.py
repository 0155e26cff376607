"""What `set` and `unset` share: the change is judged as a whole config before it is written, and told with its diff."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from toolguard_cli import configfile, configtree, inside, validation, weakenings
from toolguard_cli.commands.config import names, told
from toolguard_cli.configdraft import Draft
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_cli.setup.entry import ENTRY
from toolguard_cli.setup.lock import locked
from toolguard_cli.validation import Finding, Subject, entry, hostcheck, startup, texts
from toolguard_cli.validation.finding import nearest
from toolguard_engine import answers
from toolguard_engine.stores import engines
from toolguard_engine.strictness import Change as Weakening

PLUGINS = ENTRY[:2]
MAX_TOLD = 5
TAKEN_IN = "a running gateway takes this in by itself, within some 8 s"
TAKEN_IN_LATER = "no gateway with toolguard runs now: it takes this in when it starts"
_ON_A_DRAFT = tuple(check for check in validation.CHECKS if check is not texts.there)
"""A file that is still to be made is no fault."""


@dataclass(frozen=True)
class Options:
    """`openclaw`: the command that runs it; None for the one on PATH. `vouched`: it is known that a person asks. `where`: at
    which place."""

    root: bool = False
    dry_run: bool = False
    offline: bool = False
    openclaw: tuple[str, ...] | None = None
    vouched: bool = False
    where: str = "cli"

    @property
    def asked(self) -> tuple[str, ...]:
        return () if self.offline else hostcheck.command() if self.openclaw is None else self.openclaw


@dataclass(frozen=True)
class Judged:
    """`left`: errors that were there before and still are. `fresh`: warnings that were not. `asked`: OpenClaw answered."""

    left: list[Finding]
    fresh: list[Finding]
    asked: bool = False


class Change:
    """One change of one path. Raises `UserError` wherever it cannot be made; then nothing was written."""

    def __init__(self, places: Places, command: str, path: str, options: Options) -> None:
        if not options.vouched:
            inside.refuse(places, command, loosens=not options.dry_run)
        self.places = places
        self.command = command
        self.options = options
        self.openclaw = options.asked
        self.notes: list[Line] = []
        self.draft = Draft(configtree.read(places.config))
        self.named = names.resolve(path, self.draft.tree, root=options.root)
        names.refuse_other_agents(self.named, path, self.draft.tree, f"toolguard {command}")
        names.refuse_missing_entry(self.named, self.draft.tree, self.mend("install"))

    def note(self, text: str) -> None:
        """Something to tell about the change, beside what was done."""
        self.notes.append(Line("info", answers.plain(text)))

    def mend(self, *words: str) -> str:
        return Subject(self.draft.before, self.places).mend(*words)

    def make(self, edit: Callable[[Draft], None], said: str, same: str) -> Result:
        """`said`: what is done; `same`: why there is nothing to do."""
        edit(self.draft)
        if not self.draft.changes():
            return self._told(f"{same}; nothing changes", [], Judged([], []), [])
        if self.options.dry_run:
            return self._told(f"would {said}", list(self.draft.diff()), self._judged(), [])
        with locked(self.places):
            self.draft = Draft(configtree.read(self.places.config))
            edit(self.draft)
            judged = self._judged()
            backups = self.draft.write(again=self._is_backed_up())
            self.notes += weakenings.take(self.places, self._weaker(), self.options.where)
        return self._told(said, list(self.draft.diff()), judged, backups)

    def _weaker(self) -> tuple[Weakening, ...]:
        """What guards less with the change. Who makes it has proved to be a person, and accepts it."""
        return weakenings.between(self.draft.before, self.draft.tree, self.places)

    def _is_backed_up(self) -> bool:
        """The file as it was before toolguard's first change is kept for good."""
        return any(configfile.backup_path(change.file.path.resolve()).exists() for change in self.draft.changes())

    def _judged(self) -> Judged:
        """Raises `UserError` where the change would break something. What was broken before may stay so elsewhere."""
        before, after = self.draft.before, self.draft.tree
        if before.part(ENTRY) is not None and after.part(ENTRY) is None:
            raise UserError(f"that would take toolguard out of {after.path}", self.mend("uninstall"))
        if startup.lacks_mode(after) and not startup.lacks_mode(before):
            whole = answers.cut(self.named.whole, 200)
            message = f"the gateway does not start without gateway.mode, and this change of {whole} would take it away"
            raise UserError(
                message, f"nothing was written; {self.mend('config', 'set', 'gateway.mode', 'VALUE')} changes it"
            )
        known = _identities(validation.findings(before, self.places))
        found = validation.findings(after, self.places, checks=_ON_A_DRAFT)
        self._refuse(self._new_errors(found, known))
        fresh = [each for each in found if each.level == "warn" and _identity(each) not in known]
        if not self.openclaw or not validation.can_be_asked(after):
            self._refuse_untold("none is on PATH")
            return Judged(validation.errors(found), fresh)
        found = validation.findings(after, self.places, openclaw=self.openclaw, checks=_ON_A_DRAFT)
        silent = list(filter(hostcheck.is_silent, found))
        for each in silent:
            self._refuse_untold(each.message)
        if self._new_errors(found, known):
            known |= _identities(validation.findings(before, self.places, openclaw=self.openclaw))
            self._refuse(self._new_errors(found, known))
        return Judged(validation.errors(found), [*fresh, *silent], asked=not silent)

    def _refuse(self, wrong: list[Finding]) -> None:
        if wrong:
            raise UserError("; ".join(told.by_path(wrong)[:MAX_TOLD]), f"nothing was written; {self._fix(wrong[0])}")

    def _fix(self, wrong: Finding) -> str:
        """Of a new value it has been said what may stand there, and nothing of it is in the file."""
        is_value = self._touches(wrong) and self.draft.tree.part(self.named.steps) is not None
        if is_value and (written := names.as_list(self.named, self.draft.tree.get(*self.named.steps))):
            return f"write it as a list: {written}"
        return "name another value" if is_value or not wrong.fix else wrong.fix

    def _new_errors(self, found: list[Finding], known: set[tuple[str, str]]) -> list[Finding]:
        return [each for each in validation.errors(found) if _identity(each) not in known or self._touches(each)]

    def _touches(self, each: Finding) -> bool:
        """Whether a fault lies in what is changed."""
        whole = self.named.whole
        return each.path == whole or each.path.startswith((f"{whole}.", f"{whole}["))

    def _refuse_untold(self, why: str) -> None:
        """Elsewhere than in our settings only OpenClaw knows what the gateway starts with."""
        known = entry.is_known(self.named.steps, self.draft.tree.get(*self.named.steps))
        if not known and not self.options.offline and validation.can_be_asked(self.draft.tree):
            raise UserError(
                f"only OpenClaw can tell whether the gateway takes {answers.cut(self.named.whole, 200)}, and {why}",
                "nothing was written; repeat where openclaw runs, or with --offline to write it unchecked",
            )

    def _told(self, said: str, diff: list[str], judged: Judged, backups: list[Path]) -> Result:
        dry_run, file = self.options.dry_run, str(nearest(self.draft.tree, self.named.steps).file.path)
        weaker = [answers.plain(each.text) for each in self._weaker()]
        lines = [Line("ok", answers.plain(f"{said} ({file})")), *self.notes]
        lines += [Line("warn", f"this guards less: {text}") for text in weaker]
        lines += [Line("info", f"  {told.with_tabs(text)}") for text in self._changed_lines(diff)]
        lines += [Line("info", f"the file as it was: {backup}") for backup in backups]
        lines += told.lines(judged.fresh)
        if judged.left:
            lines.append(Line("warn", f"wrong before, and still: {told.words(judged.left[0])}"))
            lines.append(Line("next", f"{self.mend('config', 'validate')} shows all that is wrong"))
        if diff:
            lines += self._next(judged)
        data = {
            "path": self.named.whole,
            "file": file,
            "changed": bool(diff),
            "dryRun": dry_run,
            "diff": diff,
            "backups": list(map(str, backups)),
            "openclawAsked": judged.asked,
            "weaker": weaker,
            "findings": told.public([*judged.left, *judged.fresh]),
        }
        return Result(self.command, data, tuple(lines))

    def _changed_lines(self, diff: list[str]) -> list[str]:
        names = {f"{sign} {change.file.path}" for change in self.draft.changes() for sign in ("---", "+++")}
        return [text for text in diff if text not in names and not text.startswith("@@")]

    def _next(self, judged: Judged) -> list[Line]:
        lines = []
        if not judged.asked and not self.named.is_ours:
            lines.append(Line("warn", "OpenClaw was not asked whether the gateway takes this"))
        if self.options.dry_run:
            return [*lines, Line("info", "nothing was written (--dry-run)")]
        by_itself = self.named.steps[: len(PLUGINS)] == PLUGINS
        return [*lines, Line("next", self._by_itself() if by_itself else "restart the gateway")]

    def _by_itself(self) -> str:
        return TAKEN_IN if engines.running(self.places.state_dir) else TAKEN_IN_LATER


def _identity(each: Finding) -> tuple[str, str]:
    return each.path, each.message


def _identities(found: list[Finding]) -> set[tuple[str, str]]:
    return {_identity(each) for each in found}
