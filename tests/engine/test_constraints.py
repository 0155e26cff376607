"""Rules about the circumstances of a call: what each condition means, what is not known, and what a severity decides."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import each_row
from toolguard_engine.config.settings import Config, parse
from toolguard_engine.effects.calls import call_paths
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts import place_globs
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.guard import Guard
from toolguard_engine.layers import constraints, rubric
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model import clock_hours
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import call_facts, packs, path_globs
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.rules.rule_form import rule_from
from toolguard_engine.rules.rulebook import Rule, Rulebook
from toolguard_engine.server.session import Session
from toolguard_engine.server.session_state import Setup
from toolguard_engine.wire import messages

HOST = Host("/home/ada", "/home/ada/.openclaw")
WORK = "/home/ada/work"
NO_RULES = Rulebook(())


def constraint(severity: str = "mandatory", name: str = "c", **said: Any) -> Rule:
    return rule_from(
        {"id": f"constraint.{name}", "severity": severity, "reason": f"Because of {name}.", **said}, "constraint"
    )


def judged(call: Call, *known: Rule, book: Rulebook = NO_RULES) -> Judgement:
    given = LayerInput(CallReading(call, HOST), book.plus(known))
    found = rubric.weighed(given.reading, given.config, given.rules)
    return constraints.judge(given, found) or found


def run(command: str, **more: Any) -> Call:
    return Call("exec", {"command": command}, **{"cwd": WORK, **more})


def speaks(call: Call, **said: Any) -> bool:
    return judged(call, constraint(**said)).code == "constraint.c"


def at(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


class TestVerdict:
    def test_each_severity(self) -> None:
        call = run("ls")
        assert judged(call, constraint("mandatory", tool=["exec"])) == Judgement(
            "block", "constraint.c", 4, 5, reason="Because of c."
        )
        assert judged(call, constraint("required", tool=["exec"])).verdict.decision == "hold"
        noted = judged(call, constraint("advisory", tool=["exec"]))
        assert (noted.decision, noted.code) == ("allow", "allow")
        assert noted.note == "[TOOLGUARD NOTE] Because of c. (rule c)"

    def test_none_speaks(self) -> None:
        call = run("ls")
        given = LayerInput(CallReading(call, HOST), Rulebook((constraint(tool=["write"]),)))
        assert constraints.judge(given, rubric.weighed(given.reading, given.config, given.rules)) is None

    def test_the_gravest_counts_and_notes_stay(self) -> None:
        known = (
            constraint("advisory", "a", tool=["*"]),
            constraint("required", "b", tool=["*"]),
            constraint("mandatory", "c", tool=["*"]),
            constraint("mandatory", "d", tool=["*"]),
            constraint("advisory", "e", tool=["*"]),
        )
        found = judged(run("ls"), *known)
        assert (found.decision, found.code) == ("block", "constraint.c")
        assert [line[-8:] for line in found.note.splitlines()] == ["(rule a)", "(rule e)"]

    def test_a_block_stays(self) -> None:
        book = Rulebook((Rule("x.wipe", "Never.", run=("wipe",), verdict="block"),))
        for severity in ("mandatory", "required"):
            assert judged(run("wipe"), constraint(severity, tool=["exec"]), book=book).code == "rule.x.wipe"

    def test_a_hold_becomes_a_block_or_says_both(self) -> None:
        book = Rulebook((Rule("x.deploy", "It publishes.", run=("deploy",), clarity=4, stakes=4),))
        assert judged(run("deploy"), book=book).decision == "hold"
        assert judged(run("deploy"), constraint("mandatory", tool=["exec"]), book=book).decision == "block"
        held = judged(run("deploy"), constraint("required", tool=["exec"]), book=book)
        assert (held.decision, held.code) == ("hold", "constraint.c")
        assert held.reason == "Because of c. It publishes. (deploy)"
        assert held.matches

    def test_notes_are_bounded(self) -> None:
        known = tuple(constraint("advisory", f"n{at}", tool=["*"]) for at in range(40))
        assert len(judged(run("ls"), *known).note.splitlines()) == constraints.MAX_NOTES


class TestInTheGuard:
    def guard(self, *known: Rule, **config: Any) -> Guard:
        return Guard(parse(config), {}, HOST, Rulebook(known))

    def test_blocks_and_names_itself(self) -> None:
        verdict = self.guard(constraint(tool=["exec"])).judge(run("ls"))
        assert (verdict.decision, verdict.code) == ("block", "constraint.c")
        assert "Because of c." in verdict.text

    def test_shadow_only_tells(self) -> None:
        verdict = self.guard(constraint(tool=["exec"]), mode="shadow").judge(run("ls"))
        assert (verdict.decision, verdict.code) == ("allow", "shadow.constraint.c")

    def test_soft_changes_nothing_about_what_a_person_wrote(self) -> None:
        assert self.guard(constraint("required", tool=["exec"]), mode="soft").judge(run("ls")).decision == "hold"

    def test_not_asked_about_exempt_tools_and_envelopes(self) -> None:
        guard = self.guard(constraint(tool=["*"]), neverBlock=["read"])
        assert guard.judge(Call("read", {"path": "x"})).code == "allow.exempt"
        assert guard.judge(Call("tool_call", {"id": "openclaw:core:exec", "args": {}})).code == "allow.tool-search"

    def test_what_came_by_tool_search(self) -> None:
        assert self.guard(constraint(tool=["exec"])).judge(Call("openclaw:core:EXEC", {"command": "ls"})).decision == "block"

    def test_other_rules_from_here_on(self) -> None:
        guard = self.guard(constraint(tool=["exec"]))
        assert guard.judge(run("ls")).decision == "block"
        guard.use(Rulebook((constraint(tool=["write"]),)))
        assert guard.judge(run("ls")).decision == "allow"


class TestInTheSession:
    def answer(self, mode: str, *known: Rule, **more: Any) -> Any:
        talk = Session(Setup({}, lambda: datetime(2026, 11, 23, 12, tzinfo=UTC), 42))
        talk.answer(messages.Hello(0, messages.VERSION, "/state", {"mode": mode}, gateway="gw"))
        talk.use_rules(known)
        return talk.answer(messages.Judge(5, "exec", {"command": "ls"}, agent="main", run="r", **more))

    def test_a_note_goes_along(self) -> None:
        answer = self.answer("enforce", constraint("advisory", tool=["exec"]))
        assert (answer.decision, answer.note) == ("allow", "[TOOLGUARD NOTE] Because of c. (rule c)")

    def test_in_shadow_mode_the_model_sees_nothing(self) -> None:
        for severity in ("advisory", "required"):
            answer = self.answer(
                "shadow",
                constraint(severity, tool=["exec"]),
            )
            assert (answer.decision, answer.note) == ("allow", "")

    def test_who_asked_and_when_is_known(self) -> None:
        said = {"channel": ["telegram"], "requester": ["telegram:5"], "hours": "11:00-13:00", "timezone": "UTC"}
        from_telegram = {"channel": "telegram", "requester": "5"}
        assert self.answer("enforce", constraint(**said), **from_telegram).code == "constraint.c"
        assert self.answer("enforce", constraint(**said), **from_telegram | {"requester": "6"}).code == "allow"
        assert self.answer("enforce", constraint(**said | {"hours": "13:00-14:00"}), **from_telegram).code == "allow"


@each_row(
    ("patterns", "tool", "fits"),
    [
        (["exec"], "EXEC", True),
        (["Exec"], "exec", True),
        (["exec"], "bash", True),
        (["exec"], "openclaw:core:exec", True),
        (["exec"], "exec2", False),
        (["mcp_*"], "mcp_delete", True),
        (["*_delete"], "mcp_Delete", True),
        (["?rite"], "write", True),
        (["größe*"], "GRÖSSE", False),
        (["über*"], "ÜBERWEISEN", True),
        (["write"], "", False),
    ],
)
def test_tool(patterns: list[str], tool: str, *, fits: bool) -> None:
    assert speaks(Call(tool, {"command": "ls"}), tool=patterns) is fits


class TestWho:
    @each_row(
        ("said", "call", "fits"),
        [
            ({"agent": ["main"]}, {"agent": "main"}, True),
            ({"agent": ["main"]}, {"agent": "mainly"}, False),
            ({"agent": ["!main"]}, {"agent": "main"}, False),
            ({"agent": ["!main"]}, {"agent": "other"}, True),
            ({"agent": ["r*", "!r2"]}, {"agent": "r2"}, False),
            ({"agent": ["r*", "!r2"]}, {"agent": "r3"}, True),
            ({"channel": ["telegram"]}, {"channel": "Telegram"}, True),
            ({"channel": ["discord"]}, {"channel": "discord:guild-1"}, True),
            ({"channel": ["discord:*"]}, {"channel": "discord:guild-1"}, True),
            ({"channel": ["telegram"]}, {"channel": "slack"}, False),
            ({"requester": ["!owner"]}, {"requester": "owner"}, False),
            ({"requester": ["!owner"]}, {"requester": "owner", "channel": "telegram"}, False),
            ({"requester": ["!owner"]}, {"requester": "42"}, True),
            ({"requester": ["telegram:42"]}, {"requester": "42", "channel": "telegram"}, True),
            ({"requester": ["telegram:42"]}, {"requester": "42", "channel": "slack"}, False),
            ({"requester": ["!owner", "telegram:42"]}, {"requester": "owner"}, False),
            ({"requester": ["!owner", "!telegram:42"]}, {"requester": "42", "channel": "telegram"}, False),
        ],
    )
    def test_known(self, said: dict[str, Any], call: dict[str, Any], *, fits: bool) -> None:
        assert speaks(run("ls", **call), **said) is fits

    @each_row(
        "said",
        [
            {"agent": ["main"]},
            {"channel": ["telegram"]},
            {"requester": ["telegram:1"]},
            {"requester": ["!owner"]},
            {"hours": "22:00-06:00"},
            {"days": ["mon"]},
        ],
    )
    def test_what_is_not_known_fits_where_it_restricts(self, said: dict[str, Any]) -> None:
        assert judged(run("ls"), constraint("mandatory", **said)).decision == "block"
        assert judged(run("ls"), constraint("required", **said)).decision == "hold"
        assert judged(run("ls"), constraint("advisory", **said)).note == ""

    def test_many_names_are_not_remembered_forever(self) -> None:
        known = (constraint(agent=["none"]),)
        book = constraints.Book(known, "/home/ada")
        for number in range(3_000):
            book.about(run("ls", agent=f"a{number}"), "exec")
        assert len(book._known) <= 1_000


class TestWhen:
    @each_row(
        ("said", "moment", "fits"),
        [
            ({"hours": "22:00-06:00"}, "2026-11-23T22:00", True),
            ({"hours": "22:00-06:00"}, "2026-11-23T05:59", True),
            ({"hours": "22:00-06:00"}, "2026-11-23T06:00", False),
            ({"hours": "22:00-06:00"}, "2026-11-23T21:59", False),
            ({"hours": "08:00-17:00"}, "2026-11-23T08:00", True),
            ({"hours": "08:00-17:00"}, "2026-11-23T17:00", False),
            ({"hours": "20:00-24:00"}, "2026-11-23T23:59", True),
            ({"days": ["mon"]}, "2026-11-23T12:00", True),
            ({"days": ["tue"]}, "2026-11-23T12:00", False),
            ({"hours": "22:00-06:00", "days": ["fri"]}, "2026-11-28T02:00", True),  # the night that began on Friday
            ({"hours": "22:00-06:00", "days": ["fri"]}, "2026-11-27T02:00", False),
            ({"hours": "22:00-06:00", "days": ["fri"]}, "2026-11-27T23:00", True),
            ({"hours": "22:00-06:00", "days": ["sun"]}, "2026-11-23T02:00", True),
        ],
    )
    def test_span(self, said: dict[str, Any], moment: str, *, fits: bool) -> None:
        assert speaks(run("ls", at=at(moment)), timezone="UTC", **said) is fits

    def test_summer_time(self) -> None:
        said = {"hours": "08:00-17:00", "timezone": "Europe/Vienna"}
        assert speaks(run("ls", at=datetime(2026, 7, 1, 6, 30, tzinfo=UTC).timestamp()), **said)
        assert not speaks(run("ls", at=datetime(2026, 12, 1, 6, 30, tzinfo=UTC).timestamp()), **said)

    def test_the_hour_that_comes_twice(self) -> None:
        said = {"hours": "02:00-03:00", "timezone": "Europe/Vienna"}
        for hour in (0, 1):  # 02:30 in summer time, then 02:30 again
            assert speaks(run("ls", at=datetime(2026, 10, 25, hour, 30, tzinfo=UTC).timestamp()), **said)

    @each_row("moment", [0.0, -5.0, float("nan"), float("inf"), 1e300])
    def test_no_time(self, moment: float) -> None:
        assert speaks(run("ls", at=moment), hours="01:00-02:00")

    @given(st.integers(0, 23), st.integers(0, 23), st.integers(0, 24 * 60 - 1))
    def test_a_span_and_its_rest_are_the_day(self, start: int, end: int, minute: int) -> None:
        now = datetime(2026, 11, 23, minute // 60, minute % 60, tzinfo=UTC)
        if start == end:
            assert clock_hours.span_of(f"{start:02}:00-{end:02}:00") is None
            return
        one, other = (clock_hours.span_of(f"{a:02}:00-{b:02}:00") for a, b in ((start, end), (end, start)))
        assert clock_hours.within(now, one, frozenset()) is not clock_hours.within(now, other, frozenset())


class TestParams:
    @each_row(
        ("wanted", "params", "fits"),
        [
            ({"command": "prod"}, {"command": "ls /prod"}, True),
            ({"command": "^prod$"}, {"command": ["ls", "prod"]}, True),
            ({"command": "ls prod"}, {"command": ["ls", "prod"]}, True),
            ({"job.command": "prod"}, {"job": {"command": "prod"}}, True),
            ({"job": {"command": "prod"}}, {"job": {"command": "prod"}}, True),
            ({"job.command": "prod"}, {"job.command": "prod"}, True),
            ({"edits.path": "prod"}, {"edits": [{"path": "test"}, {"path": "prod"}]}, True),
            ({"edits.1.path": "prod"}, {"edits": [{"path": "prod"}, {"path": "test"}]}, False),
            ({"job": "prod"}, {"job": {"a": [{"b": "prod"}]}}, True),
            ({"count": "^3$"}, {"count": 3}, True),
            ({"all": "true"}, {"all": True}, True),
            ({"all": "true"}, {"all": None}, False),
            ({"other": ""}, {}, False),
            ({"*": "prod"}, {"x": {"y": "prod"}}, True),
            ({"a": "1", "b": "2"}, {"a": "1"}, False),
            ({"a": "1", "b": "2"}, {"a": "1", "b": "2"}, True),
        ],
    )
    def test_texts(self, wanted: dict[str, Any], params: Any, *, fits: bool) -> None:
        if "" in wanted.values():
            wanted = {"other": "x?"}
        assert speaks(Call("some_tool", params), params=wanted) is fits

    @each_row("command", ["p'r'od now", 'sudo sh -c "prod now"', "x=pr; ${x}od now", "cd /; prod   now"])
    def test_a_command_also_as_its_programs_get_it(self, command: str) -> None:
        assert speaks(run(command), params={"command": "^prod now"})

    def test_far_inside_a_long_text(self) -> None:
        text = "x" * 100_000 + " prod " + "x" * 100_000
        assert speaks(Call("t", {"text": text}), params={"text": r"\bprod\b"})
        assert not speaks(Call("t", {"text": text}), params={"text": r"\bprof\b"})

    def test_more_than_can_be_searched(self) -> None:
        call = Call("t", {"text": "x" * (call_facts.MAX_SEARCHED + 1)})
        assert judged(call, constraint("required", params={"text": "prod"})).decision == "hold"
        assert judged(call, constraint("advisory", params={"text": "prod"})).note == ""
        many = Call("t", {"text": ["x"] * (call_paths.MAX_VALUES + 1)})
        assert speaks(many, params={"text": "prod"})

    def test_more_than_may_be_spent_on_one_call(self) -> None:
        hostile = Call("note", {"text": "foo " * 10_000})
        costly = [constraint("required", f"c{number}", params={"*": "foo.{0,200}bar"}) for number in range(20)]
        assert judged(hostile, *costly).decision == "hold"
        assert judged(hostile, *costly[:1]).decision == "allow"
        assert judged(Call("note", {"text": "foo " * 20}), *costly).decision == "allow"

    def test_what_is_cheap_is_found_beside_what_is_too_costly(self) -> None:
        call = Call("note", {"text": "foo " * 10_000 + "prod"})
        costly = constraint("advisory", "a", params={"*": "foo.{0,999}bar"})
        assert judged(call, costly, constraint("mandatory", "b", params={"*": "prod"})).code == "constraint.b"

    @pytest.mark.parametrize("pattern", ["a*a*c", "(a|b)*c", "(a+)+$"])
    def test_repeats_in_repeats_take_no_longer(self, pattern: str) -> None:
        assert not speaks(Call("t", {"x": "ab" * 50_000 + "!"}), params={"x": pattern})

    def test_params_that_are_none(self) -> None:
        for params in (None, [], "x", 3):
            assert not speaks(Call("t", params), params={"x": "x"}, path=["/srv/**"])

    def test_deep_ones_are_bounded(self) -> None:
        value: Any = "prod"
        for _ in range(900):
            value = [value]
        assert speaks(Call("t", {"x": value}), params={"x": "^prod$"})


class TestPaths:
    @each_row(
        ("pattern", "command"),
        [
            ("~/prod/**", "cat ~/prod/app.conf"),
            ("~/prod/**", "cat $HOME/prod/app.conf"),
            ("~/prod/**", "cat /home/ada/work/../prod/x"),
            ("~/prod/**", "cat ../prod/x"),
            ("~/prod/**", "cat ../PROD/x"),
            ("~/prod/**", "cd ~/prod && ls"),
            ("~/prod/**", "cd .. ; cd prod ; make"),
            ("~/prod/**", "cat '../pr'od/x"),
            ("~/prod/**", "cat ~/pr*/x"),
            ("~/prod/**", "rm -rf ~/*"),
            ("~/prod/**", "rm -rf ~"),
            ("~/prod/**", "mv ~ /tmp/x"),
            ("~/prod/**", "ls ~/prod/.git"),
            ("~/prod/**", "tar czf x.tgz --directory=/home/ada/prod ."),
            ("~/prod/**", "make -C/home/ada/prod"),
            ("~/prod/**", "dd if=/home/ada/prod/x of=/tmp/y"),
            ("~/prod/**", "docker run -v /home/ada/prod:/data alpine"),
            ("~/prod/**", "echo x > ~/prod/x"),
            ("~/prod/**", "sh -c 'cat ~/prod/x'"),
            ("~/prod/**", "~/prod/run.sh"),
            ("~/prod/", "cat ~/prod/a/b"),
            ("/srv/*", "cat /srv/x"),
            ("*.pem", "cat keys/a.pem"),
            ("*.pem", "cat a.PEM"),
            ("secrets/**", "cat /opt/secrets/a"),
            ("**/production/**", "ls /srv/production"),
            ("/srv/**/conf/*.ini", "cat /srv/a/b/conf/x.ini"),
            ("/srv/**/conf/*.ini", "cat /srv/conf/x.ini"),
        ],
    )
    def test_reached_by_a_command(self, pattern: str, command: str) -> None:
        assert speaks(run(command), path=[pattern])

    @each_row(
        ("pattern", "command"),
        [
            ("~/prod/**", "cat ~/product/x"),
            ("~/prod/**", "cat prod"),
            ("~/prod/**", "cat ~/prod/../x"),
            ("~/prod/**", "ls ~"),
            ("~/prod/**", "rm -rf ~/work/*"),
            ("~/prod/**", "echo ~/prod is down"),
            ("~/prod/**", "cat $X/prod/x"),
            ("/srv/*", "cat /srv/x/y"),
            ("/srv/x", "cat /srv/x/y"),
            ("*.pem", "ls *"),
            ("*.pem", "cat a.pem.txt"),
            ("/srv/**/conf/*.ini", "cat /srv/a/conf/b/x.ini"),
            ("~/prod/**", "curl https://example.org/home/ada/prod/x"),
        ],
    )
    def test_not_reached(self, pattern: str, command: str) -> None:
        assert not speaks(run(command), path=[pattern])

    @each_row(
        ("tool", "params"),
        [
            ("read", {"path": "../prod/x"}),
            ("write", {"file_path": "~/prod/x", "content": ""}),
            ("edit", {"edits": [{"path": "/home/ada/prod/x"}]}),
            ("apply_patch", {"input": "*** Begin Patch\n*** Update File: ok.txt\n*** Move to: ../prod/x\n*** End Patch"}),
            ("mcp_files_move", {"args": {"source": "a/b.txt", "destination": "/home/ada/prod/b.txt"}}),
            ("read", {"path": "file:///home/ada/prod/x"}),
            ("process", {"action": "submit", "data": "cat ~/prod/x\n"}),
        ],
    )
    def test_other_tools(self, tool: str, params: dict[str, Any]) -> None:
        assert speaks(Call(tool, params, cwd=WORK), path=["~/prod/**"])
        assert not speaks(Call(tool, params, cwd=WORK), path=["~/prud/**"])

    def test_the_folder_of_the_call(self) -> None:
        assert speaks(run("make", cwd="/home/ada/prod"), path=["~/prod/**"])
        assert speaks(Call("exec", {"command": "make", "workdir": "../prod"}, cwd=WORK), path=["~/prod/**"])
        assert not speaks(run("echo x", cwd="/home/ada/prod"), path=["~/prod/**"])

    def test_composed_and_decomposed_letters(self) -> None:
        assert speaks(run("cat ~/cafe\u0301/x"), path=["~/caf\u00e9/**"])

    def test_exceptions(self) -> None:
        said = {"path": ["/srv/**"], "not_path": ["/srv/tmp/**"]}
        assert speaks(run("cat /srv/x"), **said)
        assert not speaks(run("cat /srv/tmp/x"), **said)
        assert not speaks(run("rm -r /srv/tmp/*"), **said)
        assert speaks(run("cat /srv/tmp/../x"), **said)
        assert speaks(run("cat /srv/tmp/$X"), **said)  # it may be `../x`
        assert speaks(run("cat /srv/TMP/x"), **said)  # another folder, on most disks
        assert speaks(run("cp /srv/tmp/x /srv/x"), **said)

    def test_anything_but(self) -> None:
        said = {"effect": ["write", "delete"], "not_path": ["~/work/**"]}
        assert not speaks(run("rm x; cat /etc/hosts"), **said)
        assert speaks(run("rm /opt/x"), **said)
        assert speaks(run("rm $X"), **said)  # of which nothing is known
        assert not speaks(run("cat $X"), **said)
        assert not speaks(Call("web_search", {"query": "x"}), **said)

    def test_the_effect_is_on_that_path(self) -> None:
        said = {"effect": ["delete"], "path": ["~/prod/**"]}
        assert speaks(run("rm ~/prod/x"), **said)
        assert not speaks(run("rm /tmp/x; cat ~/prod/x"), **said)
        assert not speaks(run("cat ~/prod/x"), **said)

    def test_more_than_can_be_looked_at(self) -> None:
        paths = [f"/opt/{'a/' * 50}{number}" for number in range(1_000)]
        call = Call("read_many", {"paths": paths})
        assert judged(call, constraint("required", path=["/srv/**"])).decision == "hold"
        assert judged(call, constraint("advisory", path=["/srv/**"])).note == ""
        assert not speaks(Call("read_many", {"paths": paths[:100]}), path=["/srv/**"])


NAMES = st.text("ab.*", min_size=1, max_size=4).filter(lambda name: "**" not in name and name not in (".", ".."))
PARTS = st.lists(st.one_of(NAMES, st.just("**")), min_size=1, max_size=5)


def slowly(pattern: list[str], parts: list[str]) -> bool:
    """The law as one would write it down, in exponential time."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(slowly(pattern[1:], parts[at:]) for at in range(len(parts) + 1))
    return bool(parts) and slow_name(pattern[0], parts[0]) and slowly(pattern[1:], parts[1:])


