"""Completion on Tab: what each shell is offered, in bash itself, and that nothing harmful reaches a shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from cli_stage import LIMIT, SCRIPT, toolguard
from held_stage import hold

from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import shell_completion

BASH = shutil.which("bash")
WORDS = {
    "approv": {"approve"},
    "config s": {"set", "show", "schema"},
    "kill-switch o": {"on", "off"},
    "config set metrics.dash": {"metrics.dashboard.enabled", "metrics.dashboard.port", "metrics.dashboard.bind"},
    "deny --re": {"--reason"},
    "help ch": set[str](),
    "approve zzzz": set(),
}


def offered(places: Places, line: str, shell: str = "bash") -> str:
    """What the command answers if this shell asks for the last word of the line."""
    words = ["toolguard", *line.split(" ")]
    asked = {"_TOOLGUARD_COMPLETE": f"complete_{shell}", "TOOLGUARD_STATE_DIR": str(places.state_dir)}
    asked |= {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    asked |= {"_TYPER_COMPLETE_ARGS": " ".join(words), "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    done = toolguard(**asked)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(("line", "wanted"), WORDS.items())
def test_words(places: Places, line: str, wanted: set[str]) -> None:
    assert wanted <= set(offered(places, line).split())
    assert wanted or not offered(places, line).strip()


@pytest.mark.parametrize("shell", shell_completion.SHELLS)
@pytest.mark.parametrize("command", ["approve", "deny"])
def test_nonces_of_waiting_calls(places: Places, command: str, shell: str) -> None:
    held = hold(places, agent="a'$(touch x)`;\x1b[31m", tool='exec"')
    hold(places, lasts=-1)
    answer = offered(places, f"{command} ", shell)
    assert held.nonce in answer
    assert answer.count("left") in (0, 1)  # bash shows no descriptions; the expired call is not offered
    assert not set("$`;\x1b") & set(answer.replace("'*: :", ""))


def test_nonces_of_calls_that_nobody_answered(places: Places) -> None:
    waits, gone = hold(places), hold(places, now=time.time() - 900)
    assert gone.nonce in (answer := offered(places, "revive "))
    assert waits.nonce not in answer


def test_a_damaged_store_offers_nothing(places: Places) -> None:
    hold(places)
    (places.own / "nonces.json").write_text("{")
    assert offered(places, "approve ").strip() == ""


@pytest.mark.parametrize("shell", shell_completion.SHELLS)
def test_script(shell: str) -> None:
    script = toolguard("--show-completion", shell)
    assert (script.returncode, script.stderr) == (0, "")
    assert "_TOOLGUARD_COMPLETE" in script.stdout
    assert toolguard("--show-completion", SHELL=f"/usr/bin/{shell}").stdout == script.stdout


@pytest.mark.parametrize("words", [["tcsh"], ["bash;ls"], []])
def test_an_unknown_shell(words: list[str]) -> None:
    done = toolguard("--install-completion", *words, SHELL="")
    assert (done.returncode, "bash|zsh|fish" in done.stderr) == (1, True)


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
def test_bash_completes_once_it_is_installed(places: Places, tmp_path: Path) -> None:
    held = hold(places)
    (tmp_path / ".bashrc").write_text("# mine\n")
    output = toolguard("--install-completion", "bash", HOME=str(tmp_path))
    assert output.returncode == 0
    assert (tmp_path / ".bashrc").read_text().startswith("# mine\n")
    asks = 'COMP_WORDS=(toolguard approve ""); COMP_CWORD=2; _toolguard_completion toolguard; echo "got ${COMPREPLY[*]}"'
    home = {**os.environ, "HOME": str(tmp_path), "TOOLGUARD_STATE_DIR": str(places.state_dir)}
    home["PATH"] = f"{SCRIPT.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [BASH or "", "--norc", "-c", f"source '{tmp_path}/.bashrc'; {asks}"],
        env=home, capture_output=True, text=True, timeout=LIMIT, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == (f"got {held.nonce}\n", "")
