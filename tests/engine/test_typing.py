"""Input typed into running programs: assembled, read in their language, approved as a whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tables import each_row
from toolguard_engine.approvals.binding import bind
from toolguard_engine.effects.terminal_input.running_programs import (
    BEGINNING,
    CROWDED,
    ENTERS,
    HISTORY,
    MAX_PROCESSES,
    NESTED,
    RECALLED,
    SETS_KEYS,
)
from toolguard_engine.layers.typed_input import CODE, STAYS
from toolguard_engine.model.call import Call
from toolguard_engine.rules.rulebook import rule_from
from typist import BOOK, PROCESS, WORKSPACE, Typist, at_once, guard

HELD: list[tuple[str, list[str]]] = [
    # what is started, and what is typed; the last of it is held, all before it passes
    ("bash", ["rm -r", "f ~/impo", "rtant\n"]),
    ("bash -l", ["rm -rf ~/important", "\n"]),
    ("zsh -i", ["rm -rf ~/important", "\r"]),
    ("bash", ["cd ~\n", "rm -rf important\n"]),
    ("bash", ["target=~/impor\n", "rm -rf ${target}tant\n"]),
    ("bash", ["alias clean='rm -rf'\n", "clean ~/important\n"]),
    ("bash", ["rm -rf \\\n", "~/important\n"]),
    ("bash", ["echo 'fine\n", "' ; rm -rf ~/important\n"]),
    ("bash", ["for f in important\n", "do rm -rf ~/$f\n"]),
    ("bash", ["ls\x15rm -rf ~/important\n"]),
    ("bash", ["rm -rf ~/important", "\x04"]),
    ("bash", ["echo x; rm -rf ~/important\n\x03"]),
    ("bash", ["\x03rm -rf ~/important\n"]),
    ("bash", ["rm -rf ~/impo", "rtant\x0f"]),
    ("zsh", ["rm -rf ~/important", "\x1ba"]),
    ("bash", ["rm -rf ~/important", "\x1bOM"]),
    ("bash", ["\x1b[A", "\x0f"]),
    ("bash", ["cd ~\n", "cd /tmp/x\x04\x03", "rm -rf important\n"]),
    ("bash", ["cd /tmp/x\x1bx"]),
    ("bash", ["echo '\n", "\x03rm -rf ~/important\n"]),
    ("bash", ["cat <<END\n\x03rm -rf ~/important\n"]),
    ("bash", ["x='\x03rm -rf ~/important\n"]),
    ("bash", ["cat > x.sh <<E\n", "rm -rf ~/important\n", "E\n", "sh x.sh\n"]),
    ("bash", ["echo 'rm -rf ~/important' > x.sh\n", "cd sub\n", "ls\n", "bash ../x.sh\n"]),
    ("bash", ["echo 'rm -rf ~/important' > x.sh\n", "f=x.sh\n", "sh $f\n"]),
    ("bash", ["set -- rm -rf ~/important\n", "ls\n", '"$@"\n']),
    ("bash", ["set -- x ~/important\n", "shift\n", "rm -rf $1\n"]),
    ("bash", ["IFS=x\n", "a=rmx-rfx/home/u/important\n", "$a\n"]),
    ("cd ~ && bash", ["rm -rf important\n"]),
    ("FOLDER=$HOME/important bash", ["rm -rf $FOLDER\n"]),
    ("bash", ["python3\n", "import shutil\n", "shutil.rmtree('/home/u/important')\n"]),
    ("bash", ["python3\n", "exit()\n", "rm -rf ~/important\n"]),
    ("bash", ["cd ~\n", "bash\n", "cd /tmp/x\n", "exit\n", "rm -rf important\n"]),
    ("bash", ["cd ~\n", "cat\n", "cd /tmp/x\n", "\x04", "rm -rf important\n"]),
    ("bash", ["cat > notes <<END\n", "some words\n", "END\n", "rm -rf ~/important\n"]),
    ("bash", ["ssh box\n", "rm -rf /srv/data\n"]),
    ("ssh box", ["rm -rf /srv/da", "ta\n"]),
    ("docker exec -it box bash", ["rm -rf /srv/da", "ta\n"]),
    ("su", ["rm -rf ~/important\n"]),
    ("script -q /dev/null bash", ["rm -rf ~/important\n"]),
    ("tmux new -s work", ["rm -rf ~/important\n"]),
    ("npm init", ["my-app\n", "rm -rf ~/important\n"]),
    ("vim notes.txt", [":!rm -rf ~/important\n"]),
    ("less notes.txt", ["!rm -rf ~/important\n"]),
    ("ghci", [":! rm -rf ~/important\n"]),
    ("while read line; do $line; done", ["rm -rf ~/important\n"]),
    ("bash -c 'read line; eval $line'", ["rm -rf ~/important\n"]),
    ("xargs rm -rf", ["/home/u/impo", "rtant\n"]),
    ('read x; rm -rf "$x"', ["/home/u/important\n"]),
    ("tee ~/.bashrc", ["rm -rf ~/important\n"]),
    ("python3 -c 'exec(input())'", ["__import__('shutil').rmtree('/home/u/important')\n"]),
    ("python3 -c 'import os; os.system(input())'", ["rm -rf ~/important\n"]),
    ("node server.js", ["require('child_process').execSync('rm -rf ~/important')\n"]),
    ("python3 -i", ["import shutil\n", "p = '/home/u/important'\n", "shutil.rm", "tree(p)\n"]),
    ("python3", ["import os\n", "os.system('rm -rf ~/impo", "rtant')\n"]),
    ("cd x && python3 -q", ["import os\n", "os.system('rm -rf ~/important')\n"]),
    ("python3 -i script.py", ["import os; os.system('rm -rf ~/important')\n"]),
    ("python3 manage.py shell", ["import os; os.system('rm -rf ~/important')\n"]),
    ("ipython", ["import os; os.system('rm -rf ~/important')\n"]),
    ("node", ["require('child_process').execSync('rm -rf ~/impor", "tant')\n"]),
    ("bash", ["rm -rf \x0c", "~/important\x0c\n"]),
    ("jupyter console", ["import os; os.system('rm -rf ~/important')\n"]),
    ("irb", ["FileUtils.rm_rf('/home/u/important')\n"]),
    ("rails console", ["system('rm -rf ~/important')\n"]),
    ("perl -de1", ["system('rm -rf ~/important')\n"]),
    ("php -a", ["system('rm -rf ~/important');\n"]),
    ("sqlite3 x.db", [".she", "ll rm -rf ~/important\n"]),
    ("sqlite3 x.db", ["drop ta", "ble users\n", ";\n"]),
    ("psql app", ["\\", "! rm -rf ~/important\n"]),
    ("psql app", ["delete from users\n", ";\n"]),
    ("mysql app", ["system rm -rf ~/important\n"]),
    ("mysql app", ["pager rm -rf ~/important\n"]),
    ("mysql app", ["delimiter //\n", "drop database prod//\n"]),
    ("mysql app", ["\\d $$\n", "drop database prod$$\n"]),
    ("sqlite3 x.db", [".sh rm -rf ~/important\n"]),
    ("sqlite3 x.db", [".o '|rm -rf ~/important'\n"]),
    ("sqlite3 x.db", ["select edit('x',\n", "'rm -rf ~/important');\n"]),
    ("sqlite3 x.db", [".lo ./evil\n"]),
    ("psql app", ["select 1 \\g |rm -rf ~/important\n"]),
    ("psql app", ["\\set x `rm -rf ~/important`\n"]),
    ("mariadb app", ["drop database ", "app;\n"]),
    ("redis-cli", ["FLUSH", "ALL\n"]),
]


def test_input_assembled_from_pieces_is_held() -> None:
    assert [
        (command, typed) for command, typed in HELD if Typist(command).last(*typed).decision not in ("hold", "block")
    ] == []


PASSES: list[tuple[str, list[str]]] = [
    ("npm init", ["my-app\n", "1.0.0\n", "it's mine\n", "y\n", "\n"]),
    ("npm run dev", ["r\n", "q\n"]),
    ("vim notes.txt", ["ihello\x1b", ":wq\n"]),
    ("python3 setup.py", ["y\n", "my name\n"]),
    ("node menu.js", ["2\n"]),
    ("./configure.sh", ["yes\n", "no\n", "3\n"]),
    ("sudo apt-get upgrade", ["y\n"]),
    ("bash", ["cd app\n", "npm run dev\n", "echo hello!\n", "\n", "exit\n"]),
    ("bash", ["cat > notes.md <<'END'\n", "Never run rm -rf ~/important\n", "END\n", "ls\n"]),
    ("bash", ["for f in a b\n", "do echo $f\n", "done\n"]),
    ("bash", ["git commit -m 'first\n", "second'\n"]),
    ("bash", ["rm -rf ~/important\x15", "ls\n"]),
    ("bash", ["\x0c", "pwd\n", "ec\x0cho x\n"]),
    ("jupyter console", ["rm = [1]\n", "print(f'{rm}')\n"]),
    ("bash", ["echo 'make test' > t.sh\n", "sh t.sh\n", "set -- a b\n", 'echo "$@"\n', "for x; do echo $x; done\n"]),
    ("bash", ["rm -rf ~/important", "\x03", "ls\n"]),
    ("bash", ["[ ! -f x ] && echo none\n", "echo $!\n", "echo '!x'\n", "fc -l\n", "stty -echo\n"]),
    ("bash", ["gunicorn --bind 0.0.0.0:80 app\n"]),
    ("python3 -i", ["def f(x):\n", "\treturn x + 1\n", "\n", "f(2)\n", "exit()\n"]),
    ("python3 -i", ["if 1 != 2: print(f'{1!r}')\n", "\n"]),
    ("sqlite3 x.db", ["select *\n", "from users\n", "where id = 1;\n", ".tables\n", ".quit\n"]),
    ("psql app", ["\\dt\n", "select 1;\n", "delete from users\n", "where id = 1;\n"]),
    ("mysql app", ["pager less -S\n", "select 1;\n", "select `a` from `b`\\G\n", "nopager\n"]),
    ("mysql app", ["delimiter //\n", "select 1//\n", "delimiter ;\n"]),
    ("sqlite3 x.db", [".output x.csv\n", ".show\n", ".schema\n", ".once out.txt\n", ".log off\n"]),
    ("psql app", ["\\o | less\n", "select regexp_replace(a, '\\s', '') || b from t;\n", "\\set x 1\n"]),
    ("ssh box", ["ls\n", "uptime\n"]),
]  # fmt: skip


def test_ordinary_typing_passes() -> None:
    assert [
        (command, typed, found)
        for command, typed in PASSES
        if (found := Typist(command).type(*typed)) != ["allow"] * len(typed)
    ] == []


def test_menu_keys_pass() -> None:
    agent = Typist("npm create vite")
    for keys in (["Down", "Down", "Enter"], ["Tab", "Space", "Enter"], ["Left", "Enter"]):
        assert agent.do({"action": "send-keys", "keys": keys}).decision == "allow"


UNSURE: list[tuple[str, list[str], str]] = [
    ("bash", ["\x1b[A", "\r"], HISTORY),
    ("bash", ["ls ~/impo\t", "\r"], HISTORY),
    ("bash", ["ls -l", "\x01rm \n"], HISTORY),
    ("zsh", ["\x12", "rm\n"], HISTORY),
    ("python3", ["\x1b[A\r"], HISTORY),
    ("sqlite3 x.db", ["\x10", "\r"], HISTORY),
    ("tmux new", ["\x1b[A\r"], HISTORY),
    ("npm run shell", ["\x1b[A\r"], HISTORY),
    ("bash", ["!", "!\n"], RECALLED),
    ("bash", ["echo !$\n"], RECALLED),
    ("bash", ["^ls^rm\n"], RECALLED),
    ("bash", ["ls; fc -s rm\n"], RECALLED),
    ("bash", ["stty erase a\n"], SETS_KEYS),
    ("bash", ['bind \'"q": "ls"\'\n'], SETS_KEYS),
]


@each_row(("command", "typed", "why"), UNSURE)
def test_an_unknown_line_is_held(command: str, typed: list[str], why: str) -> None:
    verdict = Typist(command).last(*typed)
    assert (verdict.decision, verdict.code) == ("hold", CODE)
    assert verdict.reason.removesuffix(f" {STAYS}") == why


def test_too_many_nested_programs_are_unknown() -> None:
    agent = Typist("bash")
    for number in range(20):
        agent.do({"action": "write", "data": f"ssh box{number}\n"})
    assert agent.last("ls\n").reason == NESTED


def test_many_interrupts_in_one_write_are_held() -> None:
    agent = Typist("bash")
    assert agent.last("ls\n\x03" * 50).reason == HISTORY
    assert agent.type("ls\n") == ["allow"]


def test_after_an_unsure_line_the_state_is_known_again() -> None:
    assert Typist("bash").type("\x1b[A", "\x03", "ls\n") == ["allow"] * 3


def test_a_process_whose_start_was_not_observed_has_an_unknown_line() -> None:
    agent = Typist("bash", seen=False)
    assert agent.last("rtant\n").reason == BEGINNING
    assert agent.type("\x03", "ls\n", "echo x\n") == ["allow"] * 3
    assert agent.last("rm -rf ~/impo", "rtant\n").code == at_once("rm -rf ~/important").code


def test_an_evicted_process_is_unknown() -> None:
    agent = Typist("bash")
    agent.type("rm -rf ~/impo")
    for number in range(MAX_PROCESSES):
        agent.owner.processes.started(f"other-{number}", Call("exec", {"command": "bash"}))
    assert agent.last("rtant\n").reason == BEGINNING


def test_a_line_that_is_too_long_is_unknown() -> None:
    assert Typist("bash").last("x" * 20_000, "\n").reason == BEGINNING


# --- what arrives, and what does not ----------------------------------------------------------------------------------


def test_a_refused_write_has_not_arrived() -> None:
    agent = Typist("bash")
    assert agent.do({"action": "send-keys", "literal": "echo '", "keys": ["Up"]}, refused=True).decision == "allow"
    assert agent.last("rm -rf ~/important\n").decision == "hold"


def test_a_held_write_has_not_arrived() -> None:
    agent = Typist("bash")
    assert agent.last("rm -rf ~/important\n").decision == "hold"
    assert agent.type("ls\n") == ["allow"]


def test_a_write_that_failed_in_some_other_way_may_have_arrived() -> None:
    agent = Typist("bash")
    agent.ask(call := agent.call({"action": "write", "data": "rm -rf ~/impo"}))
    agent.owner.processes.completed(call, failed=True, refused=False)
    assert agent.last("rtant\n").reason == BEGINNING


@pytest.mark.parametrize("typed", [["echo '", "rm -rf ~/important\n"], ["rm -rf ~/impo", "rtant\n"]])
def test_in_one_message_each_write_may_have_arrived_or_not(typed: list[str]) -> None:
    agent = Typist("bash")
    first, second = (agent.call({"action": "send-keys", "literal": text, "keys": ["Up"]}, request=7) for text in typed)
    first = replace(first, params={**first.params, "keys": ["Up", "BSpace"]})
    assert agent.ask(first).decision == "allow"
    assert agent.ask(replace(second, params={"sessionId": PROCESS, "action": "write", "data": typed[1]})).decision == "hold"


def test_a_text_and_enter_in_one_message_pass() -> None:
    agent = Typist("bash")
    text, enter = agent.call({"action": "paste", "text": "ls"}, 7), agent.call({"action": "submit"}, 7)
    assert [agent.ask(text).decision, agent.ask(enter).decision] == ["allow", "allow"]


def test_too_many_uncertain_writes_at_once_are_held_with_the_next_line() -> None:
    agent = Typist("bash")
    for _ in range(4):
        agent.ask(agent.call({"action": "send-keys", "keys": ["Up"]}, 7))
    assert agent.ask(agent.call({"action": "submit"}, 7)).reason == CROWDED


def test_long_uncertain_writes_are_held_with_the_next_line() -> None:
    """Each way in which they may have arrived would be read."""
    agent = Typist("bash")
    for _ in range(2):
        agent.owner.processes.sent(agent.call({"action": "write", "data": "echo a; " * 4_500}, 7), keep=True)
    assert agent.ask(agent.call({"action": "submit"}, 7)).reason == CROWDED


def test_a_write_without_a_result_makes_the_line_unknown() -> None:
    agent = Typist("bash")
    agent.ask(agent.call({"action": "write", "data": "echo '"}, 7))
    assert agent.last("ls\n").reason == BEGINNING


def test_changed_parameters_are_what_arrived() -> None:
    agent = Typist("bash")
    agent.ask(call := agent.call({"action": "write", "data": "echo '"}))
    agent.owner.processes.completed(replace(call, params={**call.params, "data": "rm -rf ~/"}), failed=False, refused=False)
    assert agent.last("important\n").decision == "hold"


def test_two_sessions_share_what_is_typed_into_one_process() -> None:
    agent = Typist("bash")
    agent.type("rm -rf ~/impo")
    other = replace(agent.call({"action": "write", "data": "rtant\n"}), session="agent:main:subagent:x", run="r2")
    assert agent.ask(other).decision == "hold"


# --- what an approval means -------------------------------------------------------------------------------------------


def bound(agent: Typist, params: dict[str, object]) -> str:
    call = agent.owner.processes.joined(agent.call(params))
    return bind(replace(call, call_id="", request=0))


def test_an_approval_is_bound_to_the_whole_line() -> None:
    write = {"action": "write", "data": "rtant\n"}
    one, same, other, elsewhere = Typist("bash"), Typist("bash"), Typist("bash"), Typist("bash")
    one.type("rm -r /tmp/impo")
    same.type("rm -r /t", "mp/impo")
    other.type("rm -r ~/impo")
    elsewhere.type("cd ~\n", "rm -r /tmp/impo")
    assert bound(one, write) == bound(same, write)
    assert len({bound(agent, write) for agent in (one, other, elsewhere)}) == 3


def test_an_approval_in_an_interpreter_is_bound_to_its_earlier_input() -> None:
    write = {"action": "write", "data": "shutil.rmtree(p)\n"}
    one, other = Typist("python3"), Typist("python3")
    one.type("p = '/tmp/a'\n")
    other.type("p = '/home/u'\n")
    assert bound(one, write) != bound(other, write)


def test_the_approver_sees_the_whole_line() -> None:
    agent = Typist("bash")
    agent.type("cd ~\n", "rm -rf impo")
    assert agent.shown({"action": "write", "data": "rtant\n"}) == "cd '~'\nrm -rf important"
    assert agent.shown({"action": "send-keys", "keys": ["Up", "Enter"]}).startswith("rm -rf impo + ")


def test_an_agent_cannot_set_the_text_that_the_approver_sees() -> None:
    agent = Typist("bash")
    agent.type("rm -rf ~/impo")
    assert agent.shown({"action": "write", "data": "rtant\n", ENTERS: "ls"}) == "rm -rf ~/important"
    assert Typist("bash").shown({"action": "write", "data": "x", ENTERS: "ls"}) == ""


# --- budget, loops, other calls ---------------------------------------------------------------------------------------


def test_a_piece_that_enters_nothing_costs_nothing_and_earns_nothing() -> None:
    agent = Typist("bash", guard(budget={"mode": "enforce"}))
    assert set(agent.type(*"echo a b c d e f g h i j k l m n o p q r s t u v w x y z" * 3)) == {"allow"}
    known = agent.owner.autonomy.known(agent.call({}))
    assert known is None or known.spent == 0


def test_a_read_only_line_costs_nothing() -> None:
    agent = Typist("bash", guard(budget={"mode": "enforce"}))
    assert set(agent.type(*["ls -la\n", "git status\n", "pwd\n"] * 20)) == {"allow"}
    known = agent.owner.autonomy.known(agent.call({}))
    assert known is not None
    assert known.spent == 0
    agent.type("npm test\n")
    assert known.spent > 0


def test_the_message_shows_the_pending_line() -> None:
    agent = Typist("bash")
    assert STAYS in agent.last("rm -rf ~/impo", "rtant\n").reason
    assert STAYS not in Typist("bash").last("rm -rf ~/important\n").reason


def test_other_actions_are_not_typing() -> None:
    agent = Typist("bash")
    agent.type("rm -rf ~/impo")
    for action in ("poll", "log", "list"):
        call = agent.call({"action": action, "data": "rtant\n"})
        assert agent.owner.processes.joined(call) is call
        assert agent.owner.judge(call).decision == "allow"


def test_a_call_that_would_approve_is_blocked_in_any_process() -> None:
    unseen = Typist("bash", seen=False)
    assert unseen.do({"action": "paste", "text": "toolguard approve abcd"}).code == "rule.self-protection"
    assert unseen.do({"action": "submit", "data": "toolguard approve abcd --yes"}).code == "rule.self-protection"
    assert Typist("bash").last("toolguard ap", "prove abcd", "\n").code == "rule.self-protection"


def test_user_limits_apply_to_typed_commands() -> None:
    owner = guard(budget={"mode": "enforce"})
    said = {
        "id": "constraint.prod",
        "severity": "required",
        "reason": "Ask.",
        "path": ["/srv/prod/**"],
        "effect": ["delete"],
    }
    typing = {"id": "constraint.typing", "severity": "required", "reason": "Ask.", "tool": ["process"]}
    typing["params"] = {"data": "secret"}
    owner.use(BOOK.plus(rule_from(each, "constraint") for each in (said, typing)))
    agent = Typist("bash", owner)
    assert agent.last("rm /srv/pr", "od/x.txt", "\n").code == "constraint.prod"
    assert agent.do({"action": "write", "data": "secret"}).code == "constraint.typing"
    known = agent.owner.autonomy.known(agent.call({}))
    assert known is None or known.spent == 0


def test_always_block_applies_to_each_piece() -> None:
    agent = Typist("bash", guard(alwaysBlock=["process"]))
    assert agent.do({"action": "write", "data": "l"}).code == "approval.always-block"


def test_input_of_an_exempt_agent_is_still_tracked() -> None:
    """Its input counts for other agents."""
    agent = Typist("bash", guard(agents={"free": {"mode": "disabled"}}))
    call = replace(agent.call({"action": "write", "data": "rm -rf ~/impo"}), agent="free")
    assert agent.ask(call).decision == "allow"
    agent.owner.processes.completed(call, failed=False, refused=False)
    assert agent.last("rtant\n").decision == "hold"


def test_the_folder_and_the_environment_of_the_start_count() -> None:
    assert Typist("bash", params={"workdir": "/home/u"}).last("rm -rf important\n").decision == "hold"
    assert Typist("bash", params={"env": {"D": "/home/u/important"}}).last("rm -rf $D\n").decision == "hold"
    assert WORKSPACE


def test_without_a_terminal_keys_are_text() -> None:
    assert Typist("bash", pty=False).last("rm -rf ~/important #\x15", "\n").decision == "hold"
