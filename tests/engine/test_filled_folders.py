"""Folders that a call fills are found without reading all of a long text for each of its characters."""

from __future__ import annotations

import cProfile
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolguard_engine.effects.calls import filled_folders
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.model.call import Call, Host
from toolguard_engine.quick_search import SHORT


def reading(command: str) -> CallReading:
    call = Call("exec", {"command": command}, agent="main", session="s", run="r", call_id="c", cwd="/home/ada/work", at=1.0)
    return CallReading(call, Host("/home/ada"))


@pytest.mark.parametrize("document", ["report.Rmd", "render('report.Rmd')", "docs/report.qmd", "a.Rmd,report.ipynb"])
def test_the_figures_of_a_document_are_put_beside_it(document: str) -> None:
    paths = filled_folders.paths(reading(f'Rscript -e "{document}"'))
    assert any(path.endswith("report_files") for path in paths)


@pytest.mark.parametrize("name", ["a.Rmd,", ".Rmd,"])
def test_a_document_that_is_named_often_is_looked_up_a_few_times(name: str) -> None:
    def calls(times: int) -> int:
        call = reading(f"acme '{name * times}'")
        assert call.runs
        with cProfile.Profile() as profile:
            filled_folders.paths(call)
        return sum(entry.callcount for entry in profile.getstats())

    calls(1)
    assert calls(2_000) < calls(filled_folders.MAX_NAMED * 2) + 100


@given(st.lists(st.sampled_from(["mkdir", "makedirs(", "ensureDir", "dir.create", "#", "//", "-", "\n", "x = 1", " "])))
def test_code_makes_folders_where_a_line_says_so_before_any_comment(parts: list[str]) -> None:
    text = "".join(parts)
    before_comments = [re.split("#|//|--", line)[0] for line in text.split("\n")]
    makes = any(re.search(r"mkdir|makedirs|ensure_?[dD]ir|dir\.create", line) for line in before_comments)
    assert filled_folders.makes_folders(text) == makes
    assert filled_folders.makes_folders(f"{text}\n{'y' * SHORT}") == makes
