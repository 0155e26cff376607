"""Changes paths of the config: checks the whole config with the change before writing it, and reports the diff."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from toolguard_cli import validation
from toolguard_cli.hostconfig import config_file, config_tree, openclaw_check
from toolguard_cli.hostconfig.config_tree import ConfigTree
from toolguard_cli.hostconfig.draft import Draft
from toolguard_cli.hostconfig.finding import nearest
from toolguard_cli.migrations.report import safe_line
from toolguard_cli.operations import answer_lines, reload_note
from toolguard_cli.operations import setting_names as names
from toolguard_cli.person import require_human
from toolguard_cli.policy import accepted_view
from toolguard_cli.setup import install_record, plugin_folder
from toolguard_cli.setup.config_lock import locked
from toolguard_cli.setup.plugin_entry import ENTRY
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places, plugin_source
from toolguard_cli.terminal.result import Line, Result
from toolguard_cli.validation import ConfigFinding, ConfigSubject, entry_settings, file_texts, startup
from toolguard_engine.config.strictness import StrictnessChange
from toolguard_engine.wording import printable, redact

PLUGINS = ENTRY[:2]
MAX_ERRORS = 5
TRUSTED = frozenset({"fleet.dsn", "fleet.team", "fleet.trust"})
_ON_A_DRAFT = tuple(check for check in validation.CHECKS if check is not file_texts.there)
"""Without the check that files exist, because the change may create them."""


@dataclass(frozen=True)
class ChangeOptions:
    """`openclaw`: the command that validates; None: the one on PATH, where toolguard cannot know the answer itself.
    `vouched`: the caller is known to be a user. `where`: the place recorded in the audit log. `before_asking`: is called
    before OpenClaw is asked, which takes seconds."""

    root: bool = False
    dry_run: bool = False
    offline: bool = False
    openclaw: tuple[str, ...] | None = None
    vouched: bool = False
    where: str = "cli"
    before_asking: Callable[[], None] = lambda: None

    @property
    def asked(self) -> tuple[str, ...]:
        return () if self.offline else openclaw_check.command() if self.openclaw is None else self.openclaw


@dataclass(frozen=True)
class Judged:
    """`left`: errors that existed before. `fresh`: new warnings. `asked`: OpenClaw answered."""

    left: list[ConfigFinding]
    fresh: list[ConfigFinding]
    asked: bool = False


class SettingChange:
    """One change of one or more paths (`all`). Raises `UserError` if it cannot be made; then nothing was written."""

    def __init__(self, places: Places, command: str, path: str, options: ChangeOptions, *more: str) -> None:
        self._caller = None if options.vouched else require_human.caller(places, command, loosens=not options.dry_run)
        self.places = places
        self.command = command
        self.options = options
        self.openclaw = options.asked
        self.notes: list[Line] = []
        self.draft = Draft(config_tree.read(places.config))
        self.all = [names.resolve(setting, self.draft.tree, root=options.root) for setting in (path, *more)]
        for named, text in zip(self.all, (path, *more), strict=True):
            names.refuse_other_agents(named, text, self.draft.tree, f"toolguard {command}")
            names.refuse_missing_entry(named, self.draft.tree, self._command("install"))

    @property
    def named(self) -> names.NamedSetting:
        """The only path, or the first."""
        return self.all[0]

    @property
    def whole(self) -> str:
        return ", ".join(named.whole for named in self.all)

    def note(self, text: str) -> None:
        self.notes.append(Line("info", printable.plain(text)))

    def _command(self, *words: str) -> str:
        return ConfigSubject(self.draft.before, self.places).command(*words)

    def make(self, edit: Callable[[Draft], None], action: str, same: str, *, done: str = "") -> Result:
        """`action`: what is done; `same`: why there is nothing to do; `done`: the message after it, if not `action`."""
        edit(self.draft)
        if not self.draft.changes():
            return self._result(f"{same}; nothing changes", [], Judged([], []), [])
        if self.options.dry_run:
            return self._result(f"would {action}", list(self.draft.diff()), self._judged(), [])
        shown = self._about()
        if self._caller is not None:
            self._caller.require(shown)
        with locked(self.places):
            self.draft = Draft(config_tree.read(self.places.config))
            edit(self.draft)
            if self._about() != shown:
                raise UserError("the config was changed in the meantime", "nothing was written; review it, then try again")
            judged = self._judged()
            made = self._made()
            backups = self.draft.write(again=self._is_backed_up())
            self.notes += accepted_view.take(self.places, made.weaker, self.options.where)
        return self._result(done or action, list(self.draft.diff()), judged, backups, made)

    def _about(self) -> list[str]:
        """What the user confirms: each setting, its current and its new value, and what becomes weaker."""
        made, before, after = self._made(), self.draft.before, self.draft.tree
        return [
            *(f"{setting.whole}: {_value(before, setting.steps)} -> {_value(after, setting.steps)}" for setting in self.all),
            *made.by_hand,
            *(f"{_effect(change)}: {change.text}" for change in made.weaker),
        ]

    def _made(self) -> accepted_view.Made:
        """What guards less with the change. The user who makes it also accepts it."""
        return accepted_view.made(self.draft.before, self.draft.tree, self.places)

    def _is_backed_up(self) -> bool:
        """Whether the first backup exists, which is never overwritten."""
        return any(config_file.backup_path(change.file.path.resolve()).exists() for change in self.draft.changes())

    def _judged(self) -> Judged:
        """Raises `UserError` if the change would break something. Existing errors elsewhere are allowed."""
        before, after = self.draft.before, self.draft.tree
        if before.part(ENTRY) is not None and after.part(ENTRY) is None:
            raise UserError(f"that would remove toolguard from {after.path}", self._command("uninstall"))
        if startup.lacks_mode(after) and not startup.lacks_mode(before):
            whole = printable.cut(self.whole, 200)
            message = f"the gateway does not start without gateway.mode, and this change to {whole} would remove it"
            raise UserError(
                message, f"nothing was written; {self._command('config', 'set', 'gateway.mode', 'VALUE')} changes it"
            )
        known = _identities(validation.findings(before, self.places))
        findings = validation.findings(after, self.places, checks=_ON_A_DRAFT)
        self._refuse(self._new_errors(findings, known))
        fresh = [finding for finding in findings if finding.level == "warn" and _identity(finding) not in known]
        if self._is_certain():
            return Judged(validation.errors(findings), fresh)
        if not self.openclaw or not validation.can_be_asked(after):
            self._refuse_unchecked("it is not on PATH")
            return Judged(validation.errors(findings), fresh)
        self.options.before_asking()
        findings = validation.findings(after, self.places, openclaw=self.openclaw, checks=_ON_A_DRAFT)
        silent = list(filter(openclaw_check.is_silent, findings))
        for problem in silent:
            self._refuse_unchecked(problem.message)
        if self._new_errors(findings, known):
            known |= _identities(validation.findings(before, self.places, openclaw=self.openclaw))
            self._refuse(self._new_errors(findings, known))
        return Judged(validation.errors(findings), [*fresh, *silent], asked=not silent)

    def _is_certain(self) -> bool:
        """Whether OpenClaw could add nothing: these are settings of toolguard without variables, and the gateway validates
        them against the schema of the installed plugin, which is the one that was used here."""
        if self.options.openclaw is not None or not all(named.is_ours for named in self.all):
            return False
        values = [self.draft.tree.get(*named.steps) for named in self.all]
        return not any("${" in names.shown(value, 10_000) for value in values) and _has_our_schema(self.places)

    def _refuse(self, wrong: list[ConfigFinding]) -> None:
        if wrong:
            raise UserError(
                "; ".join(answer_lines.by_path(wrong)[:MAX_ERRORS]), f"nothing was written; {self._fix(wrong[0])}"
            )

    def _fix(self, wrong: ConfigFinding) -> str:
        """The next step. The fixes of findings about the new value do not apply, because it was not written."""
        touched = [named for named in self.all if _is_below(wrong, named) and self.draft.tree.part(named.steps) is not None]
        for named in touched:
            if written := names.as_list(named, self.draft.tree.get(*named.steps)):
                return f"write it as a list: {written}"
        if any(named.is_ours and named.schema is None for named in touched):
            return "choose another name"
        return "choose another value" if touched or not wrong.fix else wrong.fix

    def _new_errors(self, findings: list[ConfigFinding], known: set[tuple[str, str]]) -> list[ConfigFinding]:
        return [
            finding for finding in validation.errors(findings) if _identity(finding) not in known or self._touches(finding)
        ]

    def _touches(self, finding: ConfigFinding) -> bool:
        return any(_is_below(finding, named) for named in self.all)

    def _refuse_unchecked(self, why: str) -> None:
        """Raises `UserError` outside of toolguard's settings, where only OpenClaw knows what the gateway accepts."""
        known = all(entry_settings.is_known(setting.steps, self.draft.tree.get(*setting.steps)) for setting in self.all)
        if not known and not self.options.offline and validation.can_be_asked(self.draft.tree):
            raise UserError(
                f"only OpenClaw knows whether the gateway accepts {printable.cut(self.whole, 200)}, and {why}",
                "nothing was written; try again where openclaw is available, or add --offline to skip the check",
            )

    def _result(
        self, action: str, diff: list[str], judged: Judged, backups: list[Path], made: accepted_view.Made | None = None
    ) -> Result:
        """`made`: computed before writing, because it is accepted then."""
        dry_run, file = self.options.dry_run, str(nearest(self.draft.tree, self.named.steps).file.path)
        made = made or self._made()
        weaker = [printable.plain(change.text) for change in made.weaker]
        lines = [Line("ok", printable.plain(f"{action} ({file})")), *self.notes]
        lines += [Line("info", printable.plain(text)) for text in made.by_hand]
        lines += [Line("warn", printable.plain(f"{_effect(change)}: {change.text}")) for change in made.weaker]
        lines += [Line("info", f"  {safe_line(text)}") for text in self._changed_lines(diff)]
        lines += [Line("info", f"backup of the file: {backup}") for backup in backups]
        lines += answer_lines.lines(judged.fresh)
        if judged.left:
            lines.append(Line("warn", f"an error that existed before: {answer_lines.describe(judged.left[0])}"))
            lines.append(Line("next", f"{self._command('config', 'validate')} shows all errors"))
        if diff:
            lines += self._next(judged)
        data = {
            "path": self.named.whole,
            "paths": [named.whole for named in self.all],
            "file": file,
            "changed": bool(diff),
            "dryRun": dry_run,
            "diff": diff,
            "backups": list(map(str, backups)),
            "openclawAsked": judged.asked,
            "weaker": weaker,
            "byHand": list(map(printable.plain, made.by_hand)),
            "findings": answer_lines.public([*judged.left, *judged.fresh]),
        }
        return Result(self.command, data, tuple(lines))

    def _changed_lines(self, diff: list[str]) -> list[str]:
        names = {f"{sign} {change.file.path}" for change in self.draft.changes() for sign in ("---", "+++")}
        return [text for text in diff if text not in names and not text.startswith("@@")]

    def _next(self, judged: Judged) -> list[Line]:
        lines = []
        if not judged.asked and not all(named.is_ours for named in self.all):
            lines.append(Line("warn", "not validated by OpenClaw, so it is unknown whether the gateway accepts this"))
        if self.options.dry_run:
            return [*lines, Line("info", "nothing was written (--dry-run)")]
        by_itself = all(named.steps[: len(PLUGINS)] == PLUGINS for named in self.all)
        tree = self.draft.tree
        note = reload_note.after_setting(tree, self.places) if by_itself else reload_note.after_change(tree)
        return [*lines, Line("next", note)]


def _effect(change: StrictnessChange) -> str:
    """Another database or trust root is not known to be weaker, but has to be accepted all the same."""
    return "this changes whom the gateway trusts" if change.name in TRUSTED else "this weakens the guard"


def _has_our_schema(places: Places) -> bool:
    """Whether the installed plugin has the settings of this toolguard."""
    try:
        known = install_record.load(places.record)
    except UserError:
        return False
    return known is not None and plugin_folder.has_same_manifest(plugin_source(), Path(known.plugin))


def _is_below(finding: ConfigFinding, named: names.NamedSetting) -> bool:
    return finding.path == named.whole or finding.path.startswith((f"{named.whole}.", f"{named.whole}["))


def _value(tree: ConfigTree, steps: config_tree.Steps) -> str:
    """The value with secrets hidden."""
    if tree.part(steps) is None:
        return "not set"
    return names.shown(redact.redact({str(steps[-1]): tree.get(*steps)})[str(steps[-1])])


def _identity(finding: ConfigFinding) -> tuple[str, str]:
    return finding.path, finding.message


def _identities(findings: list[ConfigFinding]) -> set[tuple[str, str]]:
    return {_identity(finding) for finding in findings}