def slow_name(pattern: str, name: str) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(slow_name(pattern[1:], name[at:]) for at in range(len(name) + 1))
    return bool(name) and name[0] == pattern[0] and slow_name(pattern[1:], name[1:])


@given(PARTS, st.lists(st.text("ab.", min_size=1, max_size=4).filter(lambda name: name not in (".", "..")), max_size=6))
def test_globs_are_what_they_say(pattern: list[str], parts: list[str]) -> None:
    glob = path_globs.PathGlob("/" + "/".join(pattern), "/home/ada")
    path = path_globs.Path("/" + "/".join(parts))
    assert glob.fits(path) is slowly(pattern, parts)
    assert glob.inside(path) is slowly(pattern, parts)
    anywhere = path_globs.PathGlob("/".join(pattern), "/home/ada")
    assert anywhere.fits(path) is slowly(["**", *pattern], parts)
    assert not anywhere.fits(path) or anywhere.needle in path.low


def test_a_path_without_a_known_beginning() -> None:
    assert path_globs.whole("\0/x", Where("/home/ada", WORK)) == ""
    assert path_globs.whole("x" * 10_000, Where("/home/ada", WORK)) == f"{WORK}/{'x' * path_globs.MAX_PATH}"


@pytest.mark.parametrize("pattern", ["a*" * 20 + "b", "*" + "?" * 60 + "c"])
def test_no_glob_takes_long(pattern: str) -> None:
    assert not place_globs.name_test(pattern)("a" * 4_000)


