"""`toolguard uninstall`: the config is what it was, byte for byte; what is not ours stays."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from cli_stage import LIMIT, SCRIPT, SOURCE, names, picture, put_in, take_out, texts
from config_texts import CASES, Case
from held_stage import terminal

from effort import some
from toolguard_cli.commands import migrate
from toolguard_cli.hostconfig import config_file
from toolguard_cli.operations import reload_note
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places

every_case = pytest.mark.parametrize("case", some(CASES), ids=lambda case: case.id)
WAYS = {
    "copied": (False,),
    "linked": (True,),
    "copied, linked": (False, True),
    "linked, copied, linked": (True, False, True),
}


@every_case
@pytest.mark.parametrize("ways", [(False, True), (True, False, True)], ids=["copied, linked", "linked, copied, linked"])
def test_every_byte_comes_back(places: Places, case: Case, ways: tuple[bool, ...]) -> None:
    before = case.before.encode()
    places.config.write_bytes(before)
    places.config.chmod(0o640)
    for link in ways:
        put_in(places, link=link)
    done = take_out(places)
    assert places.config.read_bytes() == before
    assert places.config.stat().st_mode & 0o777 == 0o640
    assert (done.data["changed"], done.data["exact"]) == (True, True)
    assert not places.extension.exists()
    assert names(places.own) == ["install.lock"]


@pytest.mark.parametrize("ways", WAYS.values(), ids=WAYS)
def test_a_config_that_install_created_is_removed(places: Places, ways: tuple[bool, ...]) -> None:
    for link in ways:
        put_in(places, link=link)
    assert take_out(places).data["exact"] is True
    assert not places.config.exists()


def test_a_created_config_with_something_in_it_stays(places: Places) -> None:
    put_in(places)
    text = places.config.read_text()
    places.config.write_text(text.replace("{\n", '{\n  "gateway": {},\n', 1))
    assert take_out(places).data["exact"] is False
    assert places.config.read_text() == '{\n  "gateway": {}\n}\n'


@pytest.mark.parametrize(
    ("before", "link", "change", "after"),
    [
        pytest.param(
            "{\n  a: 1,\n}\n",
            False,
            ("a: 1,", "a: 2, // changed"),
            "{\n  a: 2, // changed\n}\n",
            id="another part changed",
        ),
        pytest.param(
            "{\n  a: 1,\n}\n",
            False,
            ("    entries: {", "    enabled: true, // all of them\n    entries: {"),
            "{\n  a: 1,\n  plugins: {\n    enabled: true, // all of them\n  },\n}\n",
            id="something beside our lines",
        ),
        pytest.param(
            '{"plugins": {"allow": ["a"]}}\n',
            False,
            ('"toolguard"]', '"toolguard", "b"]'),
            '{"plugins": {"allow": ["a", "b"]}}\n',
            id="a name behind ours",
        ),
        pytest.param(
            '{"plugins": {"load": {"paths": ["a"]}}}\n',
            True,
            ('["a", ', '["b", '),
            '{"plugins": {"load": {"paths": ["b"]}}}\n',
            id="another load path",
        ),
        pytest.param(
            "{}\n",
            False,
            ('"enabled": true', '"enabled": true,\n        "config": { "mode": "soft" }'),
            "{}\n",
            id="settings for us go with us",
        ),
        pytest.param(
            "{}\n",
            False,
            (
                '{\n  "plugins": {\n    "entries": {\n      "toolguard": {\n        "enabled": true\n      }\n    }\n  }\n}',
                '{ "mine": 1 }',
            ),
            '{ "mine": 1 }\n',
            id="our lines were taken out by hand",
        ),
        pytest.param(
            '{"plugins": {"entries": {"toolguard": {"enabled": false}}}}\n',
            False,
            ('"toolguard": {"enabled": true}', ""),
            '{"plugins": {"entries": {}}}\n',
            id="our entry was there, and was taken out by hand",
        ),
    ],
)
def test_what_changed_meanwhile_stays(
    places: Places,
    before: str,
    link: bool,  # noqa: FBT001 - of a table
    change: tuple[str, str],
    after: str,
) -> None:
    places.config.write_text(before)
    put_in(places, link=link)
    text = places.config.read_text()
    assert change[0] in text
    changed = text.replace(*change)
    places.config.write_text(changed)
    done = take_out(places)
    assert places.config.read_text() == after
    if after != changed:
        assert config_file.backup_path(places.config, again=True).read_text() == changed
    assert done.data["exact"] is (after == before)


def test_switched_off_by_hand_and_installed_again(places: Places) -> None:
    places.config.write_text("{}\n")
    put_in(places)
    for _ in range(2):
        places.config.write_text(places.config.read_text().replace("true", "false"))
        put_in(places)
    take_out(places)
    assert places.config.read_text() == "{}\n"


def test_told_to_people_and_scripts(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(places.state_dir.parent))
    places.config.write_text("{}\n")
    put_in(places)
    before = picture(places.state_dir)
    kept = f"kept: logs, state and your own rules in {places.own}, and the log of malformed calls"
    assert texts(take_out(places, dry_run=True)) == [
        f"would remove the plugin: {places.extension}",
        f"would remove toolguard's lines from the config (as it was before the installation): {places.config}",
        kept,
        "nothing was written (--dry-run)",
    ]
    assert picture(places.state_dir) == before
    done = take_out(places)
    assert [(line.kind, line.text) for line in done.lines] == [
        ("ok", f"removed the plugin: {places.extension}"),
        ("ok", f"removed toolguard's lines from the config (as it was before the installation): {places.config}"),
        ("info", f"backup of the config that still has them: {places.config}.toolguard.last.bak"),
        ("info", kept),
        ("next", reload_note.UNLOADED_SOON),
    ]
    assert done.data == {
        "changed": True,
        "dryRun": False,
        "config": str(places.config),
        "exact": True,
        "plugin": str(places.extension),
    }


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("there", ["", ".token"])
def test_what_is_kept_of_the_metrics_is_told(
    places: Places, monkeypatch: pytest.MonkeyPatch, there: str, *, own: bool
) -> None:
    monkeypatch.setenv("HOME", str(places.state_dir.parent))
    db = places.state_dir.parent / "usage.db" if own else places.state_dir / "metrics.db"
    put_in(places)
    value = json.loads(places.config.read_text())
    value["plugins"]["entries"]["toolguard"]["config"] = {"metrics": {"dbPath": str(db)}} if own else {}
    places.config.write_text(json.dumps(value))
    Path(f"{db}{there}").write_text("x")
    reported = f"kept: {db}, the metrics of all gateways on this machine, and the dashboard's token beside it"
    assert reported in texts(take_out(places))
    assert Path(f"{db}{there}").read_text() == "x"


def test_the_completion_is_reported(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    home = places.state_dir.parent
    monkeypatch.setenv("HOME", str(home))
    (home / ".bash_completions").mkdir()
    (home / ".bash_completions" / "toolguard.sh").touch()
    put_in(places)
    reported = f"kept: the completion {home}/.bash_completions/toolguard.sh, and the line about it in {home}/.bashrc"
    assert reported in texts(take_out(places))


@pytest.mark.parametrize(("typed", "is_done"), [("y\n", True), ("n\n", False)])
def test_asking_on_a_real_terminal(places: Places, typed: str, *, is_done: bool) -> None:
    put_in(places)
    with terminal(places, "uninstall") as shown:
        shown.until("Uninstall? [y/N] ")
        shown.type(typed)
        assert shown.end() == (0 if is_done else 1)
    assert places.extension.exists() is not is_done


def test_link_is_told_as_such(places: Places) -> None:
    put_in(places, link=True)
    assert texts(take_out(places))[:2] == [
        f"unlinked the plugin: {SOURCE}",
        f"removed the config that install had created: {places.config}",
    ]


def test_not_installed(places: Places) -> None:
    places.config.write_text("{}\n")
    before = picture(places.state_dir)
    done = take_out(places)
    assert (done.exit_code, done.data) == (0, {"changed": False})
    assert texts(done) == [f"not installed in {places.state_dir}; nothing to do"]
    assert picture(places.state_dir) == before


def test_config_that_is_gone(places: Places) -> None:
    put_in(places)
    places.config.unlink()
    assert texts(take_out(places))[:2] == [
        f"removed the plugin: {places.extension}",
        f"kept: logs, state and your own rules in {places.own}, and the log of malformed calls",
    ]
    assert not places.config.exists()
    assert not places.extension.exists()


@pytest.mark.parametrize("link", [False, True], ids=["copied", "linked"])
def test_a_foreign_folder_stays(places: Places, link: bool) -> None:  # noqa: FBT001 - of a table
    places.config.write_text("{}\n")
    put_in(places, link=link)
    shutil.rmtree(places.extension, ignore_errors=True)
    places.extension.mkdir(parents=True)
    (places.extension / "mine").write_text("mine")
    take_out(places)
    assert names(places.extension) == ["mine"]
    assert places.config.read_text() == "{}\n"


def test_a_link_in_place_of_the_copy_stays(places: Places, tmp_path: Path) -> None:
    put_in(places)
    places.extension.rename(tmp_path / "moved")
    places.extension.symlink_to(tmp_path / "moved")
    take_out(places)
    assert places.extension.readlink() == tmp_path / "moved"
    assert (tmp_path / "moved" / "index.mjs").is_file()


def test_a_copy_without_a_record(places: Places) -> None:
    put_in(places)
    places.record.unlink()
    before = picture(places.state_dir)
    with pytest.raises(UserError) as caught:
        take_out(places)
    assert caught.value.message == f"{places.extension} exists, but the record of its installation is missing"
    assert caught.value.fix == "run `toolguard install`, then `toolguard uninstall`"
    assert picture(places.state_dir) == before


def test_a_broken_config_is_not_touched(places: Places) -> None:
    put_in(places)
    places.config.write_text("{ broken")
    before = picture(places.state_dir, times=False)
    with pytest.raises(UserError, match="is not valid JSON5: line 1, column 9: "):
        take_out(places)
    assert picture(places.state_dir, times=False) == before


def test_two_at_the_same_time(places: Places) -> None:
    places.config.write_text("{}\n")
    put_in(places)
    command = [SCRIPT, "uninstall", "--state-dir", places.state_dir]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        for _ in range(2)
    ]
    answers = [process.communicate(timeout=LIMIT)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0], answers
    assert places.config.read_text() == "{}\n"
    assert not places.extension.exists()


OLD = '{ plugins: { allow: ["tool-guard"], entries: { "tool-guard": { enabled: true } } } }\n'
UNDO = "toolguard migrate --undo enables them again and removes what was migrated"


def test_what_was_migrated_is_told(places: Places) -> None:
    places.config.write_text(OLD)
    put_in(places)
    migrate.run(places, yes=True, openclaw=())
    kept = places.own / "migrations" / "1" / "0.before"
    reported = f"the plugins that toolguard took over from stay disabled; the config that enables them: {kept}"
    assert texts(take_out(places))[-4:-2] == [reported, UNDO]
    assert '"tool-guard": { enabled: true }' in kept.read_text()


def test_what_a_migration_had_made_stays_and_is_told(places: Places) -> None:
    places.config.write_text(OLD)
    migrate.run(places, yes=True, openclaw=())
    migrated = places.config.read_bytes()
    put_in(places)
    reported = texts(take_out(places))
    assert places.config.read_bytes() == migrated
    stays = "stays in the config because it was there before the installation; remove it by hand if you want"
    assert reported[-6:-4] == [
        f"plugins.entries.toolguard ({places.config}, line 1, column 95) {stays}",
        f"plugins.allow[1] ({places.config}, line 1, column 36) {stays}",
    ]
    assert reported[-3] == UNDO
    migrate.undo_last(places, yes=False, dry_run=False)
    assert places.config.read_text() == OLD


def test_a_damaged_journal_is_no_hindrance(places: Places) -> None:
    places.config.write_text(OLD)
    put_in(places)
    migrate.run(places, yes=True, openclaw=())
    damaged = places.own / "migrations" / "1.json"
    damaged.write_text("{")
    done = take_out(places)
    assert (done.exit_code, done.data["changed"], places.extension.exists()) == (0, True, False)
    (warning,) = [line.text for line in done.lines if str(damaged) in line.text]
    assert warning.startswith(f"cannot find out whether a migration is in force: {damaged} cannot be read: ")
