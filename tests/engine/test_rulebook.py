"""Which words, options and effects a rule speaks about, how a book is looked up, and which tables are no rules."""

from __future__ import annotations

import shlex
from types import SimpleNamespace
from typing import Any

import pytest

from tables import each_row
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun, Reading
from toolguard_engine.layers import rule_examples
from toolguard_engine.rules import packs, terms
from toolguard_engine.rules.rule_form import try_examples
from toolguard_engine.rules.rulebook import InvalidRuleError, Match, Rule, Rulebook, rule_from


def _run(command: str, **more: Any) -> ProgramRun:
    argv = tuple(shlex.split(command))
    return ProgramRun(argv=argv, name=argv[0].rpartition("/")[2], **more)


def _rule(**keys: Any) -> Rule:
    return rule_from({"id": "my.rule", "reason": "Why.", **keys}, "my")


def _speaks(rule: Rule, command: str, **more: Any) -> bool:
    return bool(Rulebook([rule]).for_command(Reading((_run(command, **more),)), ()))


WORDS = [
    ("git push", "git push", True),
    ("git push", "/usr/bin/git push", True),
    ("git push", "git -C x push", True),
    ("git push", "git --git-dir x --no-pager push", True),
    ("git push", "git --git-dir=x push", True),
    ("git push", "git -- push", True),
    ("git push", "git status push", False),
    ("git push", "git", False),
    ("git push", "git pushy", False),
    ("docker|podman rm|rmi", "podman rmi x", True),
    ("docker|podman rm|rmi", "docker ps rm", False),
    ("aws * delete-*", "aws --profile p ec2 delete-volume", True),
    ("aws * delete-*", "aws delete-volume", False),
    ("cloud ** delete", "cloud delete", True),
    ("cloud ** delete", "cloud a b -x y c d delete", True),
    ("cloud ** delete", "cloud a b c d e delete", False),
    ("x * !list|get delete", "x a b delete", True),
    ("x * !list|get delete", "x a list delete", False),
    ("x *:destroy|drop[A-Z]*|a*b", "x apps:destroy", True),
    ("x *:destroy|drop[A-Z]*|a*b", "x dropTable", True),
    ("x *:destroy|drop[A-Z]*|a*b", "x a-b", True),
    ("x *:destroy|drop[A-Z]*|a*b", "x drop-table", False),
    ("pip3.* install", "pip3.11 install", True),
    ("pip3.* install", "pip3 install", False),
]


@each_row(("form", "command", "speaks"), WORDS, ids=[f"{form}: {command}" for form, command, _ in WORDS])
def test_sub_commands(form: str, command: str, speaks: bool) -> None:  # noqa: FBT001 - a column of the table
    assert _speaks(_rule(run=[form]), command) is speaks


