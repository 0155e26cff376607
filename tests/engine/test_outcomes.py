"""Which outcomes are equal, and which failures a retry cannot fix. The texts are those of real programs."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from msgspec import structs

from effort import some
from hostile_texts import texts
from tables import each_row
from toolguard_engine.effects.calls.outcomes import Outcome, is_poll, outcome


def came(text: str, tool: str = "exec", params: Any = None, **facts: Any) -> Outcome:
    """The outcome of a command with an exit code, or of any tool."""
    size = facts.pop("size", len(text))
    status, exit_code, failed = facts.pop("status", ""), facts.pop("exit_code", None), facts.pop("failed", False)
    return outcome(tool, params, text, size, status, exit_code, failed=failed, **facts)


def error(tool: str, text: str) -> str:
    """An error in the form of the gateway."""
    return msgspec.json.encode({"status": "error", "tool": tool, "error": text}).decode()


LASTING = [
    "cat: /nope/x: No such file or directory\n\n(Command exited with code 1)",
    "cat: src/timeout.py: No such file or directory", "bash: foo: command not found", "zsh: command not found: foo",
    "sh: 1: foo: not found", "fish: Unknown command: foo",
    "foo : The term 'foo' is not recognized as the name of a cmdlet, function, script file, or operable program.",
    "bash: -c: line 1: syntax error near unexpected token `('", "bash: ./x.sh: Permission denied",
    "bash: cd: x: Not a directory", "ls: unrecognized option '--foo'\nTry 'ls --help' for more information.",
    "cp: cannot stat 'a': No such file or directory", "mkdir: cannot create directory 'x': File exists",
    "cat: src: Is a directory", "rm: cannot remove 'x': Operation not permitted",
    "touch: cannot touch 'x': Read-only file system",
    "python3: can't open file '/srv/x.py': [Errno 2] No such file or directory",
    "ModuleNotFoundError: No module named 'requests'",
    "  File \"x.py\", line 1\n    def (\n        ^\nSyntaxError: invalid syntax",
    "FileNotFoundError: [Errno 2] No such file or directory: 'x'", "cat: reconnect: No such file or directory",
    "PermissionError: [Errno 13] Permission denied: '/etc/shadow'", "usage: x\nx: error: unrecognized arguments: --foo",
    "x: error: argument n: invalid int value: 'a'", "Error: Cannot find module 'express'\nRequire stack:\n- /srv/x.js",
    "Error: ENOENT: no such file or directory, open 'package.json'", "SyntaxError: Unexpected token '}'",
    "node: bad option: --foo", 'npm error Missing script: "biuld"',
    "npm error 404 Not Found - GET https://registry.example/nosuch - Not found",
    "fatal: not a git repository (or any of the parent directories): .git", "error: unknown option `foo'",
    "error: pathspec 'nosuch' did not match any file(s) known to git",
    "fatal: 'nosuch' does not appear to be a git repository\nfatal: Could not read from remote repository.",
    "fatal: ambiguous argument 'x': unknown revision or path not in the working tree.",
    "git: 'comit' is not a git command. See 'git --help'.",
    "curl: (22) The requested URL returned error: 404 Not Found",
    "curl: option --foo: is unknown\ncurl: unknown option --foo", "HTTP 403 Forbidden", '{"message":"Bad credentials"}',
    "psql: error: database \"x\" does not exist",
    "Module not found: Error: Can't resolve './App' in '/srv/server/src'", '\u2718 [ERROR] Could not resolve "./missing"',
    'Failed to resolve import "./x" from "src/main.js". Does the file exist?',
    "Unknown id AB. Check the id and try again.", "String to replace not found in file. Re-read the file and try again.",
    "Error: listen EADDRINUSE: address already in use :::3000",
    "Missing required parameter: path. Supply correct parameters before retrying.",
    "make: *** No rule to make target 'x'.  Stop.\nmake: x: No such file or directory",
]  # fmt: skip
PASSING = [
    "curl: (6) Could not resolve host: nosuch.example",
    "curl: (28) Operation timed out after 5001 milliseconds: not found",
    "curl: (7) Failed to connect to localhost port 8080 after 0 ms: Connection refused",
    "curl: (52) Empty reply from server", "curl: (22) The requested URL returned error: 503 Service Unavailable",
    "HTTP/1.1 502 not found", "Error: getaddrinfo ENOTFOUND api.example.com",
    "Error: connect ECONNREFUSED 127.0.0.1:5432", "npm error code ETIMEDOUT",
    "npm error request to https://registry.example/x failed, reason: getaddrinfo EAI_AGAIN registry.example: not found",
    "requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='x', port=443): Read timed out.",
    "TimeoutError: not found", "socket.gaierror: [Errno -2] Name or service not known",
    "ssh: Could not resolve hostname x: Name or service not known", "ssh: connect to host x port 22: No route to host",
    "fatal: unable to access 'https://x/': Could not resolve host: x",
    "fatal: Unable to create '/srv/.git/index.lock': File exists.\n\nAnother git process seems to be running",
    "E: Could not get lock /var/lib/dpkg/lock-frontend - open (11: Resource temporarily unavailable): permission denied",
    "sqlite3.OperationalError: database is locked: no such table",
    "OSError: [Errno 16] Device or resource busy: does not exist", "HTTP 429 Too Many Requests: forbidden",
    "Error: quota exceeded, access denied", "rate limit: unknown id", "try again: not found",
    "Command timed out after 5 seconds\nls: x: No such file or directory", "AssertionError: 1 != 2",
    "2 failed, 31 passed in 0.21s", "An unknown error occurred", "",
]  # fmt: skip


@each_row("text", LASTING)
def test_lasting_failures_of_commands(text: str) -> None:
    assert came(text, exit_code=1, status="completed").lasting


@each_row("text", PASSING)
def test_transient_failures_of_commands(text: str) -> None:
    found = came(text, exit_code=1, status="completed")
    assert found.failed
    assert not found.lasting


@each_row("text", LASTING)
def test_successes_are_not_lasting(text: str) -> None:
    found = came(text, exit_code=0, status="completed")
    assert not found.failed
    assert not found.lasting


@each_row(
    ("tool", "text"),
    [
        ("read", error("read", "File not found: /nope/missing.txt.")),
        ("read", error("read", "ENOENT: no such file or directory, access '/nope/timeout/missing.txt'")),
        (
            "edit",
            error(
                "edit",
                "Could not find the exact text in workspace.md. The old text must match exactly including all whitespace "
                "and newlines.\nCurrent file contents:\n- a timeout, HTTP 503, rate limit: try again",
            ),
        ),
        ("process", "No session found for nosuch"),
        ("read", "EACCES: permission denied, open '/root/x'"),
    ],
)
def test_lasting_failures_of_tools(tool: str, text: str) -> None:
    assert came(text, tool, {"action": "kill"}, failed=True).lasting


@each_row("facts", [{"exit_code": 124}, {"exit_code": 137}, {"exit_code": 143}, {"status": "timeout"}])
def test_ended_programs_are_not_lasting_failures(facts: dict[str, Any]) -> None:
    found = came("x: No such file or directory", **facts)
    assert found.failed
    assert not found.lasting


def test_programs_that_cannot_start_are_lasting_failures() -> None:
    assert came("", exit_code=127).lasting
    assert not came("", exit_code=1).lasting


POLLS = [
    ("process", {"action": "poll"}), ("process", {"action": "log"}), ("openclaw:core:Process", {"action": "list"}),
    ("command_status", {}), ("agents_wait", None), ("session_status", {}), ("subagents", {"action": "list"}),
]  # fmt: skip
NO_POLLS = [
    ("process", {"action": "kill"}), ("process", None), ("process", {"action": 3}), ("exec", {"command": "x"}),
    ("read", {}), ("message", {"action": "poll"}), ("", {}),
]  # fmt: skip


@each_row(("tool", "params"), POLLS)
def test_a_failed_poll_is_lasting_only_if_waiting_cannot_help(tool: str, params: Any) -> None:
    assert is_poll(tool, params)
    for text in ("job 'x' not found", "out/done: No such file or directory", "unknown job", "no session found"):
        assert not came(text, tool, params, failed=True, status="failed").lasting
    for text in ("No session found for nosuch", "fatal: not a git repository", "Unknown id AB", "EACCES: permission denied"):
        assert came(text, tool, params, failed=True, status="failed").lasting
    assert not came("permission denied: connection reset", tool, params, failed=True).lasting


WAITS = [
    "sleep 30; cat x", "sleep 20 && kubectl get pod", "cd a && sleep 1; x", "for i in 1 2; do\n  sleep 10; done; cat x",
    "until test -f x; do :; done", "kubectl wait --for=x pod/a", "gh run watch 3", "timeout 9 inotifywait x",
    "python3 -c 'import time; time.sleep(9)'; cat x", "(sleep 3); cat x", "/bin/sleep 3; cat x", "! sleep 3",
    "helm a b --wait",
]  # fmt: skip
NO_WAITS = [
    "cat sleep.txt",
    "cat /nope/wait",
    "grep -n 'a' --color=never wait.log",
    "./sleepy; cat x",
    "echo a; cat -n b wait.x",
]


@pytest.mark.parametrize("name", ["command", "cmd"])
def test_waiting_commands_never_fail_lastingly(name: str) -> None:
    text = "cat: x: No such file or directory"
    assert [each for each in WAITS if came(text, params={name: each}, exit_code=1).lasting] == []
    assert [each for each in NO_WAITS if not came(text, params={name: each}, exit_code=1).lasting] == []
    assert came(text, "read", {name: WAITS[0]}, failed=True).lasting


OWN = [
    ("show", "9b2e4567-e89b-12d3-a456-426614174abc", "123e4567-e89b-12d3-a456-426614174000"),
    ("cat", "/tmp/tmpab12cd34", "/tmp/tmp9z_12k3x"),
    ("report --from", "2026-11-22T00:00:00Z", "2026-11-23T00:00:00Z"),
    ("log --since", "1795360415", "1795364015"),
    ("log --since", "15:13:35", "15:14:35"),
]


@each_row(("program", "one", "other"), OWN)
def test_values_from_the_arguments_count_in_the_outcome(program: str, one: str, other: str) -> None:
    def found(argument: str, said: str) -> int:
        text = f"at 11:11:1{len(argument) % 10}: '{said}' not found"
        return came(text, params={"command": f"{program} {argument}"}, exit_code=1).result

    assert found(one, one) != found(other, other)
    assert found("1 last", one) == found("1 last", other)


@each_row(("tool", "params"), NO_POLLS)
def test_calls_that_are_not_polls(tool: str, params: Any) -> None:
    assert not is_poll(tool, params)


VOLATILE = [
    ("took 3ms", "took 14ms"), ("real\t0m0.003s\nuser 0m0.1s", "real\t1m2.5s\nuser 0m3.1s"),
    ("Uptime 3h 2m 1s", "Uptime 13h 12m 11s"), ("at 15:13:35", "at 15:14:36.123"),
    ("2026-11-22T15:13:35.1Z a", "2026-11-22T15:13:36.22Z a"), ("Up 3 minutes", "Up 4 minutes"),
    ("[2026-11-22 15:13:35 +0000] x", "[2026-11-22 15:14:35 +0000] x"),
    ("Sun Nov 22 15:13:35 UTC 2026", "Sun Nov 22 16:14:36 UTC 2026"),
    ("Sunday, November 22nd, 2026 - 3:01 PM", "Sunday, November 22nd, 2026 - 3:12 PM"),
    ("Sunday, November 22nd, 2026 - 15:01", "Sunday, November 22nd, 2026 - 15:44"), ("now 1795360415", "now 1795360499"),
    ("Command still running (session neat-ocean, pid 2888). Use", "Command still running (session big-sea, pid 31). Use"),
    ("neat-ocean running   61ms :: echo bg;", "neat-ocean running   1m02s :: echo bg;"),
    ('{"ts":1795360415123}', '{"ts":1795360415999}'),
    ('<<<EXTERNAL_UNTRUSTED_CONTENT id="0123456789abcdef">>>', '<<<EXTERNAL_UNTRUSTED_CONTENT id="fedcba9876543210">>>'),
    ("(node:123) Warning: x", "(node:44) Warning: x"), ("PID=12, pid: 3.", "PID=9, pid: 31."),
    ("in /tmp/tmp.aB3dEfgh1j", "in /tmp/tmp.qW3rtyuio0"), ("wrote /tmp/tmpab12cd34/x", "wrote /tmp/tmp9z_12k3x/x"),
    ("Done at 15:13:35/INFO", "Done at 15:14:35/INFO"), ("1 packet, time=3.11 ms", "1 packet, time=14.2 ms"),
    ("request id: req_1234567", "request id: req_9999999"), ("x-request-id: 0a1b2c3d", "x-request-id: ffff0000"),
    ("attempt 3 of 5 failed", "attempt 4 of 5 failed"), ("<A object at 0x7f12345678>", "<A object at 0x7f12399999>"),
    ("id 123e4567-e89b-12d3-a456-426614174000", "id 9b2e4567-e89b-12d3-a456-426614174abc"),
]  # fmt: skip
TELLING = [
    ("41%", "42%"), ("a.py:12:34: error", "a.py:12:35: error"), ("a.py:12: error", "a.py:13: error"),
    ("5 items", "6 items"), ("30 seconds remaining", "20 seconds remaining"), ("v1.2.3", "v1.2.4"),
    ("process 3 of 10", "process 4 of 10"), ("1795360415 bytes", "1795360416 bytes"),
    ("-rw 1 r r 10 Nov 22 15:13 f", "-rw 1 r r 10 Nov 22 15:14 f"), ("entry 3", "entry 4"), ("port 8080", "port 8081"),
    ("step 7/12", "step 8/12"), ("total 1024", "total 2048"), ("a", "b"), ("2026-11-22", "2026-11-23"),
    ("wrote /tmp/build-8f3a2c/x", "wrote /tmp/build-77aa01/x"), ("see /tmp/page01.png", "see /tmp/page02.png"),
    ("Transcribed 00:12:00 of 01:00:00", "Transcribed 00:13:00 of 01:00:00"), ("12:10:00 / 60:00", "12:20:00 / 60:00"),
    ("processed 120s of 3600s of audio", "processed 180s of 3600s of audio"), ("3m2s to go", "2m59s to go"),
    ("Time remaining: 39 min", "Time remaining: 38 min"), ("remaining: 39m12s", "remaining: 38m12s"),
    ("ETA 00:39:00", "ETA 00:38:00"), ('{"eta": "39m"}', '{"eta": "38m"}'), ("00:39:00 left", "00:38:00 left"),
    ("frame=1 time=00:00:07.00 x", "frame=1 time=00:00:08.00 x"), ("time left is about 9 mins", "time left is about 8 mins"),
    ("exit 1 of 3 s3 buckets", "exit 2 of 3 s3 buckets"),
]  # fmt: skip


@each_row("failed", [False, True])
@each_row(("one", "other"), VOLATILE)
def test_volatile_parts_do_not_change_the_result(one: str, other: str, failed: bool) -> None:  # noqa: FBT001
    found = [came(each, failed=failed) for each in (one, other)]
    assert found[0].exact != found[1].exact
    assert structs.replace(found[0], exact=0) == structs.replace(found[1], exact=0)


@each_row(("one", "other"), TELLING)
def test_new_information_changes_the_result(one: str, other: str) -> None:
    assert came(one).result != came(other).result
    assert came(one).exact != came(other).exact


def test_the_exact_digest_covers_everything() -> None:
    facts: list[dict[str, Any]] = [
        {}, {"status": "running"}, {"exit_code": 0}, {"exit_code": 2}, {"failed": True}, {"size": 9_000}, {"rest": "a"},
        {"rest": "1 2"}, {"rest": "1 3"},
    ]  # fmt: skip
    for text in ("x", "took 3ms"):
        found = [came(text, **each) for each in facts]
        assert len({each.exact for each in found}) == len({each.result for each in found}) == len(found)
        assert found == [came(text, **each) for each in facts]


def test_the_loop_note_is_not_in_the_exact_digest() -> None:
    note = "\n[System note: Tool-loop warning: 10 times. Stop if you are not making progress.]"
    assert came("took 3ms" + note) == came("took 3ms")


def test_status_exit_code_and_failure_count() -> None:
    found = [came("x"), came("x", status="running"), came("x", exit_code=0), came("x", exit_code=2), came("x", failed=True)]
    assert len({each.result for each in found}) == len(found)


def test_size_counts_only_where_the_text_was_cut() -> None:
    assert came("took 9ms 🙂", size=11).result == came("took 10ms 🙂", size=12).result
    assert came("abc", size=9_000).result != came("abc", size=9_001).result


@each_row(
    ("one", "other", "same"),
    [
        ({"ok": True, "messageId": "81", "ts": 1}, {"ok": True, "messageId": "82", "ts": 2}, True),
        ({"receipt": ["a"], "id": "x"}, {"receipt": ["b", "c"], "id": "y"}, True),
        ({"ok": True, "to": "81"}, {"ok": True, "to": "82"}, False),
        ({"ok": True, "chatId": 7, "messageId": 1}, {"ok": True, "chatId": 8, "messageId": 1}, False),
    ],
)
def test_ids_of_sent_messages_do_not_count(one: Any, other: Any, *, same: bool) -> None:
    texts_of = [msgspec.json.encode(value).decode() for value in (one, other)]
    results = [came(text, "message", {"action": "send"}).result for text in texts_of]
    assert (results[0] == results[1]) is same
    assert came(texts_of[0], "read").result != came(texts_of[1], "read").result


def test_the_wording_of_a_failure_has_no_numbers() -> None:
    one, other = (came(f"cat: /nope/{name}: No such file or directory", exit_code=1) for name in (1, 20))
    assert one.wording == other.wording != 0
    assert one.result != other.result
    assert one.wording != came("cat: /nope/1: Permission denied", exit_code=1).wording
    assert came("cat: /nope/1").wording == 0


def test_the_wording_of_an_edit_is_its_error_and_not_the_file() -> None:
    sentence = "Could not find the exact text in a.md. The old text must match exactly.\nCurrent file contents:\n"
    one, other = (came(error("edit", sentence + shown), "edit", failed=True) for shown in ("one", "other"))
    assert one.wording == other.wording
    assert one.result != other.result


def _written(rng: random.Random, numbers: list[int]) -> str:
    """A log with these numbers, and everything else random: two such logs differ only in volatile parts."""
    lines = []
    for number in numbers:
        clock = f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}"
        uuid = "-".join(f"{rng.getrandbits(4 * size):0{size}x}" for size in (8, 4, 4, 4, 12))
        lines += [
            f"2026-11-22T{clock}.{rng.randrange(1_000):03}Z [{clock}] pid {rng.randrange(1, 99_999)} done {number} items",
            f"{uuid} took {rng.randrange(1, 9_999)}ms, {number}% of it; {number}:{number} ({rng.randrange(1, 60)} seconds)",
        ]
    return "\n".join(lines)


@each_row("seed", range(50))
def test_only_ordinary_numbers_of_a_log_count(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - made-up logs
    numbers = [rng.randrange(1_000) for _ in range(rng.randrange(1, 8))]
    one, other = _written(rng, numbers), _written(rng, numbers)
    assert one != other
    assert came(one).result == came(other).result
    at = rng.randrange(len(numbers))
    changed = [*numbers[:at], numbers[at] + 1, *numbers[at + 1 :]]
    assert came(one).result != came(_written(rng, changed)).result


HOSTILE = [
    "1", "1:", "1:1", "a/", "0x", "1-", "1 ", "1.1 ", "1m", "1h1m1 ", "pid ", "20", "- ", "-abcd", "2026-11-22",
    "2026-11-22T15:1", "retry ", "request id ", '"id":[', '"id": "', "/tmp/a-", "/tmp/", "invalid a ", "cannot ",
    "get a ", "(session a-", "no", "é", "\ud800", "\0", "{", '{"error":', "\nCurrent file contents:",
    "EXTERNAL_UNTRUSTED_CONTENT id=", "attempt no. ", "error  ",
    "eta ", "left 1s", "1s of ", "1s / ", "time=1:", "check and ", "check ", "address a in ", "resolve ", "host ", "nonce=",
]  # fmt: skip


@each_row("piece", some(HOSTILE))
@each_row("tool", ["exec", "message"])
def test_any_text_has_an_outcome(piece: str, tool: str) -> None:
    text = (piece * 50_000)[:50_000]
    found = came(text, tool, failed=True)
    assert found == came(text, tool, failed=True)
    assert 0 <= found.result < 1 << 63
    assert 0 < found.wording < 1 << 63


def test_hostile_commands_have_an_outcome() -> None:
    assert all(came(text, exit_code=1).failed for text in texts(2_000).values())


WHY = [
    ("", False, False), ("(Command exited with code 1)", False, False), ("\n\n(Command exited with code 137)", False, False),
    ("Command failed with exit status 2.", False, False), ("Error", False, False), ("No matches found", False, False),
    ("No results found.", False, False), ("0 matches", False, False), ("not found", False, False),
    ("Permission denied", True, False), ("fetch failed: too many redirects", True, False),
    ("Could not find the exact text in workspace.md. It must match exactly.", True, True),
    ("cat: /nope/x: No such file or directory\n\n(Command exited with code 1)", True, True),
    ("ModuleNotFoundError: No module named 'requests'", True, True),
    ("don't do that, it isn't allowed", True, False),
]  # fmt: skip


@each_row(("text", "explained", "names"), WHY)
@each_row("wrapped", [False, True])
def test_whether_a_failure_is_explained_and_names_its_object(
    text: str, *, explained: bool, names: bool, wrapped: bool
) -> None:
    found = came(error("edit", text) if wrapped and text else text, failed=True)
    assert (found.explained, found.names) == (explained, names)
    assert not came(text).explained
