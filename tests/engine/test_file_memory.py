"""The memory of files, a tree, compared with a plain list of paths for random sequences of what calls do."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from effort import examples
from toolguard_engine.effects.commands.runner_files import name_pattern
from toolguard_engine.model import file_bounds
from toolguard_engine.model.file_folder import Change, Folder
from toolguard_engine.model.file_memory import ANY, MAX_PATH, FileMemory, is_in
from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.file_tree import NamedFiles

NAMES = ("a", "b", ".h", "c.py")
PATHS = [
    *(f"/{one}" for one in NAMES), *(f"/{one}/{two}" for one in NAMES for two in NAMES),
    *(f"/{one}/{two}/{three}" for one in NAMES[:2] for two in NAMES[:2] for three in NAMES),
]  # fmt: skip
PATTERNS = ("/*", "/a/*", "/*/a", "/a/[ab]", "/?/*", "/.*", "/*.py", "/a/b/*.py", "/a/*/c.py")
NAMED = ((("c.py", "a"), True), (("*.py",), True), (("b/*", "*.py"), True), (("*y", "b/*"), False), (("*",), False))
RECORDS = [
    FileRecord(origin, "exec", session, created=created, was=was, link=link)
    for origin in ("agent", "outside")
    for session, created in (("s", True), ("s", False), ("t", True))
    for was, link in (("", ""), ("/home/x", ""), ("", "/b/a"))
]


class PlainMemory:
    """All records, one by one."""

    def __init__(self) -> None:
        self.records: dict[str, FileRecord] = {}

    def _inside(self, folder: str) -> list[str]:
        return [path for path in self.records if is_in(path, folder)]

    def _move(self, pairs: list[tuple[str, str]]) -> None:
        found = [(source, target, {path: self.records[path] for path in self._inside(source)}) for source, target in pairs]
        for source, _, _ in found:
            self.doubts(source)
        for source, target, records in found:
            self.records |= {target + path[len(source) :]: record for path, record in records.items()}

    def moved(self, source: str, target: str) -> None:
        if not is_in(target, source):
            self._move([(source, target)])

    def moved_matching(self, pattern: str, folder: str, order: list[str]) -> None:
        """`order`: of the sources, where two have the same name; they are those that the pattern means."""
        named, depth = re.compile(fnmatch.translate(pattern)).match, pattern.count("/")
        heads = {"/".join(path.split("/")[: depth + 1]) for path in self.records if path.count("/") >= depth}
        hidden = pattern.rpartition("/")[2].startswith(".")
        meant = {head for head in heads if named(head) and (hidden or head.rpartition("/")[2][:1] != ".")}
        assert {head for head in meant if not is_in(folder, head)} == set(order)
        pairs = [(head, f"{folder}/{head.rpartition('/')[2]}") for head in reversed(order)]
        self._move([(source, target) for source, target in pairs if source != target])
        self.records[f"{folder}/{ANY}"] = FileRecord("agent", "mv", was=pattern)

    def removed(self, paths: Iterable[str]) -> None:
        for path in paths:
            for each in self._inside(path):
                del self.records[each]

    def doubts(self, path: str) -> None:
        self.records |= {each: structs.replace(self.records[each], created=False) for each in self._inside(path)}

    def of(self, path: str) -> FileRecord | None:
        return next((self.records[each] for each in _upwards(path) if each in self.records), None)

    def was(self, path: str, *, itself: bool) -> str:
        for above in _upwards(path):
            found, (folder, _, name) = self.records.get(above), above.rpartition("/")
            leads_to = found and (found.was or ("" if itself and above == path else found.link))
            if leads_to:
                return leads_to + path[len(above) :]
            if found is None and (many := self.records.get(f"{folder}/{ANY}")) is not None:
                return f"{many.was.rpartition('/')[0]}/{name}{path[len(above) :]}"
        return path

    def known(self) -> set[str]:
        return {path for path in self.records if not path.endswith(f"/{ANY}")}


def _upwards(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


def check(memory: FileMemory, plain: PlainMemory) -> None:
    """They know the same, and the tree's numbers are those of what is in it."""
    assert memory.records == plain.records
    assert memory.is_empty == (not plain.records)
    assert memory.has_displaced == any(record.was for record in plain.records.values())
    for path in (*PATHS, "/", "/a/b/c.py/d"):
        assert memory.exactly(path) == plain.records.get(path)
        assert memory.knows(path) == (path in plain.records)
        assert memory.recall(path) == plain.of(path)
        assert [memory.was(path, itself=itself) for itself in (True, False)] == [
            plain.was(path, itself=itself) for itself in (True, False)
        ]
        assert memory.has_below(path) == (path != "/" and any(is_in(each, path) for each in plain.records if each != path))
    for folder in ("/", *PATHS, "/a/b/c.py/d"):
        for names in ([name] for name in (*NAMES, "x")):
            path = f"{folder.rstrip('/')}/{names[0]}"
            assert memory.knows_none(folder, names) == (plain.of(path) is None), path
        assert memory.knows_none(folder, ["x", *NAMES]) == all(
            plain.of(f"{folder.rstrip('/')}/{name}") is None for name in ("x", *NAMES)
        )
    for pattern in PATTERNS:
        named, depth = re.compile(fnmatch.translate(pattern)).match, pattern.count("/")
        expected = {path for path in plain.known() if path.count("/") == depth and named(path)}
        assert set(memory.matching(pattern, 999)) == expected
    assert set(memory.matching("/a/**", 999)) == {path for path in plain.known() if path.startswith("/a/")}
    inside = {path for path in plain.known() if path.startswith("/a/")}
    assert set(memory.below(["/a"], 999)) == inside
    displaced = {plain.records[path].was for path in plain.records if path.startswith("/a/") and plain.records[path].was}
    assert set(memory.moved_into("/a")) <= displaced
    assert bool(memory.moved_into("/a")) == bool(displaced)
    counted(memory._tree.root)


