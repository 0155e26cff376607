"""`toolguard check`: a verdict for a person, for a script, and for lines that never end."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from cli_stage import LIMIT, SCRIPT, envelope, picture, texts, toolguard
from judged_stage import BOOK, policy, settings

from tables import each_row
from toolguard_cli import fast_path, main
from toolguard_cli.commands import check, grant
from toolguard_cli.policy import check_stream, offline_guard
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import unquoted_command
from toolguard_engine.approvals import held_view
from toolguard_engine.layers import harm_in_room
from toolguard_engine.model.call import Call
from toolguard_engine.rules import packs
from toolguard_engine.stores.files import engine_files as engines
from toolguard_engine.stores.files.kill_switch_file import KillSwitchFile

OWN = """\
[[rule]]
id = "no-fax"
run = ["fax send"]
clarity = 2
stakes = 3
reason = "Nobody reads it."
matches = ["fax send 1"]
passes = ["fax list"]
"""


@pytest.fixture
def book(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "load", lambda: BOOK)


def ask(places: Places, command: str, **more: Any) -> Any:
    return check.run(places, Call("exec", {"command": command}, **more))


@pytest.mark.usefixtures("book")
class TestForAPerson:
    def test_allowed(self, places: Places) -> None:
        result = ask(places, "ls -la")
        assert (result.lines[0].kind, result.exit_code) == ("allow", 0)
        assert texts(result) == [
            "it would run at once (clarity 4 x stakes 5 = 20; calls are held at 36)",
            f"toolguard is not installed in {places.state_dir}, so nothing is guarded there (toolguard install)",
            "(default settings; no policy.toml)",
        ]
        assert list(places.state_dir.iterdir()) == []

    def test_held(self, places: Places) -> None:
        result = ask(places, "deploy site", agent="main")
        assert (result.lines[0].kind, result.exit_code) == ("hold", 4)
        assert texts(result) == [
            "it would wait for your approval (clarity 6 x stakes 8 = 48; calls are held at 36)",
            "It publishes the site. (deploy site)",
            "it        publishes the site: deploy site",
            "because   demo.deploy (clarity +2, stakes +3): It publishes the site.",
            f"toolguard is not installed in {places.state_dir}, so nothing is guarded there (toolguard install)",
            "once it is held, toolguard approve lets it run once",
            (
                "toolguard grant 'deploy site' --tool exec --for 24h --agent main   "
                "(for a day: just this command, in every folder, by agent main)"
            ),
            'wider: "escalationThreshold": 49 allows every call with a score of up to 48',
            '       "rulesOff": ["demo.deploy"] disables this rule',
            f"       (these settings are under plugins.entries.toolguard.config in {places.config})",
            "(default settings; no policy.toml)",
        ]

    def test_the_grant_that_it_names_works(self, places: Places) -> None:
        grant.run(places, grant.GrantRequest("deploy site", "exec", "24h"), yes=False, dry_run=False)
        result = ask(places, "deploy site")
        assert (result.exit_code, result.data["code"]) == (0, f"grant.{result.data['code'].removeprefix('grant.')}")
        assert "1 grant from" in texts(result)[-1]
        assert ask(places, "deploy other").exit_code == 4

    def test_a_grave_call_gets_no_advice_on_the_threshold(self, places: Places) -> None:
        found = texts(ask(places, "deploy prod"))
        assert found[0] == "it would wait for your approval (clarity 7 x stakes 10 = 70; calls are held at 36)"
        assert not any("escalationThreshold" in text for text in found)
        assert '"rulesOff": ["demo.grave", "demo.deploy"] disables these rules' in " ".join(found)

    def test_no_grant_for_what_none_can_cover(self, places: Places) -> None:
        assert "no grant can cover only this call: approve it when it is held" in texts(ask(places, "deploy *"))

    def test_blocked(self, places: Places) -> None:
        result = ask(places, "wipe")
        assert (result.lines[0].kind, result.exit_code) == ("block", 5)
        assert texts(result)[0].startswith("it would never run (rule.demo.wipe, whatever its score;")
        assert "no approval and no grant allows this; if it has to be done, do it yourself" in texts(result)
        assert result.data["allow"] == []

    def test_self_protection(self, places: Places) -> None:
        result = ask(places, "toolguard approve 1234abcd")
        assert (result.exit_code, result.data["code"]) == (5, "rule.self-protection")
        assert texts(result)[0] == "it would never run (rule.self-protection, whatever it would score)"

    def test_a_broken_command(self, places: Places) -> None:
        assert "because   its syntax is broken (clarity +2)" in texts(ask(places, "echo 'a"))
        assert not any("syntax" in text for text in texts(ask(places, "echo a")))

    def test_what_is_not_judged(self, places: Places) -> None:
        result = check.run(places, Call("memory_search", {"query": "x"}))
        assert (result.exit_code, texts(result)[0]) == (0, "it is not judged: its tool is in neverBlock")

    @pytest.mark.parametrize(
        ("call", "words"),
        [
            (
                Call("exec", {"command": "deploy a"}, cwd="/w"),
                "--cwd /w   (for a day: just this command, in /w, by every agent)",
            ),
            (
                Call("exec", {"command": "deploy a", "workdir": "/v"}, cwd="/w"),
                "just this command, in every folder, by every",
            ),
            (Call("read", {"path": "/secret"}, agent="a"), "(for a day: reading just this file, by agent a)"),
            (Call("read", {"path": "secret"}), "(for a day: reading just this file, in every folder, by every agent)"),
        ],
    )
    def test_what_the_grant_covers(self, places: Places, call: Call, words: str) -> None:
        (found,) = check.run(places, call).data["allow"]
        assert words in found

    def test_commands_that_it_names_keep_the_gateway(self, places: Places) -> None:
        given = ("--state-dir", str(places.state_dir), "--config", str(places.config))
        result = ask(replace(places, given=given), "deploy site")
        assert f"--for 24h {' '.join(given)}   (" in result.data["allow"][0]
        warned = [line.text for line in result.lines if line.kind == "warn"]
        assert warned[0] == f"--config {places.config} does not exist, so the defaults are used"

    @pytest.mark.parametrize(
        ("plugins", "said"),
        [
            ({"enabled": False, "entries": {"toolguard": {"enabled": True}}}, "plugins.enabled is false"),
            ({"entries": {"toolguard": {"enabled": False}}}, "plugins.entries.toolguard.enabled is not true"),
            ({"entries": {"toolguard": {"enabled": True, "config": {"enabled": False}}}}, "the guard is disabled"),
            ({"entries": {"toolguard": {"enabled": True}}}, ""),
            ({"entries": []}, "is not installed in"),
        ],
    )
    def test_a_gateway_that_would_not_ask(self, places: Places, plugins: dict[str, Any], said: str) -> None:
        places.config.write_text(json.dumps({"plugins": plugins}))
        warned = [line.text for line in ask(places, "ls").lines if line.kind == "warn"]
        assert [said in text for text in warned] == [True] * bool(said)

    def test_the_settings_count(self, places: Places) -> None:
        settings(
            places,
            escalationThreshold=60,
            rulesOff=["lore", "user"],
            alwaysBlock=["browser"],
            agents={"x": {"mode": "shadow"}},
        )
        assert ask(places, "deploy site").exit_code == 0
        assert check.run(places, Call("read", {"path": "secret"})).exit_code == 0
        browser = check.run(places, Call("browser", {"url": "https://example.com"}))
        assert browser.exit_code == 4
        assert "wider: remove browser from alwaysBlock" in texts(browser)
        assert any("the mode is shadow" in text for text in texts(ask(places, "deploy prod", agent="x")))
        assert texts(browser)[-1] == f"(settings of {places.config}; no policy.toml)"

    def test_bad_settings(self, places: Places) -> None:
        settings(places, escalationThreshold="much")
        with pytest.raises(UserError, match="escalationThreshold"):
            ask(places, "ls")

    def test_switched_off(self, places: Places) -> None:
        settings(places, mode="disabled")
        assert any("guard is disabled" in text for text in texts(ask(places, "wipe")))

    def test_json(self, places: Places) -> None:
        assert ask(places, "deploy site").data == {
            "verdict": "hold",
            "code": "rule.demo.deploy",
            "clarity": 6,
            "stakes": 8,
            "score": 48,
            "effects": [],
            "rules": [
                {
                    "rule": "demo.deploy", "reason": "It publishes the site.", "clarity": 2, "stakes": 3, "blocks": False,
                }
            ],
            "reason": "It publishes the site. (deploy site)",
            "note": "",
            "risk": {"level": "HIGH", "cost": 0.4, "trust": 0.6},
            "threshold": 36,
            "allow": [
                ("toolguard grant 'deploy site' --tool exec --for 24h   "
                "(for a day: just this command, in every folder, by every agent)")
            ],
            "basis": {
                "config": None, "policy": None, "mode": "enforce", "threshold": 36,
                "ownRules": 0, "grants": 0,
            },
        }  # fmt: skip

    def test_inner_calls_of_tool_search(self, places: Places) -> None:
        assert check.run(places, Call("tool_call", {"id": "exec", "args": {"command": "wipe"}})).exit_code == 5


@each_row(
    ("text", "tool", "params", "found"),
    [
        ("ls", "exec", "", {"command": "ls"}),
        ("a b", "bash", '{"workdir": "/x"}', {"command": "a b", "workdir": "/x"}),
        ("a.md", "read", "", {"path": "a.md"}),
        (None, "nodes", '{"action": "list"}', {"action": "list"}),
        (None, "exec", '{"command": ["ls", "-l"]}', {"command": ["ls", "-l"]}),
        (None, "nodes", "{}", {}),
    ],
)
def test_the_call_that_is_meant(text: str | None, tool: str, params: str, found: dict[str, Any]) -> None:
    assert check.call_of(text, tool, params, "a", "/w") == Call(tool, found, agent="a", cwd="/w")


@each_row(
    ("text", "tool", "params", "said"),
    [
        (None, "exec", "", "give a command to check"),
        ("x", "nodes", "", "by name"),
        ("x", "message", "", "by name"),
        (None, "exec", "{", "not JSON"),
        (None, "exec", "[1]", "not a JSON object"),
        (None, "exec", "{}", "would refuse this call: command is missing"),
        (None, "exec", '{"cmd": "ls"}', "would refuse this call: command is missing"),
        (None, "exec", '{"command": 5}', "would refuse this call: command must be a string"),
        (None, "exec", '{"command": []}', "command must be a string"),
        (None, " ", "{}", "the tool is not named"),
        ("ls", "exec", '{"command": "wipe"}', "command is given twice"),
    ],
)
def test_what_is_no_call(text: str | None, tool: str, params: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check.call_of(text, tool, params, "", "")


@each_row(
    ("typed", "parsed"),
    [
        ("", ""),
        ("ls", "ls"),
        ("ls --json", "ls --json"),
        ("--json ls", "--json ls"),
        ("ls --state-dir x --json --cwd=/a", "ls --state-dir x --json --cwd=/a"),
        ("ls -l", "-- ls -l"),
        ("rm -rf x", "-- rm -rf x"),
        ("rm -rf --json", "-- rm -rf --json"),
        ("rm --json x", "-- rm --json x"),
        ("--json --tool exec git push --force", "--json --tool exec -- git push --force"),
        ("--tool=bash ls a", "--tool=bash -- ls a"),
        ("-- rm -rf x", "-- rm -rf x"),
        ("--lst ls", "--lst ls"),
        ("--tool", "--tool"),
        ("'rm -rf x' --jsn", "'rm -rf x' --jsn"),
        ("'rm -rf x' --json", "'rm -rf x' --json"),
        ("--stdin ls x", "--stdin -- ls x"),
    ],
)
def test_words_without_quotes(typed: str, parsed: str) -> None:
    assert unquoted_command.spelled(["check", *shlex.split(typed)]) == ["check", *shlex.split(parsed)]
    assert unquoted_command.spelled(["grant", *shlex.split(typed)]) == ["grant", *shlex.split(typed)]


def test_the_options_of_check_are_known() -> None:
    app = typer.main.get_command(main.app)
    options = [each for each in app.commands["check"].params if each.param_type_name == "option"]  # type: ignore[attr-defined]
    valued = {name for each in options if not each.is_flag for name in each.opts}
    flags = {name for each in options if each.is_flag for name in each.opts}
    assert (valued, flags | {"--help"}) == (unquoted_command.VALUED, unquoted_command.FLAGS)


@each_row(
    ("words", "tool", "text"),
    [
        ([], "exec", None),
        (["ls -l"], "exec", "ls -l"),
        (["rm", "a b", "-r"], "bash", "rm 'a b' -r"),
        (["a b"], "read", "a b"),
    ],
)
def test_the_words_are_one_text(words: list[str], tool: str, text: str | None) -> None:
    assert check.text_of(words, tool) == text


@pytest.mark.parametrize(
    ("words", "tool", "said"), [(["rm -rf x", "y"], "exec", "already quoted"), (["a", "b"], "read", "takes one argument")]
)
def test_words_that_are_no_text(words: list[str], tool: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check.text_of(words, tool)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("ls --agnt main", "did you mean --agent?"),
        ("ls -la --chanel=x", "did you mean --channel?"),
        ("git log --lists -- a", "did you mean --list?"),
    ],
)
def test_an_option_that_is_nearly_one_of_ours(typed: str, said: str) -> None:
    with pytest.raises(UserError, match="check has no option --") as raised:
        unquoted_command.spelled(["check", *shlex.split(typed)])
    assert raised.value.fix.startswith(said)


@each_row(
    "typed",
    ["-- ls --agnt main", "git rm -- --agnt", "'ls --agnt main'", "npm ls --depth 1", "x y --json", "srv run --stdio"],
)
def test_an_option_of_the_command(typed: str) -> None:
    words = shlex.split(typed)
    assert [word for word in unquoted_command.spelled(["check", *words]) if word != "--"] == [
        "check", *(word for word in words if word != "--"),
    ]  # fmt: skip


def test_nobody_reads_the_verdict(places: Places) -> None:
    words = [SCRIPT, "check", "rm -rf ~/important", "--state-dir", places.state_dir]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.wait(LIMIT) == 4
        assert process.stderr.read() == b""


@pytest.mark.usefixtures("book")
class TestRisk:
    @pytest.mark.parametrize(
        ("budget", "does"),
        [
            (
                {"mode": "enforce"},
                "of a budget of 1.00, needs trust 0.40; it is held if the agent has less (budget.mode is enforce)",
            ),
            (
                {"mode": "soft", "size": 2},
                "of a budget of 2.00, needs trust 0.40; it is held if the agent has less and the level",
            ),
            ({}, ""),
            ({"mode": "disabled"}, ""),
        ],
        ids=["enforce", "soft", "only logged", "disabled"],
    )
    def test_what_a_call_costs(self, places: Places, budget: dict[str, Any], does: str) -> None:
        settings(places, budget={"toolRiskMap": {"exec": "MEDIUM"}, "riskCosts": {"MEDIUM": 0.25}, **budget})
        result = ask(places, "ls")
        reported = [text for text in texts(result) if text.startswith("risk ")]
        assert len(reported) == bool(does), "a budget that holds nothing is no second scale beside the score"
        assert all(text.startswith(f"risk      MEDIUM: costs 0.25 {does}") for text in reported)
        assert result.data["risk"] == {"level": "MEDIUM", "cost": 0.25, "trust": 0.4}

    def test_an_agent_has_its_own(self, places: Places) -> None:
        settings(places, budget={"mode": "enforce"}, agents={"main": {"budget": {"mode": "disabled"}}})
        assert not any(text.startswith("risk ") for text in texts(ask(places, "fax it", agent="main")))
        assert any("budget.mode is enforce" in text for text in texts(ask(places, "fax it", agent="other")))

    def test_what_looks_needs_nothing(self, places: Places) -> None:
        settings(places, budget={"mode": "enforce"})
        result = ask(places, "ls")
        assert "risk      SAFE: needs neither budget nor trust" in texts(result)
        assert result.data["risk"] == {"level": "SAFE", "cost": 0, "trust": 0}

    def test_what_is_blocked_costs_nothing(self, places: Places) -> None:
        settings(places, budget={"mode": "enforce"})
        result = ask(places, "wipe")
        assert "risk      CRITICAL: it never runs, so it costs nothing; trying it lowers trust by 0.20" in texts(result)
        assert result.data["risk"]["level"] == "CRITICAL"

    def test_what_is_not_judged_has_none(self, places: Places) -> None:
        assert check.run(places, Call("memory_search", {"query": "x"})).data["risk"] is None


@pytest.mark.usefixtures("book")
def test_the_kill_switch_is_told(places: Places) -> None:
    assert check.STOPPED not in texts(ask(places, "ls"))
    KillSwitchFile(places.state_dir).set(on=True, by="ana", why="")
    result = ask(places, "ls")
    assert (result.exit_code, result.lines[1].kind, result.lines[1].text) == (0, "warn", check.STOPPED)


@pytest.mark.usefixtures("book")
class TestOwnRules:
    def test_none(self, places: Places) -> None:
        result = check.rules(places)
        assert (result.exit_code, result.data["rules"], result.data["problems"]) == (0, [], [])
        shown = "\n".join(text.removeprefix("    ") for text in texts(result)[2:-1])
        policy(places, shown)
        assert check.rules(places).exit_code == 0

    def test_good(self, places: Places) -> None:
        policy(places, OWN)
        result = check.rules(places)
        assert (result.exit_code, result.data["problems"]) == (0, [])
        assert texts(result) == ["no-fax holds exec calls, with clarity 6 x stakes 8 = 48: Nobody reads it."]
        settings(places, rulesOff=["user"])
        held = ask(places, "fax send 2")
        assert held.data["code"] == "rule.user.no-fax"
        assert "       change user.no-fax in policy.toml: your own rule" in texts(held)
        assert "1 rule of your own from" in texts(ask(places, "ls"))[-1]

    def test_bad(self, places: Places) -> None:
        path = policy(places, OWN + "stake = 3\n")
        expected = [
            ("error", f"{path}, line 9, column 1: the rule no-fax: unknown key 'stake'"),
            ("info", "    9 | stake = 3"),
            ("info", "      | ^"),
        ]
        for result in (check.rules(places), ask(places, "ls")):
            assert [(line.kind, line.text) for line in result.lines[:3]] == expected
            assert result.lines[3].kind == "next"
            assert result.exit_code == 1
            assert (result.data["error"]["line"], result.data["error"]["column"]) == (9, 1)

    def test_an_example_that_does_not_match(self, places: Places) -> None:
        policy(places, OWN.replace("fax send 1", "fax list"))
        result = check.rules(places)
        assert result.exit_code == 1
        assert "line 7, column 13: the rule no-fax: the rule does not match its own example 'fax list'" in texts(result)[0]

    def test_an_example_that_does_not_pass(self, places: Places) -> None:
        path = policy(places, OWN.replace("fax list", "deploy now"))
        result = check.rules(places)
        assert result.exit_code == 1
        said = f"{path}, line 1: no-fax should let 'deploy now' pass, but the verdict is hold (rule.demo.deploy)"
        assert result.data["problems"] == [said]

    def test_a_name_that_is_taken(self, places: Places) -> None:
        policy(places, OWN.replace("no-fax", "demo.wipe"))
        result = check.rules(places)
        assert "choose another id" in result.data["problems"][0]
        assert not any(line.kind == "ok" for line in result.lines)

    def test_a_name_under_rules_off_that_nothing_has(self, places: Places) -> None:
        settings(places, rulesOff=["demo.deplo", "demo.notice", "lore", "user"])
        policy(places, OWN)
        for result in (ask(places, "ls"), check.rules(places)):
            warned = [line.text for line in result.lines if line.kind == "warn" and "rulesOff" in line.text]
            assert warned == ["rulesOff names demo.deplo: there is no such rule or pack; did you mean demo.deploy?"]

    def test_a_notice(self, places: Places) -> None:
        policy(places, OWN.replace("= 3", "= 0"))
        assert "no-fax does not hold exec calls on its own" in texts(check.rules(places))[0]

    def test_a_bad_grant(self, places: Places) -> None:
        policy(places, "[[grant]]\nid = 3\n")
        result = check.rules(places)
        assert result.exit_code == 1
        assert "line 2" in texts(result)[0]

    def test_no_toml(self, places: Places) -> None:
        policy(places, "x = \n")
        assert "it is not valid TOML" in texts(ask(places, "ls"))[0]


@pytest.mark.usefixtures("book")
def test_list(places: Places) -> None:
    settings(places, rulesOff=["lore", "demo.notice", "demo.none", "user"])
    policy(places, OWN)
    result = check.listing(places)
    states = {rule["id"]: rule["on"] for pack in result.data["packs"] for rule in pack["rules"]}
    assert states == {
        "demo.deploy": True, "demo.grave": True, "demo.wipe": True, "demo.notice": False, "lore.secrets": False,
        "user.no-fax": True,
    }  # fmt: skip
    shown = texts(result)
    assert shown[0].split() == list(check.HEAD)
    assert any(text.split()[:2] == ["lore", "off"] for text in shown)
    assert any(text.split()[:3] == ["demo.wipe", "on", "blocks"] for text in shown)
    assert shown[-2].startswith("rulesOff names demo.none: there is no such rule or pack; did you mean demo.")
    assert shown[-1].startswith("6 rules in 3 packs, 2 switched off; calls are held at 36")


@pytest.fixture
def stream(places: Places, book: None, tmp_path: Path) -> Any:
    """Answers to lines, in this process."""
    judged = offline_guard.load(places)

    def answers(*lines: bytes, end: bytes = b"\n") -> list[dict[str, Any]]:
        (tmp_path / "in").write_bytes(b"\n".join(lines) + end)
        with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as sink:
            assert check_stream.run(judged, source.fileno(), sink.fileno()) == 0
        return [json.loads(line) for line in (tmp_path / "out").read_bytes().splitlines()]

    return answers


def line(command: str, **more: Any) -> bytes:
    return json.dumps({"tool": "exec", "params": {"command": command}, **more}).encode()


def test_stream(stream: Any) -> None:
    held = stream(line("deploy x", id=7))[0]
    assert held == {
        "verdict": "hold", "code": "rule.demo.deploy", "clarity": 6, "stakes": 8, "score": 48, "effects": [],
        "rules": ["demo.deploy"], "reason": "It publishes the site. (deploy x)", "id": 7,
    }  # fmt: skip
    assert list(held) == ["verdict", "code", "clarity", "stakes", "score", "effects", "rules", "reason", "id"]
    verdicts = [answer["verdict"] for answer in stream(line("ls"), b"", b"  ", line("wipe"), line("say hi"), end=b"")]
    assert verdicts == ["allow", "block", "allow"]


@pytest.mark.parametrize(
    "bad",
    [b"no", b"[1]", b"3", b'{"tool": 5}', b'{"params": {}}', b"\xff", b'{"tool": "x"', b"[" * 9_999, b'{"tool":"\\ud800"}'],
    ids=lambda text: text[:12].decode("latin-1"),
)  # fmt: skip
def test_a_line_that_cannot_be_read(stream: Any, bad: bytes) -> None:
    first, second = stream(bad, line("ls"))
    assert (first["verdict"], first["code"], second["verdict"]) == ("hold", "check.bad-input", "allow")
    assert first["reason"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"tool": "exec", "command": "wipe"}, "params must be an object"),
        ({"tool": "exec", "params": "wipe"}, "params must be an object"),
        ({"tool": "exec", "params": ["wipe"]}, "params must be an object"),
        ({"tool": "exec", "arguments": {"command": "wipe"}}, "params must be an object"),
        ({"tool": "exec"}, "params must be an object"),
        ({"tool": "read"}, "params must be an object"),
        ({"tool": "exec", "params": {"cmd": "wipe"}}, "command is missing"),
        ({"tool": "openclaw:core:Exec", "params": {"cmd": "wipe"}}, "command is missing"),
        ({"tool": "exec", "params": {"command": None}}, "command is missing"),
        ({"tool": "exec", "params": {"command": {"a": 1}}}, "command must be a string"),
        ({"tool": "", "params": {"command": "wipe"}}, "the tool is not named"),
        ({"tool": "tool_call", "params": {"args": {"command": "wipe"}}}, "tool_call needs the id of a tool"),
        ({"tool": "tool_call", "params": {"id": "exec", "args": "wipe"}}, "args must be an object"),
        ({"tool": "tool_call", "params": {"id": "exec"}}, "command is missing"),
        ({"tool": "tool_call", "params": {"id": ""}}, "the tool is not named"),
    ],
    ids=lambda value: value if isinstance(value, str) else json.dumps(value)[:50],
)
def test_what_lacks_something_is_not_allowed(stream: Any, asked: dict[str, Any], said: str) -> None:
    first, found = stream(line("ls"), b"", json.dumps({**asked, "id": 7}).encode())[0:2]
    assert first["verdict"] == "allow"
    assert (found["verdict"], found["code"], found["id"]) == ("hold", "check.bad-input", 7)
    assert found["reason"].startswith(f"line 3: {said}")


def test_an_unreadable_line_keeps_its_id(stream: Any) -> None:
    assert stream(b'{"id": "a", "tool": null}')[0]["id"] == "a"


def test_a_line_that_is_too_long(stream: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_stream, "MAX_LINE", 1_000)
    first, second = stream(line("x" * 2_000), line("ls"))
    assert (first["code"], second["verdict"]) == ("check.bad-input", "allow")
    assert "1000 bytes" in first["reason"]


@pytest.mark.parametrize("params", [None, [], "x", 5, {"command": None}, {"command": ["rm", "x"]}, {"command": "a\0b"}])
def test_any_params(stream: Any, params: Any) -> None:
    (found,) = stream(json.dumps({"tool": "exec", "params": params}).encode())
    assert found["verdict"] in ("allow", "hold", "block")


def test_a_bug_is_a_held_line(stream: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def bug(self: Any, call: Call) -> None:
        raise KeyError(call.tool)

    monkeypatch.setattr(offline_guard.Judging, "weigh", bug)
    (found,) = stream(line("ls", id=1))
    assert (found["verdict"], found["code"], found["id"]) == ("hold", "check.error", 1)
    assert "KeyError" in capfd.readouterr().err


@pytest.mark.parametrize("words", [["check", "--stdin"], ["check", "--stdin", "--tool", "exec"]], ids=["quick", "parsed"])
def test_each_line_is_answered_before_the_next_comes(words: list[str], tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path)}
    with subprocess.Popen(
        [SCRIPT, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        for command, verdict in (("ls", "allow"), ("rm -rf /", "block"), ("ls", "allow")):
            process.stdin.write(line(command) + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["verdict"] == verdict
        process.stdin.write(line("ls"))
        process.stdin.close()
        assert json.loads(process.stdout.readline())["verdict"] == "allow"
        assert process.wait(LIMIT) == 0
        assert process.stderr.read() == b""
    assert list(tmp_path.iterdir()) == []


def test_nobody_reads_the_answers(tmp_path: Path) -> None:
    lines = b"\n".join([line("ls")] * 20_000)
    with subprocess.Popen(
        [SCRIPT, "check", "--stdin"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "HOME": str(tmp_path)},
    ) as process:  # fmt: skip
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        try:
            process.stdin.write(lines)
            process.stdin.close()
        except BrokenPipeError:
            pass
        assert process.wait(LIMIT) == 0
        assert process.stderr.read() == b""


@each_row(
    "arguments",
    [["check"], ["check", "--stdin", "--yes"], ["check", "--stdin", "ls"], ["check", "--stdin", "--tool", "x"], ["status"]],
    ids=" ".join,
)
def test_what_the_parser_has_to_look_at(arguments: list[str]) -> None:
    assert fast_path.run(arguments) is None


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["check", "ls"], 0),
        (["check", "rm -rf ~/important"], 4),
        (["check", "rm -rf /"], 5),
        (["check", "rm", "-rf", "/"], 5),
        (["check", "--params", '{"cmd": "ls"}'], 2),
        (["check", "--params", '{"command": "ls"}'], 0),
        (["check", "--params", '{"command": "ls"}', "wipe"], 2),
        (["check"], 2),
        (["check", "--params", "{"], 2),
        (["check", "--stdin", "ls"], 2),
        (["check", "--rules", "--list"], 2),
        (["check", "--list"], 0),
        (["check", "--rules"], 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_exit_codes(places: Places, words: list[str], code: int) -> None:
    before = picture(places.state_dir)
    done = toolguard(*words, "--state-dir", places.state_dir)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert picture(places.state_dir) == before


@pytest.mark.parametrize("command", ["rm -rf ~/a ~/b && dropdb shop", "git push --force origin main", "cat ~/.ssh/id_rsa"])
def test_a_call_is_told_as_where_it_waits(places: Places, command: str) -> None:
    call = Call("exec", {"command": command})
    entry = offline_guard.load(places).as_held(call)
    assert entry is not None
    told = texts(check.run(places, call))
    for danger in held_view.view(entry).dangers:
        assert any(text.endswith(f"  {danger.text}") for text in told), danger
    assert not any("forced" in text or "recursive)" in text for text in told)


def test_an_agent_may_ask(places: Places) -> None:
    done = toolguard("check", "--json", "rm -rf ~/important", "--state-dir", places.state_dir, OPENCLAW_SHELL="exec")
    assert done.returncode == 4
    data = envelope(done)["data"]
    assert data["verdict"] == "hold"
    assert data["effects"] == ["delete ~/important (forced, personal-file, recursive)"]


def test_a_broken_policy_stops_the_stream(places: Places) -> None:
    path = policy(places, "[[rule]]\nid = 3\n")
    done = toolguard("check", "--stdin", "--state-dir", places.state_dir)
    assert done.returncode == 1
    assert f"{path}, line 2, column 6" in done.stderr


def test_nothing_heavy_is_imported_for_the_stream(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from toolguard_cli.policy import check_stream, offline_guard\n"
        "print([name for name in ('typer', 'rich', 'tomlkit', 'json5', 'sqlite3', 'jsonschema') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LIMIT)
    assert done.stdout.strip() == "[]"


def test_files_that_the_config_includes_are_guarded(tmp_path: Path) -> None:
    """The guard's own settings may lie in any of them."""
    places = Places(tmp_path / "state", tmp_path / "state" / "openclaw.json")
    (tmp_path / "state" / "sub").mkdir(parents=True)
    places.config.write_text("{ plugins: { entries: { $include: './sub/entries.json5' } } }")
    for command in (
        f"sed -i s/enforce/disabled/ {tmp_path}/state/sub/entries.json5",
        f"rm {tmp_path}/state/sub/entries.json5",
    ):
        done = toolguard("check", command, "--state-dir", places.state_dir, "--json")
        assert envelope(done)["data"]["code"] == "rule.self-protection"


