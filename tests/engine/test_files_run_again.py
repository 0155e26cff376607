"""A person's script that many targets run is judged a few times, not once for each of them."""

from __future__ import annotations

import pytest

from test_run_files import HARM, WORK, guard, weighed
from toolguard_engine.effects.commands.entered_files import MAX_AGAIN
from toolguard_engine.model.call import Call
from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.files import Unread

MANY = 60
STEP = 'set -e\nwhile [ $# -gt 0 ]; do\n  case $1 in a) x=$1 ;; b) y=$(date) ;; esac\n  shift\ndone\necho "$x" "$y" | sort\n'
RUNS = {
    "make": ("Makefile", "all:\n" + "".join(f"\t./step.sh {n}\n" for n in range(MANY))),
    "make x": ("Makefile", "".join(f"x: t{n}\nt{n}:\n\tsh step.sh {n}\n" for n in range(MANY))),
    "sh all.sh": ("all.sh", "".join(f"bash step.sh {n}\n" for n in range(MANY))),
    "just": ("justfile", "all:\n" + "".join(f"    ./step.sh {n}\n" for n in range(MANY))),
}


def spent(command: str, files: dict[str, str | Unread], made: dict[str, FileRecord] | None = None) -> float:
    judged, _ = guard(files, made)
    reading = judged.read(Call("exec", {"command": command}, cwd=WORK))
    judged.weigh_reading(reading)
    return reading.work.spent + reading.running.work.spent


@pytest.mark.parametrize("command", RUNS)
def test_what_many_targets_run_costs_a_few_times_as_much(command: str) -> None:
    name, text = RUNS[command]
    nothing, once = (spent(command, {name: text, "step.sh": step}) for step in ("true\n", STEP))
    alone = spent("sh step.sh 1", {"step.sh": STEP})
    assert once - nothing < 2 * MAX_AGAIN * alone


@pytest.mark.parametrize("command", RUNS)
def test_what_it_does_is_found(command: str) -> None:
    name, text = RUNS[command]
    assert weighed(command, {name: text, "step.sh": HARM}).decision == "hold"
    assert weighed(command, {name: f"{text}\t{HARM}\n" if name == "Makefile" else text, "step.sh": HARM}).decision == "hold"


@pytest.mark.parametrize("command", RUNS)
def test_a_file_of_an_agent_is_judged_each_time(command: str) -> None:
    """What it is given may be what is dangerous."""
    name, text = RUNS[command]
    last = text.replace(f"step.sh {MANY - 1}", f"step.sh {HARM}")
    assert weighed(command, {name: last, "step.sh": '"$@"\n'}, {"step.sh": FileRecord("agent")}).decision == "hold"
    assert weighed(command, {name: last, "step.sh": '"$@"\n'}, {name: FileRecord("agent")}).decision == "hold"


def test_a_command_runs_a_script_as_often_as_it_likes() -> None:
    runs = "./step.sh ls; " * (2 * MAX_AGAIN)
    assert weighed(f"{runs}./step.sh {HARM}", {"step.sh": '"$@"\n'}).decision == "hold"
    assert weighed(runs, {"step.sh": '"$@"\n'}).decision == "allow"


def test_what_a_script_takes_in_is_there_each_time() -> None:
    """It may set what the script uses."""
    few = 3 * MAX_AGAIN
    files: dict[str, str | Unread] = {f"{n}.sh": f". ./lib.sh\nclean{n} /\n" for n in range(few)}
    files["lib.sh"] = f"clean{few - 1}() {{ {HARM}; }}\n"
    files["Makefile"] = "all:\n" + "".join(f"\tsh {n}.sh\n" for n in range(few))
    assert weighed("make", files).decision == "hold"
