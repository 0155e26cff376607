"""Where the kernel keeps commands from the guard's places, what could only reach these runs. Nothing is stricter for it, and
nothing milder that the kernel does not refuse."""

from __future__ import annotations

import dataclasses
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from effort import some
from in_room import HOST, PLACES, RULES, STATE, Both, exec_call, exists, kept_from, with_secrets
from tables import each_row
from test_protection_law import WAYS, forms
from toolguard_engine.config.containment_settings import ContainmentConfig
from toolguard_engine.containment import kept_places
from toolguard_engine.containment.profile import profile
from toolguard_engine.containment.rules import RoomRule
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.layers import harm_in_room, self_protection
from toolguard_engine.model.call import Call
from toolguard_engine.model.lazy import FAILURES
from toolguard_engine.wording import loop_notes

RANK = {"allow": 0, "hold": 1, "block": 2}
KEY = f"{STATE}/toolguard/key"

RUN_IN_THE_ROOM = (
    "rsync -a ~/ /mnt/b/",
    "restic backup ~",
    "borg create ::x ~",
    "cat ~/.openclaw/toolguard/key",
    "cat ~/.openclaw/metrics.db.token",
    "python3 -c \"print(open('/home/u/.openclaw/toolguard/key').read())\"",
    "echo > ~/.openclaw/toolguard/off",
    "cp x ~/.openclaw/toolguard/key",
    "du -sh ~ && rsync -a ~/ /mnt/b",
    "rsync -a ~/ /mnt/b/1.10.2.3.4/",
    "mvn -Dkey=$HOME/.openclaw/toolguard/key exec:java",
)
WITH_CREDENTIALS_HIDDEN = (
    "find ~ -type f -exec cat {} +",
    "ls -R ~ | xargs cat",
    "grep -rv foo ~",
    "rg --hidden --no-ignore . ~",
)
"""What would show all credentials in the home folder, not only the guard's."""
AS_WITHOUT = (
    "ln -s ~/.openclaw/toolguard/key k",
    "ln -s ~/.openclaw/toolguard d",
    "cp -rs ~/.openclaw/toolguard x",
    "python3 -c \"import os; os.symlink('/home/u/.openclaw/toolguard/key', 'k')\"",
    "node -e \"fs.symlinkSync('/home/u/.openclaw/toolguard/key', 'k')\"",
    'perl -e \'symlink("/home/u/.openclaw/toolguard/key", "k")\'',
    "npx serve ~",
    "busybox httpd -h ~",
    "cd ~ && python3 -m http.server",
    "python3 -c \"from distutils.dir_util import copy_tree; copy_tree('d', '/home/u')\"",
    "pkill openclaw; cat ~/.openclaw/toolguard/key",
    "kill $(cat ~/.openclaw/toolguard/pid)",
    "docker run -v ~:/x a cat /x/.openclaw/toolguard/key",
    "docker cp ~ box:/x",
    "ssh localhost cat ~/.openclaw/toolguard/key",
    "ssh h cat ~/.openclaw/toolguard/key",
    "scp localhost:.openclaw/toolguard/key .",
    "curl http://127.0.0.1:8000/.openclaw/toolguard/key > ~/.openclaw/toolguard/key",
    "tmux send-keys 'cat ~/.openclaw/toolguard/key' Enter",
    "systemd-run --user cat ~/.openclaw/toolguard/key",
    "pm2 start 'cp ~/.openclaw/toolguard/key /tmp/x'",
    "tsp cp ~/.openclaw/toolguard/key /tmp/x",
    "npx turbo run x -- ~/.openclaw/toolguard/key",
    "gradle -Pfile=$HOME/.openclaw/toolguard/key run",
    "bazel run //:x -- ~/.openclaw/toolguard/key",
    "psql -c \"copy t from program 'cat ~/.openclaw/toolguard/key'\"",
    "redis-cli eval \"io.open('/home/u/.openclaw/toolguard/key')\" 0",
    "firefox file:///home/u/.openclaw/toolguard/key",
    "flatpak-spawn --host cat ~/.openclaw/toolguard/key",
    "powershell.exe -c 'wsl cat ~/.openclaw/toolguard/key'",
    "virsh define ~/.openclaw/toolguard/key",
    "curl 'http://192.168.1.5:8000/run?c=cat+/home/u/.openclaw/toolguard/key'",
    "curl 'http://box.local/run?c=cat+/home/u/.openclaw/toolguard/key'",
    "curl --unix-socket /run/api http://d/home/u/.openclaw/toolguard/key",
    "emacsclient -e '(f \"~/.openclaw/toolguard/key\")'",
    "sudo cat ~/.openclaw/toolguard/key",
    "crontab -l; cat ~/.openclaw/toolguard/key",
    "./tool ~/.openclaw/toolguard/key",
    "PATH=. cat ~/.openclaw/toolguard/key",
    "toolguard approve 3fa9c1d2",
    "rm -rf ~/.openclaw",
    "mv ~/.openclaw /tmp/x",
    "sed -i s/a/b/ ~/.openclaw/openclaw.json",
    "rm ~/.openclaw/openclaw.json",
    "tar xzf d.tgz -C ~",
    "cd ~ && git add -A",
    "git -C ~ show HEAD:.openclaw/toolguard/key",
    "rsync -a --delete ~/ /mnt/b/",
    "echo x >> ~/.bashrc; cat ~/.openclaw/toolguard/key",
)


