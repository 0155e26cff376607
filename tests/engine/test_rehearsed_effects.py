"""What a rehearsed command changed becomes calls for the guard, words for a person, and what no call would show."""

from __future__ import annotations

import pytest

from toolguard_engine.containment import rehearsed_effects
from toolguard_engine.containment.rehearsed_changes import After, Before, RehearsedChange
from toolguard_engine.containment.rehearsed_effects import GONE, KEPT, UNREADABLE, RehearsedDeed
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.wording import rehearsal_texts

HOME = "/home/u"
WORK = f"{HOME}/.openclaw/workspace"
WHERE = Where(HOME, WORK, WORK, f"{HOME}/.openclaw")
WAS = Before("file", 1, 5, 1, 1, 0o644)


def _deeds(
    *changes: RehearsedChange, opened: tuple[str, ...] = (), kept: tuple[str, ...] = (), **contents: bytes
) -> list[RehearsedDeed]:
    by_path = {"old": b"text\n", "new": b"more\n", **contents}

    def content(path: str) -> bytes:
        return by_path["new"] if path == "kept" else by_path["old"]

    return list(rehearsed_effects.deeds(list(changes), list(opened), WHERE, list(kept), content))


def _file(path: str, before: Before = WAS, mode: int = 0o644, *, is_same: bool = False) -> RehearsedChange:
    return RehearsedChange(path, before, After("file", mode, 5, 2, kept="kept"), is_same)


def _gone(path: str, before: Before = WAS) -> RehearsedChange:
    return RehearsedChange(path, before, After())


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (f"{HOME}/Documents/report.txt", GONE),
        (f"{HOME}/project/main.py", GONE),
        ("/data/table", GONE),
        (f"{WORK}/notes.md", ""),
        (f"{HOME}/.cache/tool/index", ""),
        (f"{HOME}/.config/tool/settings.json", ""),
        ("/tmp/x", ""),
    ],
)
def test_a_file_of_the_user_that_goes_or_is_replaced(path: str, reason: str) -> None:
    assert [deed.reason for deed in _deeds(_gone(path), _file(path))] == [reason, reason]
    assert _deeds(_file(path, Before()))[0].reason == ""


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"text", b"\x9f\x00", UNREADABLE),
        (b"text", b"", UNREADABLE),
        (b"text", b"other", ""),
        (b"\x00\x01", b"\x02\x00", ""),
        ("é".encode(), "ü".encode(), ""),
    ],
)
def test_a_text_that_is_none_any_more(old: bytes, new: bytes, reason: str) -> None:
    assert _deeds(_file(f"{WORK}/notes.md"), old=old, new=new)[0].reason == reason
    assert _deeds(_file(f"{WORK}/build/x"), old=old, new=new)[0].reason == ""


def test_a_folder_that_is_removed_is_one_call() -> None:
    folder = Before("folder", mode=0o755)
    found = _deeds(
        _gone(f"{WORK}/src/a"), _gone(f"{WORK}/src/b/c"), _gone(f"{WORK}/src/b", folder), _gone(f"{WORK}/src", folder)
    )
    assert [deed.call.params["command"] for deed in found] == [f"rm -r -- {WORK}/src"]


def test_personal_files_in_a_folder_that_is_removed_are_named() -> None:
    folder = Before("folder", mode=0o755)
    found = _deeds(_gone(f"{HOME}/Documents/a"), _gone(f"{HOME}/Documents", folder))
    assert [deed.words for deed in found] == ["deletes ~/Documents/a", "deletes ~/Documents/"]


def test_what_is_written_is_judged_with_its_content() -> None:
    (deed,) = _deeds(_file(f"{WORK}/.envrc", Before()), new=b"export A=1\n")
    assert deed.words == "writes ~/.openclaw/workspace/.envrc"
    assert deed.call.params == {"path": f"{WORK}/.envrc", "content": "export A=1\n"}


def test_modes_links_and_credentials() -> None:
    link = RehearsedChange(f"{WORK}/x", Before(), After("link", link="/etc/passwd"))
    found = _deeds(link, _file(f"{WORK}/y", mode=0o4755, is_same=True), _file(f"{WORK}/z", mode=0o755, is_same=True))
    commands = [deed.call.params["command"] for deed in found]
    assert commands == [f"ln -s -- /etc/passwd {WORK}/x", f"chmod 4755 -- {WORK}/y"]
    (read,) = _deeds(opened=(f"{HOME}/.ssh/id_rsa",))
    assert (read.words, read.call.params["command"]) == ("reads ~/.ssh/id_rsa", f"cat -- {HOME}/.ssh/id_rsa")


@pytest.mark.parametrize(
    ("before", "mode", "is_seen"),
    [
        (Before("folder", mode=0o755), 0o777, True),
        (Before("folder", mode=0o755), 0, True),
        (Before("folder", mode=0o755), 0o555, False),
        (Before("folder", mode=0o755), 0o700, False),
        (Before(), 0o777, True),
        (Before(), 0o1777, False),
        (Before(), 0o755, False),
    ],
)
def test_modes_of_folders(before: Before, mode: int, is_seen: bool) -> None:  # noqa: FBT001
    found = _deeds(RehearsedChange(f"{WORK}/folder", before, After("folder", mode)))
    assert [bool(deed.reason) for deed in found] == ([True] if is_seen else [])


@pytest.mark.parametrize(
    ("path", "link", "target"),
    [
        (f"{WORK}/k", "../toolguard/key", f"{HOME}/.openclaw/toolguard/key"),
        (f"{WORK}/sub/k", "../../toolguard/key", f"{HOME}/.openclaw/toolguard/key"),
        (f"{WORK}/sub/latest", "notes.md", f"{WORK}/sub/notes.md"),
        (f"{WORK}/sub/x", "/etc/./passwd", "/etc/passwd"),
    ],
)
def test_a_link_leads_on_from_its_own_folder(path: str, link: str, target: str) -> None:
    (deed,) = _deeds(RehearsedChange(path, Before(), After("link", link=link)))
    assert deed.call.params["command"] == f"ln -s -- {target} {path}"


def test_what_no_command_may_change_is_always_shown() -> None:
    kept = (f"{HOME}/.config/fish/conf.d", f"{HOME}/.xprofile")
    changes = (
        _file(f"{HOME}/.config/fish/conf.d/a.fish", Before()),
        _file(f"{HOME}/.xprofile"),
        _file(f"{HOME}/.xprofile2", Before()),
    )
    assert [deed.reason for deed in _deeds(*changes, kept=kept)] == [KEPT, KEPT, ""]


def test_names_are_quoted() -> None:
    (deed,) = _deeds(_gone(f"{WORK}/$(touch x); rm y"))
    assert deed.call.params["command"] == f"rm -- '{WORK}/$(touch x); rm y'"


def test_the_reason_is_short_and_says_how_many_more() -> None:
    text = rehearsal_texts.reason([f"deletes ~/Documents/{number:03}.txt (a reason)" for number in range(50)])
    assert len(text) < 300
    assert text.startswith("It ran on a copy of the files, and there it deletes ~/Documents/000.txt")
    assert text.endswith("and 45 more.")
    assert rehearsal_texts.held(["a"] * 50).count("\n  - ") == rehearsal_texts.MAX_SHOWN + 1
    assert "\x1b" not in rehearsal_texts.reason(["deletes \x1b[31mx"]) + rehearsal_texts.held(["deletes \x1b[31mx"])
