"""`toolguard rules`: a person's own rules, the sample packs to begin with, adding one, trying all on their examples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from toolguard_cli.commands.command_options import ConfigPath, DryRun, Json, StateDir, command_app, examples, finish
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.person import require_human
from toolguard_cli.policy import offline_guard, rule_view
from toolguard_cli.system import paths
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import tables
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.effects.call_texts import EXEC_TOOLS
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
    'run = ["make deploy", "npm run deploy"]',
    "clarity = 2",
    "stakes = 3",
    'reason = "It publishes the site."',
    'matches = ["make deploy"]',
    'passes = ["make test"]',
)
HEAD = ("ID", "DOES", "LINE", "WHAT")
GOOD_HEAD = ("ID", "DOES", "WHAT")
IN_FORCE = "until the file is fixed, these are in force"
NONE_COUNT = (
    "no good version of the others is known: a gateway that starts now holds every call above SAFE in the modes enforce and "
    "soft until the file is fixed; a running gateway keeps the rules that it read"
)
PACKS_HEAD = ("PACK", "RULES", "WHAT FOR")
NEXT_PACKS = "toolguard rules packs shows samples to begin with"


app = command_app()


@app.callback(
    invoke_without_command=True,
    epilog=examples("toolguard rules", "toolguard rules packs", "toolguard rules add production-writes --dry-run"),
)
def rules_root(context: typer.Context, state_dir: StateDir = None, config: ConfigPath = None, as_json: Json = False) -> None:
    """List, add and test your own rules. Without a command: list them.

    A rule is a [[rule]] table in policy.toml, in toolguard's folder. It can only add a block, a hold or a note, so it
    applies once the file is saved.
    """
    if context.invoked_subcommand is None:
        rules_list(state_dir, config, as_json)
    elif state_dir or config or as_json:
        raise typer.BadParameter(f"put the options after {context.invoked_subcommand}")


@app.command("list", epilog=examples("toolguard rules list --json"))
def rules_list(state_dir: StateDir = None, config: ConfigPath = None, as_json: Json = False) -> None:
    """List your rules that apply (toolguard check --list: the built-in ones)."""
    finish(listing(paths.find(state_dir, config)), as_json=as_json)


@app.command("packs", epilog=examples("toolguard rules packs"))
def rules_packs(as_json: Json = False) -> None:
    """List the sample packs."""
    finish(packs(), as_json=as_json)


@app.command("add", epilog=examples("toolguard rules add production-writes --dry-run"))
def rules_add(
    pack: Annotated[str, typer.Argument(help="A name from toolguard rules packs.", show_default=False)],
    dry_run: DryRun = False,
    state_dir: StateDir = None,
    config: ConfigPath = None,
    as_json: Json = False,
) -> None:
    """Append a pack of samples to policy.toml, for you to adapt.

    The rules apply at once. The rest of the file is not changed; a pack with an id that already exists is refused.
    """
    finish(add(paths.find(state_dir, config), pack, dry_run=dry_run), as_json=as_json)


@app.command("check", hidden=True, help="The same as test.")
@app.command("test", epilog=examples("toolguard rules test"))
def rules_test(state_dir: StateDir = None, config: ConfigPath = None, as_json: Json = False) -> None:
    """Check every rule on its examples."""
    finish(try_examples(paths.find(state_dir, config)), as_json=as_json)


def listing(places: Places) -> Result:
    """Those in force. Exit code 1 where the file cannot be understood."""
    if broken := rule_view.broken(places):
        return _faulty(places, rule_view.report(COMMAND, broken))
    own = stores.user_rules(places.state_dir)
    with gateway_stores.user_errors():
        found = own.placed()
    if not found:
        return Result(COMMAND, {"file": str(own.path), "rules": []}, _none(own.path))
    rows = [(p.rule.name, rule_view.adds(p.rule), str(p.at.line), rule_view.words(p.rule)) for p in found]
    data = [{**rule_view.public(p.rule), "line": p.at.line} for p in found]
    lines = (*tables.wrapped(HEAD, rows), Line("info", f"{len(found)} in {printable.plain(str(own.path))}"))
    return Result(COMMAND, {"file": str(own.path), "rules": data}, lines)


def _faulty(places: Places, report: Result) -> Result:
    """The fault, those that can be understood, and what counts meanwhile."""
    own = stores.user_policy(places.state_dir)
    own.look()
    good = [placed.rule for placed in stores.user_rules(places.state_dir).look().good]
    lines = list(report.lines)
    if good:
        lines.append(Line("info", "can be understood:"))
        lines += tables.wrapped(GOOD_HEAD, ((each.name, rule_view.adds(each), rule_view.words(each)) for each in good))
    names = [each.name for each in own.rules]
    lines.append(Line("warn", f"{IN_FORCE}: {printable.plain(', '.join(names)) or 'none'}"))
    lines += [Line("warn", NONE_COUNT)] if own.unread else []
    found = {"rules": [rule_view.public(each) for each in good], "inForce": names, "unread": bool(own.unread)}
    return replace(report, data={**report.data, **found}, lines=tuple(lines))


def _none(path: Path) -> tuple[Line, ...]:
    message = f"there are no rules of yours in {printable.plain(str(path))}; one looks like this:"
    shown = [Line("info", ""), *(Line("info", f"    {text}") for text in EXAMPLE), Line("info", "")]
    return Line("info", message), *shown, Line("next", NEXT_PACKS)


def packs() -> Result:
    """The sample packs."""
    found = {name: sample_packs.ids(name) for name in sample_packs.names()}
    rows = [(name, str(len(ids)), sample_packs.about(name)) for name, ids in found.items()]
    data = [{"pack": name, "about": sample_packs.about(name), "rules": ids} for name, ids in found.items()]
    message = f"toolguard rules add {next(iter(found))} --dry-run shows one; adapt it to your folders and names"
    return Result("rules packs", {"packs": data}, (*tables.table(PACKS_HEAD, rows), Line("next", message)))


def add(places: Places, pack: str, *, dry_run: bool) -> Result:
    """Appends a sample pack to `policy.toml`."""
    require_human.refuse(places, "rules add", loosens=not dry_run)
    if pack not in sample_packs.names():
        near = vocabulary.nearest(pack, sample_packs.names())
        meant = f"did you mean {near}? " if near else ""
        raise UserError(
            f"there is no pack {printable.cut(printable.plain(pack), 40)}",
            f"{meant}Known are: {', '.join(sample_packs.names())}",
        )
    own, text = stores.user_rules(places.state_dir), sample_packs.text(pack)
    with gateway_stores.user_errors():
        added = own.add(text, dry_run=dry_run)
    path = printable.plain(str(own.path))
    lines = [Line("ok", f"{'would add' if dry_run else 'added'} {len(added)} rules to {path}")]
    lines += [Line("info", f"{each.name}: {rule_view.words(each)}") for each in added]
    if dry_run:
        lines += [Line("info", ""), *(Line("info", each) for each in text.splitlines())]
    else:
        lines.append(Line("next", f"they count now; adapt folders and names in {path}, then toolguard rules test"))
    data = {"dryRun": dry_run, "file": str(own.path), "added": [rule_view.public(each) for each in added]}
    return Result("rules add", data, tuple(lines))


def try_examples(places: Places, command: str = "rules test") -> Result:
    """Every rule on its examples. Exit code 1 where one is bad, or an example turns out otherwise."""
    if error := rule_view.broken(places):
        return rule_view.report(command, error)
    own = stores.user_rules(places.state_dir)
    try:
        found = own.placed(rule_examples.speaks)
    except InvalidRulesError as error:
        return rule_view.report(command, error)
    if not found:
        return Result(command, {"file": str(own.path), "rules": [], "examples": 0, "problems": []}, _none(own.path))
    judged = offline_guard.load(places)
    by_rule = [(placed, list(_problems(placed, judged, own.path))) for placed in found]
    problems = [problem for _, wrong in by_rule for problem in wrong]
    lines = [Line("ok", _comes_to(placed.rule, judged.basis.threshold)) for placed, wrong in by_rule if not wrong]
    lines += [*(Line("error", problem) for problem in problems), *rule_view.off(judged)]
    rules = [{"id": p.rule.id, "line": p.at.line, "reason": p.rule.reason} for p in found]
    data = {"file": str(own.path), "rules": rules, "examples": sum(_examples(p.rule) for p in found), "problems": problems}
    return Result(command, data, tuple(lines), 1 if problems else 0)


def _problems(placed: Placed, judged: offline_guard.Judging, path: Path) -> Iterator[str]:
    """Examples that must pass and do not, and rules that could take the place of one that comes with toolguard."""
    rule, where = placed.rule, f"{printable.plain(str(path))}, line {placed.at.line}"
    if same := rule_view.taken(placed, path):
        yield f"{same}; choose another id"
    for example in () if rule.severity else rule.passes:
        found = judged.weigh_bare(rule_examples.call_of(rule, example, ""))
        if found.decision != "allow":
            shown = printable.cut(str(example), 80)
            yield f"{where}: {rule.id} passes {shown!r}, but the verdict is {found.decision}: {found.code}"


def _examples(rule: Rule) -> int:
    return len(rule.matches) + len(rule.passes)


def _comes_to(rule: Rule, threshold: int) -> str:
    """What a rule comes to, alone."""
    if rule.severity:
        count = _examples(rule)
        tried = f"turns out as its {count} examples say" if count else "is understood, and has no examples to try"
        return f"{rule.id} {tried}"
    if rule.verdict:
        return f"{rule.id} blocks: {rule.reason}"
    tool = next((name for name in rule.tool if name not in EXEC_TOOLS), "exec") if rule.tool else "exec"
    clarity, stakes = scores.base(tool, {})
    clarity, stakes = min(scores.MOST, clarity + rule.clarity), min(scores.MOST, stakes + rule.stakes)
    score = clarity * stakes
    does = "holds" if score >= threshold else f"does not hold on its own (below {threshold})"
    return f"{rule.id} {does}, {tool} with it: clarity {clarity} x stakes {stakes} = {score}: {rule.reason}"
