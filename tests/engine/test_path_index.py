"""Which of many programs a change of paths may concern: the same as asking each of them."""

from __future__ import annotations

from fnmatch import fnmatchcase

from hypothesis import given
from hypothesis import strategies as st

from toolguard_engine.model.living_programs import MAX_PROGRAMS, LivingProgram, LivingPrograms

NAMES = st.sampled_from(["a", "b", "c.py", "d[1]"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))
PATTERNS = st.sampled_from(["*", "/a/*", "/a/**c.py", "/a/b/?", "/b/[ab]/c.py", "/a/d[1]/*", "*/a", "/a/b"])
NAMED = st.tuples(st.sampled_from([r"(?:[^/]+/)*c\.py\Z", r"a\Z"]), st.sampled_from(["", "/a", "/a/b"]))
PROGRAMS = st.builds(
    LivingProgram,
    commands=st.tuples(st.sampled_from(["x", "y"])),
    call=st.sampled_from(["1", "2", "3"]),
    files=st.lists(PATHS, max_size=4).map(lambda paths: dict.fromkeys(paths, "n")),
    patterns=st.lists(PATTERNS, max_size=2).map(dict.fromkeys),
    named=st.lists(NAMED, max_size=2).map(tuple),
    late=st.just(frozenset({"n"})),
    goes_on=st.booleans(),
)
STEPS = st.lists(st.one_of(PROGRAMS, st.sampled_from(["1", "2"]), st.tuples(PATHS, PATHS)), max_size=12)


def _may_run(program: LivingProgram, paths: tuple[str, ...], folders: tuple[str, ...]) -> bool:
    return any(path in program.files or program.is_among(path) for path in paths) or any(
        file.startswith(f"{folder}/") for folder in folders for file in program.files
    )


@given(STEPS, st.lists(PATHS, max_size=3).map(tuple), st.lists(PATHS, max_size=2).map(tuple))
def test_the_programs_that_a_change_concerns_are_found(
    steps: list[LivingProgram | str | tuple[str, str]], paths: tuple[str, ...], folders: tuple[str, ...]
) -> None:
    living = LivingPrograms()
    for step in steps:
        if isinstance(step, LivingProgram):
            living.started(step)
        elif isinstance(step, str):
            living.ended(step)
        else:
            expected = [each for each in reversed(list(living)) if _may_run(each, step[:1], step[1:])]
            assert living.concerned(step[:1], step[1:]) == expected
    living.restore([LivingProgram(("z",), files={"/a/b": "n"})])
    expected = [each for each in reversed(list(living)) if _may_run(each, paths, folders)]
    assert living.concerned(paths, folders) == expected


def test_a_program_that_grows_is_found_by_its_new_files() -> None:
    living = LivingPrograms()
    living.started(LivingProgram(("x",), files={"/a": "/a"}))
    assert living.concerned(["/b"], []) == []
    living.grew(next(iter(living)), LivingProgram(("x",), files={"/b": "/b"}))
    assert living.concerned(["/b"], []) == list(living)


def test_programs_that_there_was_no_room_for_are_found_by_their_files() -> None:
    living = LivingPrograms()
    for number in range(MAX_PROGRAMS + 2):
        living.started(
            LivingProgram((str(number),), files={f"/w{number}/x": f"/w{number}/x"}, late=frozenset({f"/w{number}/x"}))
        )
    assert living.forgotten_among(["/w2/x"], ["/w3"]) is None
    for paths, folders in ((["/w1/x"], []), ([], ["/w0"])):
        found = living.forgotten_among(paths, folders)
        assert found is not None
        assert sorted(found.files) == ["/w0/x", "/w1/x"]
    assert living.concerned(["/w0/x", "/w2/x"], []) == [next(iter(living))]


def test_a_pattern_fits_what_it_fits_anywhere_below_its_root() -> None:
    living = LivingPrograms()
    living.started(LivingProgram(("x",), patterns={"/a/**c.py": None}))
    for path in ("/a/c.py", "/a/b/b/c.py", "/b/c.py", "/a/b"):
        assert bool(living.concerned([path], [])) == fnmatchcase(path, "/a/**c.py")