OPTIONS = [
    ({"any": ["-f"]}, "p -f", True),
    ({"any": ["-f"]}, "p -xfd", True),
    ({"any": ["-f"]}, "p --f", False),
    ({"any": ["-f"]}, "p f", False),
    ({"any": ["--force"]}, "p --force", True),
    ({"any": ["--force"]}, "p --force=yes", True),
    ({"any": ["--force"]}, "p --forc", True),
    ({"any": ["--force"]}, "p --for", False),
    ({"any": ["--hard"]}, "p --har", True),
    ({"any": ["--hard"]}, "p --ha", False),
    ({"any": ["--all"]}, "p --", False),
    ({"any": ["--force"]}, "p --force-with-lease", False),
    ({"any": ["--force"]}, "p --force=false", False),
    ({"any": ["-delete"]}, "p -delete", True),
    ({"any": ["-delete"]}, "p --delete", True),
    ({"any": ["-delete"]}, "p -d", False),
    ({"any": ["-auto"]}, "p -auto=false", False),
    ({"any": ["+*"]}, "p +main", True),
    ({"any": ["+*"]}, "p a+main", False),
    ({"any": ["--prune=now"]}, "p --prune=now", True),
    ({"any": ["--prune=now"]}, "p --prune", False),
    ({"all": ["-a", "-b"]}, "p -ba", True),
    ({"all": ["-a", "-b"]}, "p -a", False),
    ({"none": ["--dry-run"]}, "p x", True),
    ({"none": ["--dry-run"]}, "p --dry-run x", False),
    ({"none": ["--dry-run"]}, "p --dry-run=none x", True),
    ({"none": ["--dry-run"]}, "p -- --dry-run", True),
    ({"none": ["--dry-run"]}, "p --dry-run --no-dry-run", True),
    ({"none": ["--dry-run"]}, "p --no-dry-run --dry-run", False),
    ({"none": ["--dry-run", "-n"]}, "p -n --no-dry-run", True),
    ({"none": ["--dry-run"]}, "p --dry-run=client --dry-run=none", True),
    ({"none": ["--dry-run"]}, "p --dry-run=none --dry-run=client", False),
    ({"none": ["--help"]}, "p --message --help", True),
    ({"none": ["--help"]}, "p --message x --help", False),
    ({"arg": "^a{2}$"}, "p b aa", True),
    ({"arg": "^a{2}$"}, "p aaa", False),
    ({"no_arg": "^list$"}, "p list", False),
    ({"arg": "^http:", "unless": "localhost"}, "p http://localhost", False),
    ({"arg": "^http:", "unless": "localhost"}, "p http://localhost http://x", True),
    ({"no_run": ["q", "p*"]}, "p x", False),
]


def test_options() -> None:
    assert [
        (keys, command, speaks)
        for keys, command, speaks in OPTIONS
        if _speaks(_rule(run=["p"], **keys), command) is not speaks
    ] == []


def test_wrappers() -> None:
    rule = _rule(run=["rm"], via=["xargs", "find"])
    assert _speaks(rule, "rm x", via=("sudo", "xargs"))
    assert not _speaks(rule, "rm x", via=("sudo",))


GONE = Effect("delete", "/srv/data", "system", frozenset(["recursive"]), _run("rm -r /srv/data"))

EFFECTS = [
    ({"effect": ["delete", "empty"]}, True),
    ({"effect": ["write"]}, False),
    ({"effect": ["delete"], "place": ["system", "home"]}, True),
    ({"effect": ["delete"], "place": ["home", ""]}, False),
    ({"effect": ["delete"], "no_place": ["system"]}, False),
    ({"effect": ["delete"], "flags": ["recursive"]}, True),
    ({"effect": ["delete"], "flags": ["recursive", "forced"]}, False),
    ({"effect": ["delete"], "no_flags": ["recursive"]}, False),
    ({"effect": ["delete"], "text": "^/srv/"}, True),
    ({"effect": ["delete"], "text": "^/var/"}, False),
    ({"effect": ["delete"], "run": ["rm"], "any": ["-r"]}, True),
    ({"effect": ["delete"], "run": ["find"]}, False),
    ({"effect": ["delete"], "any": ["-f"]}, False),
    ({"effect": ["delete"], "via": ["sudo"]}, False),
    ({"effect": ["delete"], "no_run": ["rm"]}, False),
    ({"effect": ["delete"], "tool": ["write"]}, False),
]


@each_row(("keys", "speaks"), EFFECTS, ids=[str(keys) for keys, _ in EFFECTS])
def test_effects(keys: dict[str, Any], speaks: bool) -> None:  # noqa: FBT001 - a column of the table
    found = Rulebook([_rule(**keys)]).for_command(Reading((_run("rm -r /srv/data"),)), (GONE,))
    assert [match.target for match in found] == (["/srv/data"] if speaks else [])