def check_names(memory: FileMemory, plain: PlainMemory) -> None:
    """After each deed: what was found before is kept."""
    for names, below in NAMED:
        fits = name_pattern(names, below)
        expected = {path for path in plain.known() if fits.match(path, 1)}
        expected |= {path for path in plain.known() if path.startswith("/a/") and fits.match(path, 3)}
        known = [memory.below_named(folder, fits, 999) for folder in ("", "/a")]
        assert {path for paths in known for path in paths} == expected
        kept, memory._tree.named = memory._tree.named, NamedFiles()
        assert [memory.below_named(folder, fits, 999) for folder in ("", "/a")] == known, "also in their order"
        memory._tree.named = kept


def counted(folder: Folder) -> None:
    fresh, change = Folder(None, folder.maker, folder.record), Change()
    for name, node in folder.children.items():
        change.count(name, node, 1)
        if isinstance(node, Folder):
            assert node.children
            counted(node)
    fresh.add(change)
    assert (fresh.sizes, fresh.moved) == (folder.sizes, folder.moved)


PATH = st.sampled_from(PATHS)
DEEDS = st.one_of(
    st.tuples(st.just("wrote"), PATH, st.sampled_from(RECORDS)),
    st.tuples(st.just("moved"), PATH, PATH),
    st.tuples(st.just("moved-matching"), st.sampled_from(PATTERNS), PATH),
    st.tuples(st.just("removed"), st.lists(PATH, min_size=1, max_size=3, unique=True)),
    st.tuples(st.just("doubts"), PATH),
    st.tuples(st.just("restarted")),
    st.tuples(st.just("forked")),
)


@settings(max_examples=examples(1_500), deadline=None)
@given(st.lists(DEEDS, max_size=14))
def test_a_tree_knows_what_a_list_knows(deeds: list[tuple[object, ...]]) -> None:
    memory, plain, forks = FileMemory(), PlainMemory(), list[tuple[FileMemory, dict[str, FileRecord]]]()
    for deed in deeds:
        match deed:
            case ("wrote", str(path), FileRecord() as record):
                memory.wrote(path, record)
                plain.records[path] = record
            case ("moved", str(source), str(target)):
                memory.moved(source, target)
                plain.moved(source, target)
            case ("moved-matching", str(pattern), str(folder)):
                plain.moved_matching(pattern, folder, memory.moved_matching(pattern, folder))
            case ("removed", list(paths)):
                memory.removed(set(paths))
                plain.removed(paths)
            case ("doubts", str(path)):
                memory.doubts(path)
                plain.doubts(path)
            case ("restarted",):
                before, memory = memory, FileMemory()
                memory.restore(before.records)
            case _:
                forks.append((memory.fork(), memory.records))
        check_names(memory, plain)
    check(memory, plain)
    for fork, records in forks:
        assert fork.records == records
        fork.removed({"/a"})
        fork.wrote("/b/x", RECORDS[0])
    check(memory, plain)


