"""The memory of files on disk: changes are added to it, and whatever happens to the files, what was saved is read again."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from effort import examples
from test_file_memory import DEEDS, RECORDS
from toolguard_engine.model import file_filling, file_list, file_memory
from toolguard_engine.model.file_folder import Folder
from toolguard_engine.model.file_list import FileList, ListedFolder
from toolguard_engine.model.file_memory import MAX_UNSAVED, FileMemory
from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.living_programs import LivingProgram
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.files.made_files_file import LEAST
from toolguard_engine.stores.locked import Damaged, Newer
from toolguard_engine.stores.ports import FileMemoryStore

PROGRAMS = [LivingProgram((f"sh {name} &",), files={name: name}, goes_on=True) for name in "abc"]


class Engine:
    """The memory of an engine, and how it saves it."""

    def __init__(self, folder: Path) -> None:
        self.store: FileMemoryStore = stores.file_memory(folder)
        self.memory, saved = FileMemory(), self.store.load()
        self.memory.restore(saved.tree, saved.changes)
        self.programs = saved.programs
        self.whole = 0

    def saves(self) -> None:
        changes = self.memory.take_unsaved()
        if changes is not None and not self.store.wants_all:
            self.store.append(changes, self.programs)
        if changes is None or self.store.wants_all:
            self.whole += 1
            self.store.save(self.memory.listed, self.programs)


def test_the_next_engine_knows_the_folders_that_agents_made(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    for path in ("/a", "/b", "/c"):
        engine.memory.made_folder(path, "s")
    engine.saves()
    engine.memory.forget_folders(["/b"])
    engine.memory.made_folder("/d", "s")
    engine.saves()
    after = Engine(tmp_path)
    after.memory.doubt_folders_around("/c/x")
    assert [path for path in ("/a/x", "/b", "/c", "/d") if after.memory.is_in_made_folder(path, "s")] == ["/a/x", "/d"]
    assert not after.memory.is_in_made_folder("/a", "other")
    after.saves()
    last = Engine(tmp_path)
    assert [path for path in ("/a", "/c", "/d") if last.memory.is_in_made_folder(path, "s")] == ["/a", "/d"]
    assert (engine.whole, after.whole) == (1, 0)


def do(memory: FileMemory, deed: tuple[object, ...]) -> None:
    match deed:
        case ("wrote", str(path), FileRecord() as record):
            memory.wrote(path, record)
        case ("moved", str(source), str(target)):
            memory.moved(source, target)
        case ("moved-matching", str(pattern), str(folder)):
            memory.moved_matching(pattern, folder)
        case ("removed", list(paths)):
            memory.removed(set(paths))
        case ("doubts", str(path)):
            memory.doubts(path)


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(DEEDS, max_size=12), st.lists(st.sets(st.sampled_from(range(3))), max_size=4))
def test_the_next_engine_knows_the_same(
    tmp_path_factory: pytest.TempPathFactory, deeds: list[tuple[object, ...]], programs: list[set[int]]
) -> None:
    folder = tmp_path_factory.mktemp("state")
    engine = Engine(folder)
    for at, deed in enumerate(deeds):
        do(engine.memory, deed)
        engine.programs = [PROGRAMS[each] for each in programs[at % len(programs)]] if programs else []
        if at % 3:
            engine.saves()
        if at % 5 == 4:
            engine.saves()
            engine = Engine(folder)
    engine.saves()
    after = Engine(folder)
    assert after.memory.records == engine.memory.records
    assert after.programs == engine.programs
    assert engine.whole <= 1


def shape(folder: Folder) -> tuple[object, ...]:
    """All of a folder, with what is counted in it."""
    inside = [(name, shape(node) if isinstance(node, Folder) else node) for name, node in folder.children.items()]
    return inside, folder.record, folder.maker, folder.sizes, folder.moved, folder.longest


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(DEEDS, max_size=12))
def test_a_list_has_all_of_the_tree(deeds: list[tuple[object, ...]]) -> None:
    memory = FileMemory()
    for deed in deeds:
        do(memory, deed)
    after = file_list.filled(msgspec.json.decode(msgspec.json.encode(memory.listed), type=FileList))
    assert shape(after.root) == shape(file_filling.filled(memory.records.items()).root)
    assert FileMemory(after).records == memory.records


@pytest.mark.parametrize("names", [["a" * length for length in (1, 63, 64, 200)], ["a"], ["", "b"]])
def test_a_folder_of_equal_files_is_counted_like_others(names: list[str]) -> None:
    records = {f"/w/{name}": RECORDS[0] for name in names}
    found = file_list.listed(file_filling.filled(records.items()))
    assert found.folders[-1] == ListedFolder("/".join(names), 0)
    assert shape(file_list.filled(found).root) == shape(file_filling.filled(records.items()).root)


AGENT = {"origin": "agent"}


@pytest.mark.parametrize(
    "files",
    [
        {"records": [AGENT], "folders": [["a", 1]]},
        {"records": [AGENT], "folders": [["a", -1]]},
        {"records": [AGENT], "folders": [["a", [-1]]]},
        {"records": [AGENT], "folders": [["a", [-3]], ["b", 0]]},
        {"records": [AGENT], "folders": [["a/b", [0]]]},
        {"records": [AGENT], "folders": [["a/a", 0]]},
        {"records": [AGENT], "folders": [["a/a", [0, 0]]]},
        {"records": [AGENT], "folders": [["a", 0], ["b", 0]]},
        {"records": [], "folders": [["", []]]},
        {"records": [AGENT], "folders": [["a" * 5_000, 0]]},
        {"records": [AGENT], "folders": [*([["a" * 99, [-1]]] * 50), ["a", 0]]},
        {"records": {}, "folders": []},
    ],
)
def test_a_damaged_list_is_no_memory(tmp_path: Path, files: object) -> None:
    store = stores.file_memory(tmp_path)
    store.save(FileList(), [])
    store.path.write_text(json.dumps({"v": 2, "files": files}))
    with pytest.raises(Damaged):
        store.load()


def test_a_newer_file_is_left_alone(tmp_path: Path) -> None:
    store = stores.file_memory(tmp_path)
    store.save(FileList(), [])
    store.path.write_text(json.dumps({"v": 3, "files": {"folders": [["a", 1]]}}))
    with pytest.raises(Newer):
        store.load()


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    found = Engine(tmp_path)
    found.memory.restore({f"/w/{at}/f": RECORDS[0] for at in range(2_000)})
    found.saves()
    return found


def sizes(engine: Engine) -> list[int]:
    return [path.stat().st_size for path in sorted(engine.store.path.parent.iterdir())]


def test_a_change_writes_only_itself(engine: Engine) -> None:
    before, file = sizes(engine), engine.store.path.read_bytes()
    engine.memory.moved("/w", "/v")
    engine.memory.removed({"/w"})
    engine.saves()
    assert sum(sizes(engine)) - sum(before) < 200
    assert engine.store.path.read_bytes() == file


def test_a_long_journal_is_replaced(tmp_path: Path, engine: Engine) -> None:
    for at in range(40):
        for number in range(400):
            engine.memory.wrote(f"/x/{at}/{'n' * 60}{number}", RECORDS[0])
        engine.saves()
    assert 1 < engine.whole < 24
    assert sum(sizes(engine)) < 4 * engine.store.path.stat().st_size + LEAST
    assert Engine(tmp_path).memory.records == engine.memory.records


def test_too_many_changes_are_saved_as_a_whole(tmp_path: Path, engine: Engine) -> None:
    for at in range(MAX_UNSAVED + 1):
        engine.memory.wrote(f"/x/{at}", RECORDS[0])
    engine.saves()
    assert engine.whole == 2
    assert Engine(tmp_path).memory.records == engine.memory.records


def test_what_takes_long_to_do_again_is_saved_as_a_whole(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_memory, "MAX_REPEATED", 2_000)
    engine.memory.restore({f"/x/{at}": RECORDS[0] for at in range(200)})
    for _ in range(20):
        engine.memory.moved_matching("/x/*", "/y")
        engine.saves()
    assert 1 < engine.whole < 10
    assert Engine(tmp_path).memory.records == engine.memory.records


def test_a_disk_that_gets_full_within_a_line(tmp_path: Path, engine: Engine) -> None:
    engine.memory.wrote("/first", RECORDS[0])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(
            resource.RLIMIT_FSIZE, (engine.store.path.with_name("made-files.journal").stat().st_size + 20, before[1])
        )
        engine.store.append(engine.memory.take_unsaved() or [], [])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert engine.store.wants_all
    engine.memory.wrote("/second", RECORDS[0])
    engine.saves()
    assert Engine(tmp_path).memory.records == engine.memory.records


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_half_a_line_of_a_killed_engine(tmp_path: Path, engine: Engine, cut: int) -> None:
    engine.memory.wrote("/first", RECORDS[0])
    engine.saves()
    engine.memory.wrote("/second", RECORDS[0])
    engine.saves()
    journal = engine.store.path.with_name("made-files.journal")
    journal.write_bytes(journal.read_bytes()[:-cut])
    after = Engine(tmp_path)
    assert after.memory.exactly("/first") is not None
    assert after.memory.exactly("/second") is None
    after.memory.wrote("/third", RECORDS[0])
    after.saves()
    last = Engine(tmp_path).memory
    assert [last.exactly(path) is not None for path in ("/first", "/second", "/third")] == [True, False, True]


def test_an_engine_of_an_earlier_version_replaces_the_file(tmp_path: Path, engine: Engine) -> None:
    engine.memory.wrote("/new", RECORDS[0])
    engine.saves()
    engine.store.path.write_text(json.dumps({"records": {"/old": {"origin": "agent", "created": True}}}))
    after = Engine(tmp_path)
    assert after.memory.records == {"/old": FileRecord("agent", created=True)}
    after.memory.wrote("/next", RECORDS[0])
    after.saves()
    assert set(Engine(tmp_path).memory.records) == {"/old", "/next"}


def test_another_engine_replaces_the_file(tmp_path: Path, engine: Engine) -> None:
    """The last one that saves counts, with all that it knows."""
    other = Engine(tmp_path)
    other.store.save({"/other": RECORDS[0]}, [])
    engine.memory.wrote("/new", RECORDS[0])
    engine.saves()
    assert Engine(tmp_path).memory.records == engine.memory.records


def test_programs_that_end_and_start(tmp_path: Path, engine: Engine) -> None:
    for running in (PROGRAMS[:2], PROGRAMS[1:], [], PROGRAMS[2:], [structs.replace(PROGRAMS[0], at=1.0), *PROGRAMS[2:]]):
        engine.programs = running
        engine.memory.wrote("/x", RECORDS[0])
        engine.saves()
        assert Engine(tmp_path).programs == running
    assert engine.whole == 1


def test_the_journal_of_another_file_is_not_read(tmp_path: Path, engine: Engine) -> None:
    """An engine may be killed when it has replaced the file and not yet the journal."""
    other = Engine(tmp_path)
    engine.memory.wrote("/old", RECORDS[0])
    engine.saves()
    journal = engine.store.path.with_name("made-files.journal")
    before = journal.read_bytes()
    other.memory.wrote("/other", RECORDS[0])
    other.store.save(other.memory.listed, [])
    journal.write_bytes(before)
    after = Engine(tmp_path)
    assert [after.memory.exactly(path) is not None for path in ("/old", "/other")] == [False, True]
    assert after.store.wants_all