CALLS = [
    ({"tool": ["write", "edit"]}, "edit", {}, True),
    ({"tool": ["write"]}, "read", {}, False),
    ({"tool": ["write"], "params": {"path": "env$"}}, "write", {"path": "a/.env"}, True),
    ({"tool": ["write"], "params": {"path": "env$"}}, "write", {"path": "a/.envrc"}, False),
    ({"tool": ["write"], "params": {"path": "env$", "content": "KEY"}}, "write", {"path": "a/.env"}, False),
    ({"tool": ["send"], "params": {"to": "'all'"}}, "send", {"to": ["all"]}, True),
    ({"tool": ["write"], "effect": ["delete"]}, "write", {}, True),
    ({"tool": ["read"], "effect": ["delete"]}, "write", {}, False),
    ({"effect": ["delete"], "place": ["system"]}, "remove", {}, True),
    ({"effect": ["write"]}, "write", {}, False),
]


@each_row(("keys", "tool", "params", "speaks"), CALLS, ids=[f"{keys}: {tool}" for keys, tool, *_ in CALLS])
def test_calls(keys: dict[str, Any], tool: str, params: dict[str, object], speaks: bool) -> None:  # noqa: FBT001 - as above
    effect = Effect("delete", "/srv/data", "system")
    assert bool(Rulebook([_rule(**keys)]).for_call(tool, params, (effect,))) is speaks


def test_a_match_says_all_and_each_rule_speaks_once_in_the_order_of_the_book() -> None:
    first = rule_from({"id": "a.x", "run": ["p"], "reason": "One.", "clarity": 2, "stakes": 3}, "a")
    second = rule_from({"id": "a.y", "effect": ["delete"], "reason": "Two.", "verdict": "block"}, "a")
    third = rule_from({"id": "a.z", "run": ["*"], "reason": "Three."}, "a")
    reading = Reading((_run("p one"), _run("q"), ProgramRun(("p", f"two{UNKNOWN}"), "p")))
    assert Rulebook([first, second, third]).for_command(reading, (GONE, GONE)) == (
        Match("a.x", "One.", 2, 3, blocks=False, target="p one", program=reading.runs[0]),
        Match("a.y", "Two.", blocks=True, target="/srv/data", program=GONE.program),
        Match("a.z", "Three.", target="p one", program=reading.runs[0]),
    )


def test_rules_and_packs_are_switched_off_and_added() -> None:
    book = Rulebook(rule_from({"id": name, "run": ["p"], "reason": "Why."}, name[0]) for name in ("a.x", "a.y", "b.x"))
    assert [rule.id for rule in book.without(["a.x"]).rules] == ["a.y", "b.x"]
    assert [rule.id for rule in book.without(["a", "nobody"]).rules] == ["b.x"]
    more = book.without(["a", "b"]).plus([_rule(run=["p"])])
    assert [match.rule for match in more.for_command(Reading((_run("p"),)), ())] == ["my.rule"]


BAD = [
    ({"rnu": ["git"]}, "rnu", "unknown key"),
    ({"run": "git"}, "run", "list of strings"),
    ({"run": []}, "run", "list of strings"),
    ({"run": ["git", ""]}, "run", "empty"),
    ({"run": ["git"], "arg": "("}, "arg", "not a regular expression"),
    ({"run": ["git"], "arg": "a*+b"}, "arg", "possessive"),
    ({"run": ["git"], "no_arg": 3}, "no_arg", "regular expression"),
    ({"effect": ["delete"], "text": "a(?!b)"}, "text", "look-ahead"),
    ({"tool": ["x"], "params": {"a": "("}}, "params", "not a regular expression"),
    ({"run": ["git"], "unless": "x"}, "unless", "without arg or effect"),
    ({"tool": ["x"], "params": ["a"]}, "params", "table"),
    ({}, "id", "one of run, effect and tool"),
    ({"run": ["git"], "reason": " "}, "reason", "reason"),
    ({"run": ["git"], "reason": 3}, "reason", "string"),
    ({"run": ["git"], "clarity": 10}, "clarity", "0 to 9"),
    ({"run": ["git"], "stakes": -1}, "stakes", "0 to 9"),
    ({"run": ["git"], "stakes": True}, "stakes", "0 to 9"),
    ({"run": ["git"], "verdict": "hold"}, "verdict", "block"),
    ({"run": ["git"], "matches": "git"}, "matches", "list"),
    ({"run": ["git"], "matches": [{"tool": "x"}]}, "matches", "list"),
    ({"run": ["git"], "matches": ["hg push"]}, "matches", "its own example 'hg push'"),
    ({"run": ["git"], "id": "other.rule"}, "id", "my.<name>"),
    ({"run": ["git"], "id": 3}, "id", "string"),
    ({"run": ["git"], "id": "my. x"}, "id", "letters"),
]