@pytest.mark.parametrize(("evidence", "code"), [("works", harm_in_room.CODE), ("unknown", "rule.self-protection")])
def test_what_a_room_keeps_from_a_command_is_said(places: Places, monkeypatch: Any, evidence: str, code: str) -> None:
    monkeypatch.setattr(Path, "home", lambda: places.state_dir.parent)
    monkeypatch.setenv("OPENCLAW_HOME", str(places.state_dir.parent))
    places.config.write_text("{}")
    running = engines.EngineInfo(
        os.getpid(), 7, "", "", "0", "0", 1.0, "enforce", "", contained=True, seams={"commandShell": evidence}
    )
    monkeypatch.setattr(engines, "running", lambda _: [running])
    (places.state_dir / "toolguard").mkdir()
    result = ask(places, f"cat {places.state_dir}/toolguard/key", cwd=str(places.state_dir / "workspace"))
    assert (result.data["verdict"], result.data["code"]) == ("allow" if evidence == "works" else "block", code)
    assert ("It runs in its room, where nothing comes of this" in "".join(texts(result))) == (evidence == "works")
    backup = Call("exec", {"command": f"rsync -a {places.state_dir.parent}/ /b"})
    assert offline_guard.load(places).weigh_bare(backup).code == "rule.self-protection.possible"
