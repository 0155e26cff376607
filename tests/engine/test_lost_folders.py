"""A command for a folder that does not exist: held with the releases that would run it elsewhere."""

from __future__ import annotations

from tables import each_row
from toolguard_engine.config.settings import Config
from toolguard_engine.guard import Guard
from toolguard_engine.layers.lost_folders import CODE, falls_back
from toolguard_engine.model.call import Call, Host
from toolguard_engine.model.files import FileText, NoFiles, Unread
from toolguard_engine.rules import packs
from toolguard_engine.rules.judgement import Judgement

WORKSPACE = "/home/u/.openclaw/workspace"
BOOK = packs.load()


class Disk(NoFiles):
    """Has the folder `work` of the workspace and nothing else."""

    def read(self, path: str) -> FileText | Unread:
        return Unread("not-regular" if path == f"{WORKSPACE}/work" else "absent")


def weighed(release: str, **params: object) -> Judgement:
    host = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json", release=release)
    call = Call("exec", {"command": "make clean", **params}, cwd=WORKSPACE)
    return Guard(Config(), {}, host, BOOK, files=Disk()).weigh(call)


@each_row("folder", ["gone", "~/gone", "/srv/gone", "../gone", "$NOWHERE", "work/gone"])
def test_it_is_held_where_it_would_run_elsewhere(folder: str) -> None:
    found = weighed("2026.6.11", workdir=folder)
    assert (found.decision, found.code) == ("hold", CODE)
    assert folder in found.reason
    assert "2026.6.11" in found.reason


@each_row("folder", ["work", "./work", f"{WORKSPACE}/work", "", None])
def test_folders_that_exist_are_no_question(folder: str | None) -> None:
    assert weighed("2026.6.11", workdir=folder).code != CODE


@each_row("release", ["2026.8.2", "2026.9.6", "2026.10.1", ""])
def test_later_releases_refuse_it_themselves(release: str) -> None:
    assert weighed(release, workdir="gone").code != CODE


def test_which_releases_fall_back() -> None:
    assert [falls_back(release) for release in ("2026.6.11", "2026.7.35-beta.1", "2026.8.0", "x", "")] == [
        True, True, False, False, False,
    ]  # fmt: skip