@each_row(("keys", "key", "says"), BAD, ids=[f"{key}: {says}" for _, key, says in BAD])
def test_bad_rules_name_their_key(keys: dict[str, Any], key: str, says: str) -> None:
    with pytest.raises(InvalidRuleError) as bad:
        try_examples(rule_from({"id": "my.rule", "reason": "Why.", **keys}, "my"), rule_examples.speaks)
    assert bad.value.key == key
    assert says in str(bad.value)


HOSTILE = [
    ("many options", "git" + " -a" * 20_000 + " push"),
    ("many values", "git" + " -a b" * 20_000 + " push"),
    ("many values in front of any words", "gcloud" + " -a b" * 20_000 + " x"),
    ("many values in front of a service", "aws" + " -a b" * 20_000 + " delete-x"),
    ("many values of nobody", "acme" + " -a b" * 20_000 + " delete"),
    ("many words", "acme" + " a" * 50_000),
    ("a long word", "acme " + "delete" * 100_000),
    ("a long name", "x" * 500_000 + " delete"),
    ("a long cluster", "git clean -" + "d" * 500_000),
    ("long values", "git config " + "core." * 100_000),
]


@each_row("command", [command for _, command in HOSTILE], ids=[name for name, _ in HOSTILE])
def test_hostile_commands_are_matched_to_their_end(command: str) -> None:
    """What tried every way would take hours."""
    argv = tuple(command.split(" "))
    assert isinstance(packs.load().for_command(Reading((ProgramRun(argv, argv[0]),)), ()), list | tuple)


def test_a_pack_has_words_and_options_that_all_its_rules_share() -> None:
    text = """
        none = ["--help"]
        words.gone = ["rm", "del*"]
        [[rule]]
        id = "my.gone"
        run = ["acme !list|get $gone"]
        no_run = ["$gone"]
        reason = "Why."
    """
    (rule,) = packs.pack(text, "my")
    assert (rule.run, rule.no_run, rule.none) == (("acme !list|get rm|del*",), ("rm", "del*"), ("--help",))


@pytest.mark.parametrize(("text", "key"), [("nnoe = []", "nnoe"), ('[[rule]]\nid = "my.x"\nreason = "y"', "id")])
def test_bad_packs_name_their_key(text: str, key: str) -> None:
    with pytest.raises(InvalidRuleError) as bad:
        packs.pack(text, "my")
    assert bad.value.key == key


def test_two_rules_of_a_pack_cannot_have_one_id() -> None:
    with pytest.raises(InvalidRuleError, match="two rules"):
        packs.pack('[[rule]]\nid = "my.x"\nrun = ["p"]\nreason = "y"\n' * 2, "my")


def test_nothing_is_compiled_for_words_once_the_engine_has_warmed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    book = packs.load()
    terms.word_test.cache_clear()
    for _ in book.compiled():
        pass
    late = SimpleNamespace(compile=lambda pattern, *_: pytest.fail(f"compiled late: {pattern}"))
    monkeypatch.setattr(terms, "re", late)
    for at, rule in enumerate(book.rules):
        assert book._terms[at] is not None
        for name in filter(terms.is_glob, " ".join(rule.run).split()):
            terms.word_test(name)