@pytest.fixture(scope="module")
def both() -> Both:
    return Both()


@each_row("command", RUN_IN_THE_ROOM)
def test_what_the_kernel_keeps_from_a_command_is_no_question(both: Both, command: str) -> None:
    outside, inside = both.judge(exec_call(command))
    assert outside.decision != "allow"
    assert (inside.decision, inside.code) == ("allow", harm_in_room.CODE)
    assert outside.reason in inside.reason
    assert loop_notes.NOTE in inside.note


@each_row("command", WITH_CREDENTIALS_HIDDEN)
def test_what_shows_a_whole_home_needs_its_credentials_hidden_as_well(both: Both, command: str) -> None:
    outside, inside = both.judge(exec_call(command))
    assert outside.decision == "hold"
    assert inside == outside
    both.inside.kept_from = with_secrets
    try:
        assert both.inside.weigh(exec_call(command)).code == harm_in_room.CODE
        assert both.inside.weigh(exec_call(f"ssh-add -l; {command}")).decision == "hold"
    finally:
        both.inside.kept_from = kept_from


@each_row("command", AS_WITHOUT)
def test_what_it_does_not_keep_stays_as_it_is(both: Both, command: str) -> None:
    outside, inside = both.judge(exec_call(command))
    assert outside.decision != "allow"
    assert inside == outside


def test_other_tools_enter_no_room(both: Both) -> None:
    for tool, params in (("read", {"path": KEY}), ("write", {"path": KEY, "content": "x"}), ("grep", {"path": KEY})):
        outside, inside = both.judge(Call(tool, params, agent="main"))
        assert (inside, outside.decision) == (outside, "block")


def commands() -> list[str]:
    """Commands about what the guard protects, with and without something beside it that no room stops."""
    besides = ("{}", "{}; pkill -f openclaw", "{} && echo done", "{} | head -3", "cd /home/u && {}")
    made = [form for (_, place), ways in WAYS.items() for form in forms(place, ways)]
    return [beside.format(command) for command, beside in product(made, besides)]


