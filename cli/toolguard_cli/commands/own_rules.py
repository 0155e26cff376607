"""`toolguard rules`: a person's own rules, the sample packs to begin with, adding one, trying all on their examples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from toolguard_cli.commands.command_options import ConfigPath, DryRun, Json, StateDir, command, command_app, examples, finish
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.person import require_human
from toolguard_cli.policy import offline_guard, rule_view
from toolguard_cli.system import paths
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import tables
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.effects.calls.call_texts import EXEC_TOOLS
from toolguard_engine.layers import rule_examples, sample_packs
from toolguard_engine.rules import scores, vocabulary
from toolguard_engine.rules.rulebook import Rule
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.values import InvalidRulesError, Placed
from toolguard_engine.wording import printable

COMMAND = "rules"
EXAMPLE = (
    "[[rule]]",
    'id = "no-deploy"',
    'run = ["make deploy"]',
    'severity = "required"',
    'reason = "It publishes the site."',
    'matches = ["make deploy"]',
    'passes = ["make test"]',
)
HEAD = ("ID", "DOES", "LINE", "WHAT")
GOOD_HEAD = ("ID", "DOES", "WHAT")
IN_FORCE = "in force until the file is fixed"
NONE_COUNT = (
    "no valid version of the other rules is known: until the file is fixed, a gateway that starts now holds every call "
    "above SAFE in modes enforce and soft; a running gateway keeps the rules that it has read"
)
PACKS_HEAD = ("PACK", "RULES", "PURPOSE")
NEXT_PACKS = "toolguard rules packs lists sample rules to start from"

app = command_app()


@app.callback(
    invoke_without_command=True,
    epilog=examples("toolguard rules", "toolguard rules packs", "toolguard rules add production-writes --dry-run"),
)
def rules_root(context: typer.Context, state_dir: StateDir = None, config: ConfigPath = None, as_json: Json = False) -> None:
    """List, add and test your own rules. Without a subcommand, lists them.

    A rule is a [[rule]] table in policy.toml, in toolguard's folder. It can only make the guard stricter, so it takes effect
    as soon as the file is saved.
    """
    if context.invoked_subcommand is None:
        finish(listing(paths.find(state_dir, config)), as_json=as_json)
    elif state_dir or config or as_json:
        raise typer.BadParameter(f"put the options after {context.invoked_subcommand}")


@command(app, "toolguard rules list --json", name="list")
def listing(places: Places) -> Result:
    """List your own rules that are in force.

    toolguard check --list lists the built-in rules.
    """
    if broken := rule_view.broken(places):
        return _faulty(places, rule_view.report(COMMAND, broken))
    own = stores.user_rules(places.state_dir)
    with gateway_stores.user_errors():
        placed = own.placed()
    if not placed:
        return Result(COMMAND, {"file": str(own.path), "rules": []}, _none(own.path))
    rows = [(p.rule.name, rule_view.adds(p.rule), str(p.at.line), rule_view.describe(p.rule)) for p in placed]
    data = [{**rule_view.public(p.rule), "line": p.at.line} for p in placed]
    lines = (
        *tables.table(HEAD, rows),
        Line("info", f"{printable.counted(len(placed), 'rule')} in {printable.plain(str(own.path))}"),
    )
    return Result(COMMAND, {"file": str(own.path), "rules": data}, lines)


def _faulty(places: Places, report: Result) -> Result:
    """The fault, those that can be understood, and what counts meanwhile."""
    own = stores.user_policy(places.state_dir)
    own.look()
    good = [placed.rule for placed in stores.user_rules(places.state_dir).look().good]
    lines = list(report.lines)
    if good:
        lines.append(Line("info", "these rules are valid:"))
        lines += tables.table(GOOD_HEAD, ((rule.name, rule_view.adds(rule), rule_view.describe(rule)) for rule in good))
    names = [rule.name for rule in own.rules]
    lines.append(Line("warn", f"{IN_FORCE}: {printable.plain(', '.join(names)) or 'none'}"))
    lines += [Line("warn", NONE_COUNT)] if own.unread else []
    data = {"rules": [rule_view.public(rule) for rule in good], "inForce": names, "unread": bool(own.unread)}
    return replace(report, data={**report.data, **data}, lines=tuple(lines))


def _none(path: Path) -> tuple[Line, ...]:
    message = f"{printable.plain(str(path))} has no rules; a rule looks like this:"
    shown = [Line("info", ""), *(Line("info", f"    {text}") for text in EXAMPLE), Line("info", "")]
    return Line("info", message), *shown, Line("next", NEXT_PACKS)


@command(app, "toolguard rules packs", name="packs")
def packs() -> Result:
    """List the sample packs."""
    by_name = {name: sample_packs.ids(name) for name in sample_packs.names()}
    rows = [(name, str(len(ids)), sample_packs.about(name)) for name, ids in by_name.items()]
    data = [{"pack": name, "about": sample_packs.about(name), "rules": ids} for name, ids in by_name.items()]
    message = f"toolguard rules add {next(iter(by_name))} --dry-run shows the rules of a pack"
    return Result("rules packs", {"packs": data}, (*tables.table(PACKS_HEAD, rows), Line("next", message)))


@command(app, "toolguard rules add production-writes --dry-run", name="add")
def add(
    places: Places,
    pack: Annotated[str, typer.Argument(help="A name from toolguard rules packs.", show_default=False)],
    *,
    dry_run: DryRun = False,
) -> Result:
    """Append a sample pack to policy.toml.

    Its rules are a starting point for your own, and take effect at once. The rest of the file is not changed. A pack is
    refused if one of its ids already exists.
    """
    require_human.refuse(places, "rules add", loosens=not dry_run)
    if pack not in sample_packs.names():
        near = vocabulary.nearest(pack, sample_packs.names())
        meant = f"did you mean {near}? " if near else ""
        raise UserError(
            f"there is no pack {printable.cut(printable.plain(pack), 40)}",
            f"{meant}Known packs: {', '.join(sample_packs.names())}",
        )
    own, text = stores.user_rules(places.state_dir), sample_packs.text(pack)
    with gateway_stores.user_errors():
        added = own.add(text, dry_run=dry_run)
    path = printable.plain(str(own.path))
    lines = [Line("ok", f"{'would add' if dry_run else 'added'} {printable.counted(len(added), 'rule')} to {path}")]
    lines += [Line("info", f"{rule.name}: {rule_view.describe(rule)}") for rule in added]
    if dry_run:
        lines += [Line("info", ""), *(Line("info", line) for line in text.splitlines())]
    else:
        lines.append(
            Line("next", f"they are in force now; adapt their folders and names in {path}, then run toolguard rules test")
        )
    data = {"dryRun": dry_run, "file": str(own.path), "added": [rule_view.public(rule) for rule in added]}
    return Result("rules add", data, tuple(lines))


@command(app, "toolguard rules check", name="check", hidden=True)
@command(app, "toolguard rules test", name="test")
def rules_test(places: Places) -> Result:
    """Check every rule against its examples."""
    return try_examples(places)


def try_examples(places: Places, command: str = "rules test") -> Result:
    """Exit code 1 if a rule is invalid, or an example gets another verdict."""
    if error := rule_view.broken(places):
        return rule_view.report(command, error)
    own = stores.user_rules(places.state_dir)
    try:
        known = own.placed(rule_examples.speaks)
    except InvalidRulesError as error:
        return rule_view.report(command, error)
    if not known:
        return Result(command, {"file": str(own.path), "rules": [], "examples": 0, "problems": []}, _none(own.path))
    judged = offline_guard.load(places)
    by_rule = [(placed, list(_problems(placed, judged, own.path))) for placed in known]
    problems = [problem for _, wrong in by_rule for problem in wrong]
    lines = [Line("ok", _comes_to(placed.rule, judged.basis.threshold)) for placed, wrong in by_rule if not wrong]
    lines += [*(Line("error", problem) for problem in problems), *rule_view.off(judged)]
    rules = [{"id": p.rule.id, "line": p.at.line, "reason": p.rule.reason} for p in known]
    data = {"file": str(own.path), "rules": rules, "examples": sum(_examples(p.rule) for p in known), "problems": problems}
    return Result(command, data, tuple(lines), 1 if problems else 0)


def _problems(placed: Placed, judged: offline_guard.Judging, path: Path) -> Iterator[str]:
    """Examples that must pass and do not, and rules that could take the place of one that comes with toolguard."""
    rule, where = placed.rule, f"{printable.plain(str(path))}, line {placed.at.line}"
    if same := rule_view.taken(placed, path):
        yield f"{same}; choose another id"
    for example in () if rule.severity else rule.passes:
        outcome = judged.weigh_bare(rule_examples.call_of(rule, example, ""))
        if outcome.decision != "allow":
            shown = printable.cut(str(example), 80)
            yield f"{where}: {rule.name} should let {shown!r} pass, but the verdict is {outcome.decision} ({outcome.code})"


def _examples(rule: Rule) -> int:
    return len(rule.matches) + len(rule.passes)


def _comes_to(rule: Rule, threshold: int) -> str:
    if rule.severity:
        count = _examples(rule)
        tested = f"its {count} examples pass" if count > 1 else "its example passes" if count else "it has no examples"
        return f"{rule.name} is valid, and {tested}"
    if rule.verdict:
        return f"{rule.name} blocks: {rule.reason}"
    tool = next((name for name in rule.tool if name not in EXEC_TOOLS), "exec") if rule.tool else "exec"
    clarity, stakes = scores.base(tool, {})
    clarity, stakes = min(scores.MOST, clarity + rule.clarity), min(scores.MOST, stakes + rule.stakes)
    score = clarity * stakes
    does = f"holds {tool} calls" if score >= threshold else f"does not hold {tool} calls on its own (below {threshold})"
    return f"{rule.name} {does}, with clarity {clarity} x stakes {stakes} = {score}: {rule.reason}"
