"""The person's own rules in `policy.toml`: read, tried on their examples, and explained where one is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from toolguard_cli import judging, stores
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_engine import answers, rubric, rulenames, rulepacks
from toolguard_engine.layers.calltexts import EXEC_TOOLS
from toolguard_engine.model import Call
from toolguard_engine.redact import UNPRINTABLE
from toolguard_engine.rulebook import Example, Rule
from toolguard_engine.stores import tomlfile
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.policy import BadPolicy, Policies
from toolguard_engine.stores.tomlfile import NoToml
from toolguard_engine.stores.userconstraints import UserConstraints
from toolguard_engine.stores.userrules import BadRules, Placed, UserRules

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
LIST = "toolguard check --list"
MAX_LINE = 160


def broken(places: Places) -> StoreError | None:
    """What is wrong with the policy, if something is. Raises `UserError` where it cannot be read at all."""
    with stores.told():
        try:
            Policies(places.state_dir).grants()
            UserRules(places.state_dir).rules()
            UserConstraints(places.state_dir).constraints()
        except (BadPolicy, BadRules) as error:
            return error
    return None


def told(command: str, error: StoreError) -> Result:
    """What is wrong, where, and how to mend it."""
    text = answers.plain(str(error))
    said, _, mend = text.rpartition("; ")
    if not isinstance(error, BadRules):
        return Result(command, {"error": {"said": text}}, (Line("error", said or text), Line("next", mend or text)), 1)
    lines = [Line("error", said.removesuffix("; ")), *_excerpt(error), Line("next", error.mend)]
    at = {"file": str(error.path), "line": error.at.line, "column": error.at.column}
    return Result(command, {"error": {**at, "said": error.said, "mend": error.mend}}, tuple(lines), 1)


def _excerpt(error: BadRules) -> list[Line]:
    """The line that is meant, and a mark below its column."""
    try:
        lines = tomlfile.text_of(error.path).splitlines()
    except (NoToml, StoreError):
        return []
    if not 0 < error.at.line <= len(lines):
        return []
    shown = UNPRINTABLE.sub(" ", lines[error.at.line - 1])
    if error.at.column > MAX_LINE:
        return []
    mark = [Line("info", f"{'':>5} | {' ' * (error.at.column - 1)}^")] if error.at.column else []
    return [Line("info", f"{error.at.line:>5} | {shown[:MAX_LINE]}"), *mark]


def check(places: Places) -> Result:
    """Every rule on its examples. Exit code 1 where one is bad, or an example turns out otherwise."""
    if error := broken(places):
        return told("check", error)
    own = UserRules(places.state_dir)
    try:
        found = own.placed(rulepacks.speaks)
    except BadRules as error:
        return told("check", error)
    if not found:
        return Result("check", {"rules": []}, tuple(_none(str(own.path))))
    judged = judging.load(places)
    by_rule = [(placed, _problems(placed, judged, own.path)) for placed in found]
    problems = [problem for _, wrong in by_rule for problem in wrong]
    lines = [Line("ok", _words(placed.rule, judged.basis.threshold)) for placed, wrong in by_rule if not wrong]
    lines += [Line("error", problem) for problem in problems]
    lines += off(judged)
    data = {"rules": [{"id": p.rule.id, "line": p.at.line, "reason": p.rule.reason} for p in found], "problems": problems}
    return Result("check", data, tuple(lines), 1 if problems else 0)


def _none(path: str) -> list[Line]:
    lines = [Line("info", f"there are no rules of yours in {answers.plain(path)}; one looks like this:")]
    return [*lines, Line("info", ""), *(Line("info", f"    {text}") for text in EXAMPLE)]


def unknown_off(names: Iterable[str], own: Iterable[str] = ()) -> Iterator[tuple[str, str]]:
    """Names under `rulesOff` that no rule and no pack has, and what to say of each."""
    rules = {rule.id for rule in judging.all_rules()}.union(own)
    known = rules.union(name.partition(".")[0] for name in rules)
    for name in names:
        if name not in known:
            near = rulenames.nearest(name, known)
            meant = f"; did you mean {near}?" if near else ""
            yield name, f"rulesOff names {answers.cut(answers.plain(name), 80)}: no such rule and no such pack{meant}"


def off(judged: judging.Judging) -> list[Line]:
    """What is wrong with `rulesOff`, for a person."""
    return [Line("warn", said) for _, said in unknown_off(judged.config.rules_off, judged.own)]


def taken(placed: Placed, path: Path) -> str:
    """What is wrong with a rule that has the name of one that comes with toolguard; empty where it has not."""
    if all(known.id != placed.rule.id for known in judging.all_rules()):
        return ""
    return f"{answers.plain(str(path))}, line {placed.at.line}: {placed.rule.id} is the name of a rule of toolguard's own"


def _problems(placed: Placed, judged: judging.Judging, path: Path) -> list[str]:
    """Examples that must pass and do not, and rules that could take the place of one that comes with toolguard."""
    rule, where = placed.rule, f"{answers.plain(str(path))}, line {placed.at.line}"
    problems = []
    if same := taken(placed, path):
        problems.append(f"{same}; choose another id")
    for example in rule.passes:
        found = judged.weigh_bare(_call(example))
        if found.decision != "allow":
            shown = answers.cut(str(example), 80)
            problems.append(f"{where}: {rule.id} says that {shown!r} passes, but it is a {found.decision}: {found.code}")
    return problems


def _call(example: Example) -> Call:
    if isinstance(example, str):
        return Call("exec", {"command": example})
    params: Any = example["params"]
    return Call(example["tool"], params)


def _words(rule: Rule, threshold: int) -> str:
    """What a rule comes to, alone."""
    if rule.verdict:
        return f"{rule.id} blocks: {rule.reason}"
    tool = next((name for name in rule.tool if name not in EXEC_TOOLS), "exec") if rule.tool else "exec"
    clarity, stakes = rubric.base(tool, {})
    clarity, stakes = min(rubric.MOST, clarity + rule.clarity), min(rubric.MOST, stakes + rule.stakes)
    score = clarity * stakes
    does = "holds" if score >= threshold else f"does not hold by itself (below {threshold})"
    return f"{rule.id} {does}, {tool} with it: clarity {clarity} x stakes {stakes} = {score}: {rule.reason}"
