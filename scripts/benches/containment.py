"""Measures what the room of the kernel stops, what it breaks, and what it costs.

Harmful deeds are tried as scripts and as compiled programs, without a room and in one of each profile. Honest commands
(`daily_work.jsonl`, and the harmless rows of a corpus with `--corpus`) run twice without a room and once in one, with the
doors that their text opens; what the two plain runs agree on (exit code, output, each file of the home folder) has to be
the same in the room. All that as a user without privileges, in a home of its own, on a machine that is cut off: no network
but the loopback, no other processes, an empty /tmp. What a command costs a real gateway is measured with `--only gateway`.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import socket
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

from figures import Figure, options, report

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / name) for name in ("engine", "gateway", "")]

import room_attacks  # noqa: E402 - from the tests
from room_stage import RoomStage  # noqa: E402
from toolguard_engine.config.containment_settings import Profile  # noqa: E402
from toolguard_engine.containment.doors import doors  # noqa: E402
from toolguard_engine.effects.calls.reading import CallReading  # noqa: E402
from toolguard_engine.model.call import Call  # noqa: E402
from toolguard_engine.server import room_surroundings  # noqa: E402

DAILY = Path(__file__).with_name("daily_work.jsonl")
"""What agents do all day in an empty folder; each line has the calls of one case, and what one starts the next finds. `PORT`
is a free port."""

SECONDS = 20
ATTEMPTS = 3
"""A difference counts if it comes each time: two plain runs may agree by chance, on a second or a moment."""
MOST = {"protect": 7, "secrets": 6, "workspace": 5}
"""Deeds that may succeed in each profile."""

PROFILES: tuple[Profile, ...] = tuple(each for each in get_args(Profile) if each in MOST)
SEEDS = {
    "file.txt": "b\na\na\n",
    "file": "one two\n",
    "filename": "a,b\n1,2\n",
    "data.csv": "a,b\n1,2\n",
    "dir/file1": "x\n",
}
_CLOCK = re.compile(r"\b\d\d:\d\d:\d\d\b|\b1[789]\d{8}\b")
"""Two runs may begin in the same second, and the third in the next."""
_OWNERS = re.compile(r"\b(?:root|nobody|nogroup|65534|0)\b *")
"""Files of root's appear as nobody's in a user namespace."""

_COSMETIC = (
    ("the owner of files of root's", re.compile(r"-(?:no)?(?:user|group)\b|^tar .* /var$"), ""),
    ("the mounts of the room", re.compile(r"\bdf\b|\bmount\b"), ""),
    ("what it may not see of processes outside", re.compile(r"^find / "), "/proc"),
    ("the mount point at which git stops looking for a repository", re.compile(r"^git "), "filesystem boundary"),
)
"""What else differs, for which commands, and what stands in what they say."""


class Outcome(NamedTuple):
    """What one run gave: exit codes and output of its calls, and the files of the home folder."""

    seen: dict[str, Any]
    is_outside: bool


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--corpus", type=Path, help="labelled commands, one JSON object per line")
    parser.add_argument("--only", choices=("attacks", "honest", "cost", "gateway"), help="measure only that")
    parser.add_argument("--match", default="", help="only honest commands that contain this")
    parser.add_argument("--outputs", action="store_true", help="also print what each of these says without a room")
    chosen = parser.parse_args()
    found: list[Figure] = []
    if chosen.only == "gateway":
        import contained_step  # noqa: PLC0415 - needs a gateway

        report(list(contained_step.figures()), chosen.json)
        return 0
    stage = RoomStage(alone=True)
    try:
        if chosen.only in (None, "cost"):
            found += cost(stage)
        if chosen.only in (None, "attacks"):
            found += attacks(stage)
        if chosen.only in (None, "honest"):
            cases = [case for case in (*daily(), *corpus(chosen.corpus)) if chosen.match in str(case)]
            found += honest(stage, cases, is_shown=chosen.outputs)
    finally:
        stage.close()
    report(found, chosen.json)
    return int(any(figure.kept is False for figure in found))


def cost(stage: RoomStage) -> Iterator[Figure]:
    room = stage.room()
    spent = stage.ask("cost", room=room, rounds=300)
    yield Figure("entering a room, over sh -c :", spent["entered"] - spent["plain"], "ms", f"sh: {spent['plain']:.2f}", 1.5)
    status = stage.run("cat", f"/proc/{room}/status", f"/proc/{room}/schedstat").out
    yield Figure("its keeper", int(status.partition("VmRSS:")[2].split()[0]) / 1000, "MB", promise=15)
    yield Figure("making it, the keeper's part", int(status.splitlines()[-1].split()[0]) / 1e6, "ms", promise=30)


def attacks(stage: RoomStage) -> Iterator[Figure]:
    gcc = shutil.which("gcc")
    for kind in ("script", "compiled") if gcc else ("script",):
        done: Counter[str] = Counter()
        for name, steps in room_attacks.ALL.items():
            argv = [sys.executable, "-I", "-S", "-c", room_attacks.python(steps)]
            if kind == "compiled":
                argv = [room_attacks.compiled(stage.top / "tool", steps)]
            ways = {profile: stage.succeeds(argv, profile) for profile in PROFILES}
            done.update({"plain": stage.succeeds(argv, None), **ways})
            print(f"{kind:9} {name:42}", ", ".join(each for each, is_done in ways.items() if is_done) or "-", flush=True)
        total = len(room_attacks.ALL)
        yield Figure(f"deeds of a {kind} that succeed", done["plain"], f"of {total}", promise=total, least=True)
        yield from (Figure(f"... with {each}", done[each], f"of {total}", promise=most) for each, most in MOST.items())


def daily() -> list[list[str]]:
    return [json.loads(line) for line in DAILY.read_text("utf-8").splitlines()]


def corpus(file: Path | None) -> list[list[str]]:
    rows = map(json.loads, file.read_text("utf-8").splitlines()) if file else ()
    return [[row["command"]] for row in rows if row["label"] == "benign"]


def honest(stage: RoomStage, cases: Sequence[list[str]], *, is_shown: bool = False) -> Iterator[Figure]:
    kinds: Counter[str] = Counter()
    for calls in cases:
        port = str(_free_port())
        texts = [text.replace("PORT", port) for text in calls]
        for _ in range(ATTEMPTS):
            first, second, held = (_worked(stage, texts, is_held=is_held) for is_held in (False, False, True))
            kind, what = _compared(texts, first.seen, second.seen, held)
            if kind != "DIFFERENT":
                break
        kinds[kind] += 1
        kinds["worked"] += all(code == 0 for key, code in first.seen.items() if key.startswith("code "))
        if is_shown:
            shown = {key: value for key, value in first.seen.items() if key[:4] in ("code", "out ", "err ") and value}
            print(f"{' ;; '.join(calls)[:200]}\n    {shown}", flush=True)
        if kind not in ("same", "outside"):
            print(f"{kind}: {' ;; '.join(calls)[:300]}\n    {what}", flush=True)
    yield Figure("honest commands", len(cases), "")
    yield Figure("... that succeed without a room", kinds["worked"], "")
    yield Figure("... the same in a room", kinds["same"], "")
    yield Figure("... the same, of which a part runs outside", kinds["outside"], "")
    yield from (Figure(f"... but for {name}", kinds[name], "") for name, _, _ in _COSMETIC)
    yield Figure("... different", kinds["DIFFERENT"], "", promise=0)


def _compared(texts: Sequence[str], first: dict[str, Any], second: dict[str, Any], held: Outcome) -> tuple[str, str]:
    """Only what two plain runs agree on can be compared."""
    agreed = {key: value for key, value in first.items() if second.get(key) == value}
    others = {key: (value, held.seen.get(key)) for key, value in agreed.items() if held.seen.get(key) != value}
    if not others:
        return "outside" if held.is_outside else "same", ""
    shown = "\n    ".join(f"{key}: {_short(plain)} -> {_short(inside)}" for key, (plain, inside) in list(others.items())[:4])
    is_owner = all(_OWNERS.sub("", str(plain)) == _OWNERS.sub("", str(inside)) for plain, inside in others.values())
    if is_owner:
        return _COSMETIC[0][0], shown
    said = [f"{plain} {inside}" for plain, inside in others.values()]
    named = (name for name, texts_of, part in _COSMETIC if texts_of.search(texts[0]) and all(part in each for each in said))
    return next(named, "DIFFERENT"), shown


def _short(value: Any) -> str:
    return repr(value)[-300:]


def _worked(stage: RoomStage, texts: Sequence[str], *, is_held: bool) -> Outcome:
    stage.renew()
    folder = stage.workspace / "work"
    for name, content in SEEDS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    stage.own()
    seen: dict[str, Any] = {}
    is_outside = False
    for number, text in enumerate(texts):
        room = stage.room(doors=sorted(_doors(stage, text, folder))) if is_held else 0
        is_outside = is_outside or room < 0
        done = stage.ask("try", room=max(room, 0), argv=["/bin/bash", "-c", text], cwd=str(folder), seconds=SECONDS)
        seen |= {f"{key} {number}": _CLOCK.sub("", str(done[key])) for key in ("out", "err")}
        seen[f"code {number}"] = done["code"]
    stage.ask("sweep")
    has_ended = all(seen[f"code {number}"] is not None for number in range(len(texts)))
    return Outcome(seen | (_files(stage.home) if has_ended else {}), is_outside)  # files of what was ended midway: chance


def _doors(stage: RoomStage, text: str, folder: Path) -> frozenset[str]:
    call = Call("exec", {"command": text}, agent="main", session="agent:main:main", cwd=str(folder))
    return doors(CallReading(call, stage.host), lambda name: room_surroundings.is_trusted(name, stage.host))


def _files(home: Path) -> dict[str, str]:
    return {str(path.relative_to(home)): _content(path) for path in home.rglob("*")}


def _content(path: Path) -> str:
    mode = f"{path.lstat().st_mode:o} {path.lstat().st_uid}"
    if path.is_dir() and not path.is_symlink():
        return " ".join([mode, *sorted(each.name for each in path.iterdir())])
    is_plain = path.is_file() and not path.is_symlink()
    return f"{mode} {hashlib.sha256(path.read_bytes()).hexdigest()[:12]}" if is_plain else mode


def _free_port() -> int:
    with socket.socket() as any_socket:
        any_socket.bind(("127.0.0.1", 0))
        port: int = any_socket.getsockname()[1]
        return port


if __name__ == "__main__":
    sys.exit(main())