@given(
    st.text(max_size=60),
    st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=20)), st.lists, max_leaves=20),
)
def test_never_raises(command: str, value: Any) -> None:
    known = (
        constraint("advisory", path=["~/prod/**", "*.pem"], params={"*": "prod"}),
        constraint("required", name="d", path=["x"]),
    )
    for call in (run(command), Call(command, {"path": value, "command": value}), Call("write", {"path": command})):
        judged(call, *known)


def scored(**said: Any) -> Rule:
    return rule_from({"id": "user.s", "reason": "It counts.", "clarity": 4, "stakes": 4, **said}, "user")


class TestWithOtherKeys:
    """One language: circumstances beside a score, programs beside a severity."""

    @each_row(
        ("said", "call", "holds"),
        [
            ({"run": ["make"], "agent": ["main"]}, run("make", agent="main"), True),
            ({"run": ["make"], "agent": ["main"]}, run("make", agent="other"), False),
            ({"run": ["make"], "agent": ["main"]}, run("ls", agent="main"), False),
            ({"run": ["make"], "agent": ["main"]}, run("make"), True),  # who it is is not known
            ({"path": ["~/prod/**"]}, run("ls ~/prod"), True),
            ({"path": ["~/prod/**"]}, run("ls ~/test"), False),
            ({"effect": ["delete"], "path": ["~/prod/**"]}, run("rm ~/prod/x"), True),
            ({"effect": ["delete"], "path": ["~/prod/**"]}, run("rm x; ls ~/prod"), False),
            ({"tool": ["exec"]}, run("ls"), True),
            ({"tool": ["mcp_*"]}, Call("mcp_do", {}), False),  # a tool that begins with 1 and 1: 5 x 5
            ({"tool": ["mcp_*"], "clarity": 5, "stakes": 5}, Call("mcp_do", {}), True),
            ({"tool": ["note"], "params": {"a.b": "x"}, "clarity": 5, "stakes": 5}, Call("note", {"a": {"b": "x"}}), True),
            ({"tool": ["note"], "params": {"a.b": "x"}, "clarity": 5, "stakes": 5}, Call("note", {"a": {"b": "y"}}), False),
        ],
    )
    def test_a_score(self, said: dict[str, Any], call: Call, *, holds: bool) -> None:
        found = rubric.weighed(CallReading(call, HOST), Config(), Rulebook((scored(**said),)))
        assert (found.decision == "hold", found.code == "rule.user.s") == (holds, holds)

    @each_row(("stakes", "holds"), [(rubric.SOFT_STAKES - 2, False), (rubric.SOFT_STAKES - 1, True)])
    def test_in_soft_mode_only_high_stakes_are_held(self, stakes: int, *, holds: bool) -> None:
        book = Rulebook((scored(tool=["mcp_*"], clarity=9, stakes=stakes),))  # the tool itself has 1 and 1
        reading = CallReading(Call("mcp_do", {}), HOST)
        assert rubric.weighed(reading, Config(), book).code == "rule.user.s"
        assert (rubric.weighed(reading, parse({"mode": "soft"}), book).code == "rule.user.s") is holds

    def test_a_score_by_day_and_a_block(self) -> None:
        by_night = scored(hours="22:00-06:00", timezone="UTC", clarity=0, stakes=0, verdict="block")
        for moment, code in (("2026-11-23T23:00", "rule.user.s"), ("2026-11-23T12:00", "allow")):
            assert rubric.weighed(CallReading(run("ls", at=at(moment)), HOST), Config(), Rulebook((by_night,))).code == code

    @each_row(
        ("said", "command", "fits"),
        [
            ({"run": ["git push"], "any": ["-f"]}, "git push -f", True),
            ({"run": ["git push"], "any": ["-f"]}, "git push", False),
            ({"run": ["git push"], "none": ["--dry-run"]}, "sudo git push --dry-run", False),
            ({"run": ["git push"], "tool": ["exec"], "agent": ["main"]}, "ls | xargs git push", True),
            ({"effect": ["delete"], "flags": ["recursive"]}, "rm -r x", True),
            ({"effect": ["delete"], "flags": ["recursive"]}, "rm x", False),
            ({"effect": ["delete"], "text": "archive"}, "find ~/archive -delete", True),
            ({"effect": ["delete"], "unless": "archive"}, "rm ~/archive/x", False),
            ({"effect": ["delete"], "unless": "archive"}, "rm ~/archive/x ~/y", True),
            ({"run": ["curl"], "arg": "^http:", "unless": "localhost"}, "curl http://localhost/", False),
            ({"run": ["curl"], "arg": "^http:", "unless": "localhost"}, "curl http://example.com/", True),
        ],
    )
    def test_a_severity(self, said: dict[str, Any], command: str, *, fits: bool) -> None:
        assert speaks(run(command, agent="main"), **said) is fits

    def test_no_rule_of_the_packs_is_looked_up_twice(self) -> None:
        assert packs.load().viewed == ()

    def test_the_two_do_not_disturb_each_other(self) -> None:
        book = Rulebook((scored(agent=["main"], run=["make"]),))
        found = judged(run("make", agent="main"), constraint("required", tool=["exec"]), book=book)
        assert (found.code, found.reason) == ("constraint.c", "Because of c. It counts.")
        assert [match.rule for match in found.matches] == ["user.s"]
