"""Measures verdicts, commands, approvals, and edits of the config.

Every figure is compared with a baseline of the same run: a verdict with a bare pipe, a command with an empty Python process,
an embedded run of OpenClaw with the plugin with one without it (`--gateway`, about two minutes).
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import json5
from figures import Figure, milliseconds, options, quantile, report

from toolguard_cli.hostconfig import json5_edit
from toolguard_cli.operations import install_plugin
from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway, local_turn
from toolguard_cli.system import paths
from toolguard_engine.approvals.ledger import Decision, HeldCall
from toolguard_engine.stores import atomic
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.ports import HeldCallStore

HERE = Path(__file__).resolve().parent
TOOLGUARD = Path(sys.executable).with_name("toolguard")
COMMAND_ROUNDS = 15
APPROVAL_ROUNDS = 500
WAITING = 50
EXIT_ROUNDS = 5
WAKING_ROUNDS = 4
WAKING_LIMIT = 30
EDITS = 15
SECTION = """\
  // section {n}: what the agent may do
  "agent-{n}": {{
    enabled: true, // since {n}
    limits: {{ max: {n}, min: 0x1F, ratio: .5 }},
    tools: ['read', "write", 'exec', // and some more
      'message'],
    nested: {{ /* over
      two lines */ token: "${{TOKEN_{n}}}", depth: {{ a: null, b: [1, 2, 3] }} }},
  }},