def test_the_law_over_generated_pairs(both: Both) -> None:
    """Never stricter; milder only if all that there is to find is refused by the rules, and nothing else holds it."""
    every = commands()
    assert len(every) > 2_000
    milder = 0
    for command in some(every[:: len(every) // 2_000]):
        call = exec_call(command, "/home/u/work")
        outside, inside = both.judge(call)
        assert RANK[inside.decision] <= RANK[outside.decision], command
        if inside == outside:
            continue
        milder += 1
        assert (inside.decision, inside.code) == ("allow", harm_in_room.CODE), command
        reading = CallReading(call, HOST)
        assert all(each.harmless for each in self_protection._findings(reading, reading.command_readings)), command
        assert "kill" not in command
        assert "sudo" not in command
    assert milder > 30


def test_each_milder_verdict_needs_the_mask_of_what_it_is_about(both: Both) -> None:
    """Without the rule that hides the state, or with one that shows the key again, all is as without a room."""
    bare = [rule for rule in RULES if rule.kind != "hide" or str(rule.path) != STATE]
    shown = [*RULES, RoomRule("show", Path(f"{STATE}/toolguard"))]
    behind = [replace_door(rule) for rule in RULES]
    for rules in (bare, shown, behind, []):
        assert kept_places.by_rules(behind_no_door(rules), HOST, exists) == set()


def replace_door(rule: RoomRule) -> RoomRule:
    return RoomRule("show", rule.path) if str(rule.path) == STATE else rule


def behind_no_door(rules: list[RoomRule]) -> list[RoomRule]:
    return [rule for rule in rules if not rule.door]


@pytest.mark.parametrize("name", ["protect", "secrets", "workspace", "offline"])
def test_every_profile_keeps_the_guards_places(name: Any) -> None:
    expected = {"secrets", "files"} if name == "protect" else {"secrets", "files", "credentials"}
    assert kept_places.by_rules(profile(ContainmentConfig(profile=name), PLACES), HOST, exists) == expected


def test_a_mask_needs_something_to_lie_on() -> None:
    host = replace_host(metrics="/home/u/other/metrics.db")
    rules = profile(ContainmentConfig(), replace(PLACES, host=host))
    assert kept_places.by_rules(rules, host, exists) == set()
    host = replace_host(guarded=("/home/u/lib/guard.py",))
    rules = profile(ContainmentConfig(), replace(PLACES, host=host))
    assert kept_places.by_rules(rules, host, exists) == {"secrets"}
    assert kept_places.by_rules(rules, host, lambda path: exists(path) or path == "/home/u/lib/guard.py") == {
        "secrets",
        "files",
    }
    host = replace_host(guarded=(f"{STATE}/workspace/inc.json5",))
    rules = profile(ContainmentConfig(), replace(PLACES, host=host))
    assert kept_places.by_rules(rules, host, exists) == {"secrets"}


def replace_host(**changes: Any) -> Any:
    return dataclasses.replace(HOST, **changes)


def test_with_its_secrets_only_a_change_is_as_without(both: Both) -> None:
    both.inside.kept_from = lambda reading: kept_from(reading) - {"files"}
    try:
        assert both.judge(exec_call(f"cat {KEY}"))[1].decision == "allow"
        assert both.judge(exec_call(f"cp x {KEY}; echo x > {STATE}/toolguard/off"))[1].decision == "block"
    finally:
        both.inside.kept_from = kept_from


@pytest.mark.parametrize("failure", FAILURES)
def test_what_cannot_be_found_out_is_not_kept(both: Both, failure: type[Exception]) -> None:
    def fail(_: CallReading) -> Any:
        raise failure

    both.inside.kept_from = fail
    try:
        outside, inside = both.judge(exec_call(f"cat {KEY}"))
        assert inside == outside
    finally:
        both.inside.kept_from = kept_from


def test_a_call_that_another_rule_holds_is_judged_as_without(both: Both) -> None:
    """A person's yes may let it run outside."""
    for command in (f"cat {KEY}; git push --force origin main", f"tar czf /tmp/x.tgz ~ && rm -rf ~/Documents; cat {KEY}"):
        outside, inside = both.judge(exec_call(command))
        assert (outside.decision, inside.decision) == ("block", "block")
        assert inside.code == outside.code


def test_it_costs_no_trust() -> None:
    both = Both()
    call = exec_call(f"cat {KEY}")
    warned: list[str] = []
    both.inside.autonomy.warned = lambda *_: warned.append("warned")  # type: ignore[method-assign]
    assert both.inside.judge(call).code == harm_in_room.CODE
    assert warned == []


@pytest.mark.parametrize(("end", "harmless"), [("", "files"), ("; pkill x", None)])
def test_what_is_too_long_to_read_may_do_what_no_room_stops(both: Both, end: str, harmless: str | None) -> None:
    reading = both.inside.read(exec_call("openclaw $(" * 60 + ")" * 60 + end))
    found = list(self_protection._findings(reading, reading.command_readings))
    assert [(each.reason, each.harmless) for each in found] == [(self_protection.command_findings.LONG, harmless)]
