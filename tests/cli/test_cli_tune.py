"""`toolguard tune`: what one always approves, and what would have spared the asking."""

from __future__ import annotations

from typing import Any

import pytest
from cli_stage import envelope, picture, texts, toolguard
from judged_stage import BOOK, Story, answer, exec_, policy, settings, transcript

from toolguard_cli.approvals import narrow_grant
from toolguard_cli.commands import tune
from toolguard_cli.policy import offline_guard, tuning
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result
from toolguard_engine.approvals import exact_grant, grant_matching
from toolguard_engine.model.call import Call
from toolguard_engine.rules import packs

pytestmark = pytest.mark.usefixtures("book")
PUSH = "rule.demo.deploy"


@pytest.fixture
def book(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "load", lambda: BOOK)


def tuned(places: Places, since: str = "30d", at_least: int = 3, **more: Any) -> Result:
    return tune.run(places, since=since, at_least=at_least, replayed=more.get("replayed", []))


def options(result: Result, at: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = result.data["advice"][at]["options"]
    return found


def test_an_empty_log(places: Places) -> None:
    result = tuned(places)
    assert (result.exit_code, result.data["asked"], result.data["advice"]) == (0, 0, [])
    assert texts(result)[0] == "the audit log has no held calls from the last 30d"
    assert list(places.state_dir.iterdir()) == []


def test_too_few(places: Places) -> None:
    story = Story(places)
    story.asked("deploy site", then="approve")
    result = tuned(places)
    assert texts(result)[-1] == "no rule's calls were approved 3 times or more without a denial: nothing to suggest yet"
    assert tuned(places, at_least=1).data["advice"]


def test_what_was_answered(places: Places) -> None:
    story = Story(places)
    for then, after in (("approve", 10), ("approve", 20), ("deny", 90), ("expire", 300), ("native", 40), ("", 0)):
        story.asked("deploy site", then=then, after=after)
    story.asked("say x", "approval.always-block", then="approve", after=5)
    result = tuned(places)
    assert result.data["rules"] == [
        {"rule": PUSH, "asked": 6, "yes": 3, "no": 1, "expired": 1, "waiting": 1, "medianSeconds": 30.0},
        {"rule": "approval.always-block", "asked": 1, "yes": 1, "no": 0, "expired": 0, "waiting": 0, "medianSeconds": 5.0},
    ]
    assert result.data["advice"] == []
    assert texts(result)[1].split() == list(tune.HEAD)
    assert texts(result)[2].split()[:6] == [PUSH, "6", "3", "1", "1", "30s"]


def test_one_call_again_and_again(places: Places) -> None:
    story = Story(places)
    for _ in range(3):
        story.asked("deploy site", then="approve")
    result = tuned(places)
    none = {"audit": 0, "denied": 0, "example": "", "replayed": None}
    assert options(result) == [
        {"grant": "toolguard grant 'deploy site' --tool exec --for 30d --agent main", "spares": 3, "others": none},
        {"escalationThreshold": 49, "spares": 3, "others": none},
    ]
    shown = texts(result)
    assert f"{PUSH}: always approved, 3 times" in shown
    assert "toolguard grant 'deploy site' --tool exec --for 30d --agent main" in shown
    assert "      avoids 3 of 3 prompts; allows nothing else" in shown


def test_a_pattern(places: Places) -> None:
    story = Story(places)
    for name in ("stage-a", "stage-b", "stage-c", "stage-c"):
        story.asked(f"deploy {name} now", then="approve", agent="a" if name == "stage-a" else "b")
    assert options(tuned(places))[0]["grant"] == "toolguard grant 'deploy stage-* now' --tool exec --for 30d"


def test_a_star_for_a_whole_word(places: Places) -> None:
    """Not where it would cover something graver: `deploy *` would let `deploy production` through."""
    story = Story(places)
    for name in ("red", "blue", "green"):
        story.asked(f"deploy {name}", then="approve")
    found = [option["grant"] for option in options(tuned(places)) if "grant" in option]
    assert [grant.partition(" --tool")[0] for grant in found] == [
        "toolguard grant 'deploy red'", "toolguard grant 'deploy blue'", "toolguard grant 'deploy green'",
    ]  # fmt: skip
    for name in ("red", "blue"):
        story.asked(f"fax send {name} now", "rule.user.fax", then="approve")
    policy(places, '[[rule]]\nid = "fax"\nrun = ["fax send"]\nclarity = 2\nstakes = 3\nreason = "r"\n')
    (wide,) = [each for each in tuned(places, at_least=2).data["advice"] if each["rule"] == "rule.user.fax"]
    assert wide["options"][0]["grant"] == "toolguard grant 'fax send * now' --tool exec --for 30d --agent main"


def test_too_different(places: Places) -> None:
    story = Story(places)
    for name in ("a", "b b", "c c c", "d d d d", "e e e e e", "f f f f f f"):
        story.asked(f"deploy {name}", then="approve")
    (advice,) = tuned(places).data["advice"]
    assert advice["why"] == "these calls are too different: it would take 6 grants"
    assert [list(option) for option in advice["options"]] == [["escalationThreshold", "spares", "others"]]


def test_what_was_denied_is_never_covered(places: Places) -> None:
    story = Story(places)
    for name in ("stage-a", "stage-b", "stage-c"):
        story.asked(f"deploy {name}", then="approve")
    story.asked("deploy stage-x", "rule.demo.other", then="deny")
    found = [option["grant"] for option in options(tuned(places)) if "grant" in option]
    assert len(found) == 3
    assert not any("*" in grant for grant in found)


def test_what_else_it_lets_through(places: Places) -> None:
    story = Story(places)
    for name in ("stage-a", "stage-b", "stage-c"):
        story.asked(f"deploy {name}", then="approve")
    story.asked("deploy stage-d", "rule.demo.older", then="expire")
    story.asked("deploy other", "rule.demo.older", then="deny")
    story.asked("deploy prod", "rule.demo.grave", then="deny")
    path = transcript(places, answer(exec_("deploy stage-z"), exec_("deploy x"), exec_("deploy prod"), exec_("wipe")))
    result = tuned(places, replayed=[path])
    by_grant, by_score = options(result)
    assert by_grant["others"] == {
        "audit": 1, "denied": 0, "example": 'exec({ command: "deploy stage-d" })', "replayed": 1,
    }  # fmt: skip
    assert by_score["escalationThreshold"] == 49
    assert by_score["others"] == {
        "audit": 2, "denied": 1, "example": 'exec({ command: "deploy stage-d" })', "replayed": 2,
    }  # fmt: skip
    assert result.data["replayed"] == 4
    shown = " ".join(texts(result))
    assert "would also have allowed 2 other calls, 1 of which you denied" in shown
    assert "2 of 4 replayed calls" in shown


def test_calls_that_were_not_kept_whole(places: Places) -> None:
    story = Story(places)
    for _ in range(3):
        story.asked("", shown='exec({ command: "deploy --token [redacted]" })', then="approve")
    result = tuned(places)
    assert options(result) == []
    assert "no grant fits: the log does not have these calls in full (secrets are removed, long values cut)" in texts(result)


def test_what_no_grant_covers(places: Places) -> None:
    story = Story(places)
    for _ in range(3):
        story.asked("deploy *.tar | tee log", then="approve")
    (advice,) = tuned(places).data["advice"]
    assert advice["why"] == "no pattern can cover these calls: they contain what a * never matches"


def test_a_tool_that_always_asks(places: Places) -> None:
    settings(places, alwaysBlock=["read"])
    story = Story(places)
    for name in ("a", "b", "c"):
        story.asked(
            "",
            "approval.always-block",
            tool="read",
            shown=f'read({{ path: "/srv/docs/{name}.md", limit: 5 }})',
            then="approve",
        )
    assert [next(iter(option.values())) for option in options(tuned(places))] == [
        "toolguard grant '/srv/docs/*' --tool read --for 30d --agent main"
    ]


def test_other_parameters_are_named(places: Places) -> None:
    story = Story(places)
    for _ in range(3):
        story.asked("", shown='exec({ command: "deploy x", host: "node" })', then="approve")
    assert options(tuned(places))[0]["grant"].endswith("--agent main --param host=node")


def test_since(places: Places) -> None:
    story = Story(places, ago=10 * 86_400)
    for _ in range(3):
        story.asked("deploy site", then="approve")
    assert tuned(places, "7d").data["asked"] == 0
    assert tuned(places, "2w").data["asked"] == 3
    with pytest.raises(UserError, match="not a duration"):
        tuned(places, "soon")


def test_a_nonce_that_is_used_again(places: Places) -> None:
    events = [
        {"event": "hold", "nonce": "aa", "time": "2026-11-22T08:00:00Z", "shown": "exec({})", "code": "x"},
        {"event": "approve", "nonce": "aa", "time": "2026-11-22T08:00:05Z"},
        {"event": "hold", "nonce": "aa", "time": "2026-11-22T09:00:00Z", "shown": "exec({})", "code": "x"},
        {"event": "deny", "nonce": "aa", "time": "2026-11-22T09:00:07Z"},
        {"event": "deny", "nonce": "bb", "time": "2026-11-22T09:00:07Z"},
        {"event": "hold", "nonce": "cc", "time": "then"},
        {"event": 3},
    ]
    assert [(each.answer, each.seconds) for each in tuning.asked(events, 1.0)] == [("yes", 5.0), ("no", 7.0)]


@pytest.mark.parametrize(
    ("texts_", "pattern"),
    [
        (["make a", "make b"], "make *"),
        (["make abc1 x", "make abc2 x"], "make abc* x"),
        (["make a b", "make c d"], ""),
        (["make a", "make a b"], ""),
        (["rm -r out/x", "rm -r out/y"], ""),
    ],
)
def test_merging(texts_: list[str], pattern: str) -> None:
    assert tuning._merged(texts_) == pattern


@pytest.mark.parametrize(
    ("call", "typed"),
    [
        (Call("exec", {"command": "make 'a b'"}), """toolguard grant 'make '"'"'a b'"'"'' --tool exec --for 1d"""),
        (Call("exec", {"command": "-x"}), "toolguard grant --tool exec --for 1d -- -x"),
        (Call("nodes", {"action": "run"}), """toolguard grant '{"action":"run"}' --tool nodes --for 1d"""),
        (Call("exec", {"command": "a\nb"}), None),
        (Call("exec", {"command": "ls *"}), None),
        (Call("exec", {"command": 5}), None),
        (Call("exec", None), None),
        (Call("exec", {"command": "x" * 500}), None),
        (Call("read", {"path": "../x"}), None),
    ],
)
def test_what_to_type(call: Call, typed: str | None) -> None:
    grant = exact_grant.exact(call)
    assert (narrow_grant.command(grant, "1d") if grant else None) == typed
    assert grant is None or grant_matching.covers(grant, call, 0.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (Call("write", {"path": "~/.bashrc", "content": "x"}), "for a day: any content of this file, by every agent"),
        (
            Call("write", {"path": "a.md", "content": "x"}),
            "for a day: any content of this file, in every folder, by every agent",
        ),
        (Call("message", {"target": "+123", "message": "x"}), "for a day: any text to this address, by every agent"),
        (Call("web_fetch", {"url": "https://example.com/"}), "for a day: just this address, by every agent"),
        (Call("nodes", {"action": "run"}), "for a day: just these arguments, by every agent"),
    ],
)
def test_what_it_covers(call: Call, words: str) -> None:
    grant = exact_grant.exact(call)
    assert grant
    assert narrow_grant.scope(grant, "a day") == words


def test_the_command(places: Places) -> None:
    story = Story(places)
    for _ in range(3):
        story.asked("rm -rf ~/important", "rule.filesystem.delete-recursive", then="approve")
        story.asked("mail -s hi bob@example.com", "rule.network.mail", then="approve")
    before = picture(places.state_dir)
    done = toolguard("tune", "--json", "--state-dir", places.state_dir)
    assert (done.returncode, done.stderr) == (0, "")
    data = envelope(done)["data"]
    advice = {each["rule"]: each for each in data["advice"]}
    mail = advice["rule.network.mail"]["options"][0]["grant"]
    assert mail.startswith("toolguard grant 'mail -s hi bob@example.com'")
    deleting = advice["rule.filesystem.delete-recursive"]
    assert (deleting["options"], deleting["why"]) == ([], tuning.DESTROYS)
    assert toolguard("tune", "--since", "x", "--state-dir", places.state_dir).returncode == 2
    assert picture(places.state_dir) == before
    assert offline_guard.load(places).basis.grants == 0