"""


def main() -> int:
    parser = options(__doc__)
    parser.add_argument(
        "--gateway", action="store_true", help="also on a real gateway: waking, and the end of `agent --local`"
    )
    parser.add_argument("--rounds", type=int, default=5000, help="questions per row (5000)")
    chosen = parser.parse_args()
    figures = [*pipe(chosen.rounds), *command_line(), *approvals(), *edits()]
    if chosen.gateway:
        figures += [*embedded_exit(), *waking()]
    report(figures, chosen.json)
    return 0


def pipe(rounds: int) -> list[Figure]:
    """The time from an event to the verdict, and what the engine process costs."""
    with tempfile.TemporaryDirectory(prefix="toolguard-bench-") as state:
        script = [str(downloads.node(print)), str(HERE / "pipe.mjs"), sys.executable, state, str(rounds)]
        done = json.loads(subprocess.run(script, check=True, capture_output=True, text=True).stdout)
    bare, *rows = done["rows"]
    figures = [Figure(f"{bare['name']}, {which}", bare[which], "ms") for which in ("p50", "p99")]
    for row in rows:
        for which, promise in (("p50", 0.10), ("p99", 0.5)):
            ratio = f"{row[which] / bare[which]:.1f} x the bare pipe"
            figures.append(Figure(f"{row['name']}, {which}", row[which], "ms", ratio, promise))
    return [
        *figures,
        Figure("engine ready, median of 10", done["readyMs"], "ms", promise=300),
        Figure("engine back after SIGKILL, longest of 5", done["restartMs"], "ms", promise=500),
        Figure("engine memory after the rounds", done["memoryMb"], "MB", promise=60),
    ]


def command_line() -> list[Figure]:
    empty = median_ms([sys.executable, "-c", ""])
    helped = median_ms([str(TOOLGUARD), "--help"])
    return [Figure("toolguard --help", helped, "ms", f"{helped / empty:.1f} x an empty Python", 200)]


def approvals() -> list[Figure]:
    """An approval used up in a store where others wait, beside a file of that size put in place durably; and a yes."""
    with tempfile.TemporaryDirectory(prefix="toolguard-bench-") as folder:
        state = Path(folder)
        store = stores.held_calls(state)
        for number in range(WAITING):
            store.present(_held(f"waiting-{number}"), time.time())
        used, bare = [], []
        for number in range(APPROVAL_ROUNDS):
            held = _held(f"approved-{number}")
            store.approve(store.present(held, time.time()).entry.nonce, Decision("bench", "cli"), time.time(), 30)
            used.append(milliseconds(partial(store.present, held, time.time())))
            data = store.path.read_bytes()
            bare.append(milliseconds(partial(atomic.replace, state / "bare", data)))
        said = [_said_yes(store, state, number) for number in range(COMMAND_ROUNDS)]
    empty = median_ms([sys.executable, "-c", ""])
    rows = [(which, quantile(used, part), quantile(bare, part)) for which, part in (("p50", 0.5), ("p99", 0.99))]
    return [
        *(
            Figure(f"approval used up, {WAITING} waiting, {which}", value, "ms", f"{value / beside:.1f} x a durable file", 5)
            for which, value, beside in rows
        ),
        Figure("toolguard approve --yes, longest", max(said), "ms", f"{max(said) / empty:.1f} x an empty Python", 300),
        Figure("toolguard approve --yes, median", round(statistics.median(said), 1), "ms"),
    ]


def _held(binding: str) -> HeldCall:
    now = time.time()
    shown = 'exec({ command: "git push origin main --tags && npm publish" })'
    return HeldCall("", binding, "exec", "main", "agent:main:main", "run", "rule.x", "a reason", shown, now, now + 300)


def _said_yes(store: HeldCallStore, state: Path, number: int) -> float:
    nonce = store.present(_held(f"yes-{number}"), time.time()).entry.nonce
    command = [str(TOOLGUARD), "approve", nonce, "--yes", "--state-dir", str(state)]
    return milliseconds(lambda: subprocess.run(command, check=True, capture_output=True))


def edits() -> list[Figure]:
    """The time to judge edits of an `openclaw.json` of 2,000 lines, each on a text not read before."""
    sections = 2_000 // SECTION.count("\n")
    text = "{\n" + "".join(SECTION.format(n=n) for n in range(sections)) + "}\n"
    place = [f"agent-{sections // 2}", "nested"]

    def move(fresh: str) -> object:
        without, clip = json5_edit.cut(fresh, place)
        return json5_edit.paste(without, ["agent-0", "moved"], clip)

    works = {
        "a value set": lambda fresh: json5_edit.set_value(fresh, [*place, "depth", "a"], 7),
        "a value deleted": lambda fresh: json5_edit.delete(fresh, place),
        "a value moved": move,
    }
    whole = milliseconds(lambda: json5.loads(text))
    found = []
    for name, work in works.items():
        times = [milliseconds(partial(work, f"{text}// {name} {number}\n")) for number in range(EDITS)]
        beside = f"json5.loads takes {whole:.0f} ms"
        found.append(Figure(f"{name} in 2,000 lines, p50", statistics.median(times), "ms", beside, 50))
    return found


def median_ms(command: list[str]) -> float:
    run = partial(subprocess.run, command, check=True, capture_output=True)
    return round(statistics.median(milliseconds(run) for _ in range(COMMAND_ROUNDS)), 1)


def embedded_exit() -> list[Figure]:
    """One tool call in an embedded run, with and without the plugin, in turns; the first round warms up."""
    real = downloads.ensure(progress=print)
    seconds: dict[bool, list[float]] = {False: [], True: []}
    with (
        scripted_model.ScriptedModel(scripted_model.sequence([])) as server,
        Home(server.base_url) as bare,
        Home(server.base_url) as guarded,
    ):
        install_plugin.run(paths.Places(guarded.state_dir, guarded.config_path), link=False, dry_run=False)
        for _ in range(EXIT_ROUNDS + 1):
            for home in (bare, guarded):
                server.play(scripted_model.sequence([scripted_model.call("exec", {"command": "true"})]))
                seconds[home is guarded].append(local_turn(real, home, "go").seconds)
    without, with_guard = (statistics.median(seconds[which][1:]) for which in (False, True))
    beside = f"{without:.1f} s without, {with_guard:.1f} s with the plugin"
    return [Figure("agent --local ends later by", round(with_guard - without, 2), "s", beside, 0.5)]


def waking() -> list[Figure]:
    """The time from `toolguard approve` in a terminal to the idle agent's next request, beside an ordinary turn."""
    real = downloads.ensure(progress=print)
    call = scripted_model.call("exec", {"command": "shutdown --help; rm -r nothing-there"})
    woken, usual = [], []
    with scripted_model.ScriptedModel(scripted_model.sequence([])) as server, Home(server.base_url) as home:
        places = paths.Places(home.state_dir, home.config_path)
        install_plugin.run(places, link=False, dry_run=False)
        with Gateway(real, home) as gateway:
            for number in range(WAKING_ROUNDS):
                session = f"agent:main:bench-{number}"
                server.play(scripted_model.sequence([call]))
                usual.append(gateway.turn("go", session).seconds)
                waiting = [entry for entry in stores.held_calls(home.state_dir).entries() if entry.session == session]
                server.play(scripted_model.sequence([]))
                woken.append(_woken(server, home.state_dir, waiting[0].nonce))
    beside = f"an ordinary turn takes {statistics.median(usual):.1f} s"
    return [Figure("idle agent asks its model after approve, longest", round(max(woken), 2), "s", beside, 3)]


def _woken(server: scripted_model.ScriptedModel, state: Path, nonce: str) -> float:
    started = time.perf_counter()
    subprocess.run([str(TOOLGUARD), "approve", nonce, "--yes", "--state-dir", str(state)], check=True, capture_output=True)
    while not server.requests and time.perf_counter() - started < WAKING_LIMIT:
        time.sleep(0.01)
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