def _filled(memory: FileMemory, number: int, session: str = "s", folder: str = "/w/src") -> None:
    record = FileRecord("agent", "write", session, created=True)
    memory.restore({f"{folder}/{at % 50}/f{at}.py": record for at in range(number)})


def _steps(memory: FileMemory, deed: Callable[[], object]) -> float:
    before = memory.steps
    deed()
    return memory.steps - before


def test_a_folder_is_moved_and_removed_at_the_cost_of_its_path() -> None:
    memory = FileMemory()
    _filled(memory, 20_000)
    assert _steps(memory, lambda: memory.moved("/w/src", "/w/lib")) < 20
    assert _steps(memory, lambda: memory.removed({"/w/src"})) < 20
    assert _steps(memory, lambda: memory.wrote("/w/lib/7/f7.py", RECORDS[0])) < 20
    assert len(memory.records) == 20_000
    assert _steps(memory, lambda: memory.matching("/home/*/*.py", 8)) < 20
    assert _steps(memory, lambda: memory.matching("/w/lib/7/*.py", 500)) < 200


def test_names_are_found_at_the_cost_of_what_has_changed_since() -> None:
    memory, fits = FileMemory(), name_pattern(("*_test.py",), below=True)
    memory.restore({f"/w/src/f{at}.py": RECORDS[0] for at in range(5_000)})
    assert memory.below_named("/w", fits, 9) == []
    for at in range(20):
        memory.wrote(f"/w/src/{at}_test.py", RECORDS[0])
        memory.wrote(f"/w/src/{at}.py", RECORDS[0])
    assert _steps(memory, lambda: memory.below_named("/w", fits, 99)) < 50
    memory.removed({"/w/src/19_test.py"})
    assert memory.below_named("/w", fits, 2) == ["/w/src/18_test.py", "/w/src/17_test.py"]


def test_what_was_found_before_a_change_is_not_kept() -> None:
    memory, fits = FileMemory(), name_pattern(("*_test.py",), below=True)
    for at in range(200):
        memory.wrote(f"/w/src/{at % 4}/{at}_test.py", RECORDS[0])
        assert len(memory.below_named("/w", fits, 999)) == at + 1
    named = memory._tree.named
    assert sum(len(states) for states in named._found.values()) <= len(("/w", "src", *range(4)))
    assert named._number == sum(len(paths) + 1 for states in named._found.values() for paths in states.values())


def test_moves_that_would_multiply_what_is_known_stay_bounded() -> None:
    memory = FileMemory()
    _filled(memory, 20_000)
    for at in range(200):
        memory.moved("/w", f"/x{at}")
        memory.moved(f"/x{at}", f"/w/{at}")
        memory.moved_matching("/w/src/*", f"/y{at}")
    assert len(memory.records) <= file_bounds.MAX_SIZE
    for at in range(3_000):
        memory.moved(f"/x{199 - at % 2}", f"/{'x' * 200}{at}/x")
        memory.moved(f"/{'x' * 200}{at}", f"/x{199 - at % 2}/{'y' * 200}")
    assert max(map(len, memory.records)) <= MAX_PATH
    assert len(memory.records) <= file_bounds.MAX_SIZE


@pytest.mark.parametrize("folder", ["/t", "/" + "d/" * 40 + "t", "/t/{}", "/" + "n" * 250 + "{}"])
def test_one_session_cannot_make_others_be_forgotten(folder: str) -> None:
    """Whatever it writes, in however many or long folders."""
    memory = FileMemory()
    _filled(memory, 20_000, "honest")
    for at in range(0, 70_000, 5 if "{}" in folder or folder.startswith("/d") else 1):
        memory.wrote(f"{folder.format(at)}/{at}", FileRecord("agent", "exec", "greedy"))
    known = memory.records.values()
    assert sum(record.session == "honest" for record in known) == 20_000
    assert sum(record.session == "greedy" for record in known) > 5_000
    assert sum(memory._tree.root.sizes.values()) <= file_bounds.MAX_SIZE


def test_the_latest_files_are_found_first_and_forgotten_last() -> None:
    memory = FileMemory()
    for at in range(30):
        memory.wrote(f"/w/f{at}.py", RECORDS[0])
    memory.wrote("/w/f3.py", RECORDS[0])
    assert memory.matching("/w/*.py", 2) == ["/w/f3.py", "/w/f29.py"]
    assert memory.below(["/w"], 2) == ["/w/f3.py", "/w/f29.py"]
