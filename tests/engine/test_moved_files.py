"""What is remembered of files stays right when they are moved: compared with what `mv` really does."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from effort import ALL
from test_file_watch import Play
from toolguard_engine.model import work_allowance
from toolguard_engine.model.file_memory import FileMemory
from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.work_limit import BASE
from toolguard_engine.server.file_watch import MAX_LOOKED_AT
from toolguard_engine.wire import messages

AGENT = FileRecord("agent", "exec", "s", created=True)
SOURCES = ("a.sh", "b.sh", "c.sh", "d", "e", "d/a.sh", "e/*", "*.sh", "*", '"$UNSET"', "~", "/", "..", ".", "./d", "nosuch")
TARGETS = ("a.sh", "c.sh", "d", "d/", "e", "e/", "d/b.sh", "f", "~/Documents/", "~/Documents/x")


def decided(play: Play, command: str) -> str:
    """What the guard says about a command. Whatever it does, the memory takes it as having run if it may."""
    play.count += 1
    place = {"agent": "main", "session": "s", "run": f"r{play.count}", "call": f"c{play.count}", "cwd": str(play.work)}
    answer = play.session.answer(messages.Judge(play.count, "exec", {"command": command}, **place))
    play.session.settle()
    assert isinstance(answer, messages.VerdictAnswer)
    return answer.decision


def really(play: Play, command: str) -> None:
    environment = {"HOME": str(play.work.parent), "PATH": "/usr/bin:/bin"}
    subprocess.run(["/bin/sh", "-c", command], cwd=play.work, env=environment, capture_output=True, check=False)


@pytest.fixture
def play(tmp_path: Path) -> Play:
    found = Play(tmp_path)
    (tmp_path / "Documents").mkdir()
    for folder in ("d", "e"):
        (found.work / folder).mkdir()
    for path in (found.work / "b.sh", found.work / "d" / "mine.sh", tmp_path / "Documents" / "a.md"):
        path.write_text("person")
    return found


@pytest.mark.parametrize("seed", range(60 if ALL else 15))
def test_no_move_makes_the_guard_forget_or_confuse(play: Play, seed: int) -> None:
    """A file that an agent wrote is known as such wherever it is now, and one of the person never is."""
    chance = random.Random(seed)  # noqa: S311 - not a secret
    for _ in range(12):
        if chance.random() < 0.3:
            path = chance.choice(("a.sh", "c.sh", "d/a.sh", "e/x.sh"))
            if (play.work / path).is_dir():
                continue
            command = f"echo agent > {path}"
        else:
            command = f"mv {chance.choice(SOURCES)} {chance.choice(TARGETS)}"
        if decided(play, command) == "allow":
            really(play, command)
        memory = play.session.guard.files
        for path in (path for path in play.work.parent.rglob("*") if path.is_file() and path.suffix in (".sh", ".md")):
            record, content = memory.recall(str(path)), path.read_text().strip()
            if content == "agent":
                assert record is not None, (command, path)
            else:
                assert record is None or record.was or not record.created, (command, path)


@pytest.mark.parametrize("source", ['"$UNSET"', '""', "theme/*", "~", "/", "..", ".", "$(nosuch)", "*.nosuch"])
def test_a_source_that_is_not_known_changes_nothing(play: Play, source: str) -> None:
    decided(play, "echo agent > tools.py; mkdir -p sub; echo agent > sub/tools.py")
    before = play.session.guard.files.records
    decided(play, f"mv {source} modes")
    now = play.session.guard.files.records
    assert {path: now.get(path) for path in before} == before


MOVES = [
    "mv ~/Documents/a.md out/", "mv ~/Documents/*.md out/", "find ~/Documents -name '*.md' -exec mv {} out/ \\;",
    "ls ~/Documents | while read f; do mv ~/Documents/$f out/; done",
]  # fmt: skip


@pytest.mark.parametrize("command", MOVES)
def test_what_a_program_chose_to_move_is_still_the_persons(play: Play, command: str) -> None:
    (play.work / "out").mkdir()
    assert decided(play, "rm -rf out") == "allow"
    assert decided(play, command) == "allow"
    assert decided(play, "rm -rf out") == "block"


@pytest.mark.parametrize(
    "command", ["find . -name '*.tmp' -exec mv {} out/ \\;", "echo a > x; mv x out/", "find d -name mine.sh"]
)
def test_what_was_moved_out_of_the_work_may_be_deleted(play: Play, command: str) -> None:
    (play.work / "out").mkdir()
    assert decided(play, command) == "allow"
    assert decided(play, "rm -rf out") == "allow"


def test_a_script_is_known_after_honest_moves(play: Play) -> None:
    """It had been held as unreadable, and ran after one of these."""
    decided(play, "echo agent > tools.sh")
    decided(play, 'cd src && mv theme/* modes/theme/; mv "$UNSET" x')
    assert play.session.guard.files.exactly(str(play.work / "tools.sh")) is not None
    decided(play, "mkdir bin; mv t*.sh bin/")
    assert play.session.guard.files.exactly(str(play.work / "bin" / "tools.sh")) is not None
    decided(play, "mv bin lib")
    assert play.session.guard.files.exactly(str(play.work / "lib" / "tools.sh")) is not None


MOVED_AND_DELETED = [
    ("mkdir out; mv ~/Documents/a.md out/", "rm -rf out"),
    ("mv ~/Documents/a.md out/", "rm -rf ./out/"),
    ("mkdir out; mv ~/Documents/* out/", "rm -rf out"),
    ("mv ~/Documents/*.md build/", "rm -r build"),
    ("mv ~/Documents/a.md build/a.md; mv build old", "rm -rf old"),
    ("mv ~/Documents/a.md out/x", "find out -delete"),
    ("mkdir out; mv ~/Documents/a.md out/", "rm -rf out/*"),
    ("mkdir out; mv ~/Documents/a.md out/", "rm out/*.md"),
    ("mkdir out; mv ~/Documents/* out/", "rm out/*"),
    ("mkdir -p out/sub; mv ~/Documents/a.md out/sub/", "rm -r out/s*"),
    ("mkdir out; mv ~/Documents/a.md out/", 'rm out/"$X"'),
    ("mkdir out; mv ~/Documents/a.md out/", "ls out | xargs -I{} rm out/{}"),
    ("mkdir out; mv ~/Documents/a.md out/", "find out -type f -exec rm {} +"),
    ("cp ~/Documents/a.md b && mv b ~/Documents/a.md", "rm ~/Documents/a.md"),
    ("cp ~/Documents/a.md b; mv -f b ~/Documents/a.md", "rm -f ~/Documents/a.md"),
]


@pytest.mark.parametrize(("moves", "deletes"), MOVED_AND_DELETED)
def test_what_was_moved_is_still_the_persons(play: Play, moves: str, deletes: str) -> None:
    assert decided(play, moves) == "allow"
    really(play, moves)
    assert decided(play, deletes) != "allow"


FREE = [
    ("mkdir out; echo x > out/a.txt", "rm -rf out"),
    ("echo x > a.txt; mkdir build; mv a.txt build/", "rm -rf build"),
    ("mv /tmp/x.tar build/", "rm -rf build"),
    ("mv dist/* build/", "rm -rf build"),
    ("mkdir out; mv ~/Documents/a.md out/", "rm out/*.o"),
    ("mkdir -p out/sub; mv ~/Documents/a.md out/sub/", "rm -f out/*"),
    ("mkdir out; mv ~/Documents/a.md out/", "find out -name '*.pyc' -delete"),
    ("mkdir build; echo x > build/a; mv build/* .", "rm -rf build/*"),
    ("echo x > ~/Documents/new.md; mv ~/Documents/new.md ~/Documents/newer.md", "rm ~/Documents/newer.md"),
]


@pytest.mark.parametrize(("makes", "deletes"), FREE)
def test_what_agents_made_themselves_stays_free(play: Play, makes: str, deletes: str) -> None:
    assert decided(play, makes) == "allow"
    really(play, makes)
    assert decided(play, deletes) == "allow"


def ends(play: Play, command: str) -> None:
    """The call that was judged last has run."""
    place = {"agent": "main", "session": "s", "run": f"r{play.count}", "call": f"c{play.count}"}
    play.session.answer(messages.ToolResult("exec", {"command": command}, "done", 4, **place))
    play.session.settle()


NOT_DELETED = [
    "false && rm f.sh",
    "if false; then rm f.sh; fi",
    "rm -i f.sh < /dev/null",
    "rm nosuch/../f.sh; true",
    "find . -type d -empty -delete",
    "rm -f *.nosuch",
]


@pytest.mark.parametrize("command", NOT_DELETED)
def test_a_deletion_that_did_not_happen_changes_nothing(play: Play, command: str) -> None:
    """A script too large to be read was held, and ran after one of these."""
    assert decided(play, "echo x > f.sh") == "allow"
    (play.work / "f.sh").write_text("# padding\n" * 300_000 + "rm -rf ~/Documents\n")
    assert decided(play, "sh f.sh") != "allow"
    assert decided(play, command) == "allow"
    really(play, command)
    ends(play, command)
    assert (play.work / "f.sh").exists()
    assert decided(play, "sh f.sh") != "allow"


DELETED = ["rm f.sh", "rm f.sh; rm -f sub/h.sh", "mv f.sh g.sh", "cd sub && rm h.sh"]


@pytest.mark.parametrize("command", DELETED)
def test_what_is_gone_is_forgotten(play: Play, command: str) -> None:
    makes = "echo x > f.sh; mkdir -p sub; echo x > sub/h.sh"
    decided(play, makes)
    really(play, makes)
    ends(play, makes)
    assert decided(play, command) == "allow"
    really(play, command)
    ends(play, command)
    known = {path for path in play.session.guard.files.records if not Path(path).exists()}
    assert known == set()


def test_a_file_that_is_put_back_is_not_the_agents(play: Play) -> None:
    """`git checkout` and the like bring back what a person has made."""
    decided(play, "echo x > ~/Documents/n.txt")
    command = "rm ~/Documents/n.txt; ./restore"
    assert decided(play, command) == "allow"
    (play.work.parent / "Documents" / "n.txt").write_text("person")
    ends(play, command)
    assert decided(play, "rm ~/Documents/n.txt") != "allow"


def test_what_lies_in_a_folder_is_known_by_where_it_was() -> None:
    memory = FileMemory()
    memory.restore({f"/w/{at}": AGENT for at in range(5)} | {"/w/x": FileRecord("agent", was="/home/ada/Documents/x")})
    assert memory.moved_into("/w") == ["/home/ada/Documents/x"]
    memory.moved("/w", "/v")
    memory.removed({"/w"})
    assert memory.moved_into("/w") == []
    assert memory.moved_into("/v") == ["/home/ada/Documents/x"]
    memory.removed({"/v/x"})
    assert memory.moved_into("/v") == []


STALLS = ["mv a b;rm c;" * 120, "mv * b; " * 28, "mv b/* c; mv c/* b; " * 40, "mv a b; mv b a; echo > a/x; " * 60]


@pytest.mark.parametrize("command", STALLS)
def test_no_call_does_much_behind_its_answer(play: Play, command: str) -> None:
    """One of 2 kB had stopped all sessions for a second."""
    memory = play.session.guard.files
    memory.restore({f"{play.work}/{folder}/f{at}": AGENT for folder in "ab" for at in range(5_000)})
    before = memory.steps
    if decided(play, command) == "allow":
        ends(play, command)
    assert memory.steps - before < BASE + work_allowance.FREE


@pytest.mark.parametrize("command", ["mv a c", "mv a/* c/", "rm -rf build", "cp -r a c; mv a build"])
def test_a_large_folder_is_moved_and_deleted_unasked(play: Play, command: str) -> None:
    play.session.guard.files.restore(
        {f"{play.work}/{folder}/f{at}": AGENT for folder in ("a", "build") for at in range(2_000)}
    )
    assert decided(play, command) == "allow"


def test_a_large_folder_that_was_not_deleted_is_doubted(play: Play) -> None:
    """Not each of its files is looked at."""
    memory = play.session.guard.files
    (play.work / "build").mkdir()
    memory.restore({f"{play.work}/build/f{at}": AGENT for at in range(MAX_LOOKED_AT + 500)})
    assert decided(play, "false && rm -rf build") == "allow"
    ends(play, "false && rm -rf build")
    known = memory.records
    assert len(known) >= 500
    assert not any(record.created for record in known.values())
