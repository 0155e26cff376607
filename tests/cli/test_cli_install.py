"""`toolguard install`: what it makes of a config, what it refuses, and that nothing can leave it half done."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from cli_stage import LIMIT, SCRIPT, SOURCE, envelope, names, picture, put_in, take_out, texts, toolguard
from config_texts import CASES, Case

from effort import some
from toolguard_cli.hostconfig import config_file, config_tree
from toolguard_cli.setup import config_lock as lock
from toolguard_cli.setup import install_record, plugin_folder
from toolguard_cli.system import paths
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places

CREATED = CASES[0].copied
NEXT = "toolguard doctor"
every_case = pytest.mark.parametrize("case", some(CASES), ids=lambda case: case.id)
both_ways = pytest.mark.parametrize("link", [False, True], ids=["copied", "linked"])


def write(places: Places, text: str) -> None:
    places.config.write_bytes(text.encode())


def text_of(places: Places) -> str:
    return places.config.read_bytes().decode().replace(str(SOURCE), "LINK")


def refused(places: Places, *, link: bool = False) -> tuple[str, str]:
    """What an install is refused with; it must leave everything as it was, but for the lock."""
    before = picture(places.state_dir.parent, times=False)
    with pytest.raises(UserError) as caught:
        put_in(places, link=link)
    shutil.rmtree(places.own, ignore_errors=True)
    assert picture(places.state_dir.parent, times=False) == before
    return caught.value.message, caught.value.fix


def whole_copy(places: Places) -> bool:
    return plugin_folder.same(SOURCE, places.extension)


@every_case
@both_ways
def test_dry_run_install_again_and_uninstall(places: Places, case: Case, link: bool) -> None:  # noqa: FBT001 - of a table
    write(places, case.before)
    before = picture(places.state_dir.parent)
    reported = put_in(places, link=link, dry_run=True)
    assert picture(places.state_dir.parent) == before
    assert (reported.data["changed"], texts(reported)[-1]) == (True, "nothing was written (--dry-run)")

    put_in(places, link=link)
    assert text_of(places) == (case.linked if link else case.copied)
    assert places.extension.exists() is not link
    assert link or whole_copy(places)

    before = picture(places.state_dir)
    again = put_in(places, link=link)
    after = picture(places.state_dir)
    lock = "toolguard/install.lock"
    assert (after.pop(lock)[2], before.pop(lock)[2]) == (b"", b"")
    assert after == before, "a second run changes no byte and no time"
    assert again.data["changed"] is False
    where = SOURCE if link else places.extension
    assert texts(again) == [f"already installed at {where}; nothing to change", "toolguard doctor"]

    assert take_out(places).data["exact"] is True
    assert places.config.read_bytes() == case.before.encode()


def test_dry_run_makes_no_folder(tmp_path: Path) -> None:
    places = Places(tmp_path / "s", tmp_path / "c" / "openclaw.json")
    before = picture(tmp_path)
    assert texts(put_in(places, dry_run=True)) == [
        f"would copy the plugin to {places.extension}",
        f"would set plugins.entries.toolguard.enabled: true in {places.config}",
        f"{places.config} did not exist yet",
        "nothing was written (--dry-run)",
    ]
    assert picture(tmp_path) == before


def test_told_to_people_and_scripts(places: Places) -> None:
    write(places, '{"plugins": {"allow": []}}\n')
    done = put_in(places)
    backup = f"{places.config}.toolguard.bak"
    assert [(line.kind, line.text) for line in done.lines] == [
        ("ok", f"copied the plugin to {places.extension}"),
        ("ok", f"set plugins.entries.toolguard.enabled: true in {places.config}"),
        ("ok", f'added "toolguard" to plugins.allow in {places.config}'),
        ("info", f"backup of the file: {backup}"),
        ("next", NEXT),
    ]
    assert done.data == {
        "changed": True,
        "dryRun": False,
        "mode": "copy",
        "plugin": str(places.extension),
        "config": str(places.config),
        "edits": ["set plugins.entries.toolguard.enabled: true", 'append "toolguard" to plugins.allow'],
        "backup": backup,
        "python": sys.executable,
    }


def test_missing_config_is_created_for_its_owner_only(tmp_path: Path) -> None:
    places = Places(tmp_path / "s", tmp_path / "c" / "openclaw.json")
    put_in(places)
    assert text_of(places) == CREATED
    assert stat.S_IMODE(places.config.stat().st_mode) == 0o600
    assert stat.S_IMODE(places.state_dir.stat().st_mode) == 0o700
    assert names(places.config.parent) == ["openclaw.json"]


def test_record(places: Places) -> None:
    write(places, "{}\n")
    put_in(places)
    assert msgspec.json.decode(places.record.read_bytes()) == {
        "version": "0.1.0",
        "python": sys.executable,
        "mode": "copy",
        "plugin": str(places.extension),
        "config": str(places.config),
        "before": config_file.digest(b"{}\n"),
        "edits": [
            {
                "kind": "set",
                "path": ["plugins", "entries", "toolguard", "enabled"],
                "value": True,
                "top": ["plugins"],
                "before": None,
            }
        ],
    }


def test_another_python_is_recorded(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in(places)
    monkeypatch.setattr(sys, "executable", "/other/python")
    assert texts(put_in(places)) == ["recorded /other/python as the Python that runs the engine", NEXT]
    known = install_record.load(places.record)
    assert known is not None
    assert known.python == "/other/python"


def test_changes_elsewhere_in_the_config_are_no_reason_to_install_again(places: Places) -> None:
    put_in(places)
    write(places, CREATED.replace("{\n", "{\n  // mine\n", 1))
    assert put_in(places).data["changed"] is False


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        pytest.param(
            "{\n  a: 1\n  b: 2\n}\n",
            "CONFIG is not valid JSON5: line 3, column 3: expected ',' or '}' after a member, found 'b'\n  b: 2\n  ^",
            "fix that line, then try again; the file was not changed",
            id="no JSON5",
        ),
        pytest.param(
            "",
            "CONFIG is not valid JSON5: line 1, column 1: there is no value in this file\n\n^",
            "fix that line, then try again; the file was not changed",
            id="empty file",
        ),
        pytest.param(
            "[]", "CONFIG is not an object", "its outermost value must be { ... }; the file was not changed", id="a list"
        ),
        pytest.param(
            "{ plugins: { deny: ['toolguard'] } }",
            "plugins.deny in CONFIG names toolguard",
            'remove "toolguard" there, then try again',
            id="denied",
        ),
        pytest.param("{ plugins: [] }", "plugins in CONFIG is not an object", "fix it, then try again", id="plugins"),
        pytest.param(
            "{ plugins: { entries: 1 } }",
            "plugins.entries in CONFIG is not an object",
            "fix it, then try again",
            id="entries",
        ),
        pytest.param(
            "{ plugins: { entries: { toolguard: true } } }",
            "plugins.entries.toolguard in CONFIG is not an object",
            "fix it, then try again",
            id="entry",
        ),
        pytest.param(
            "{ plugins: { load: [] } }", "plugins.load in CONFIG is not an object", "fix it, then try again", id="load"
        ),
        pytest.param(
            "{ plugins: { load: { paths: 'a' } } }",
            "plugins.load.paths in CONFIG is not a list",
            "fix it, then try again",
            id="paths",
        ),
        pytest.param(
            "{ plugins: { allow: {} } }", "plugins.allow in CONFIG is not a list", "fix it, then try again", id="allow"
        ),
        pytest.param(
            "{ plugins: { deny: 'a' } }", "plugins.deny in CONFIG is not a list", "fix it, then try again", id="deny"
        ),
        *(
            pytest.param(
                text,
                "plugins.entries.toolguard.enabled may be in a file that cannot be read: "
                f"CONFIG, line 1, column {column}: $include ./part.json5 does not exist",
                "fix the path, or create the file",
                id=name,
            )
            for name, text, column in (
                ("include at the top", "{ $include: './part.json5' }", 3),
                ("include in plugins", "{ plugins: { $include: './part.json5' } }", 14),
                ("include in entries", "{ plugins: { entries: { $include: './part.json5' } } }", 25),
            )
        ),
    ],
)
@both_ways
def test_refused_configs(places: Places, text: str, message: str, fix: str, link: bool) -> None:  # noqa: FBT001 - of a table
    write(places, text)
    assert refused(places, link=link) == (message.replace("CONFIG", str(places.config)), fix)


def test_config_that_is_not_utf8(places: Places) -> None:
    places.config.write_bytes(b'{"a": "\xff"}')
    assert refused(places) == (f"{places.config} is not UTF-8 text (byte 7)", "save it as UTF-8, then try again")


def test_config_that_is_a_folder(places: Places) -> None:
    places.config.mkdir()
    assert refused(places) == (f"cannot read {places.config}: it is not a file", "check its owner and mode")


def test_config_of_a_size_that_no_config_has(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_file, "MAX_BYTES", 10)
    write(places, "{}         ")
    assert refused(places)[0] == f"{places.config} is larger than 10 bytes"


def _writable(path: Path) -> None:
    path.chmod(0o646)


def _hard_link(path: Path) -> None:
    path.with_name("other").hardlink_to(path)


def _symbolic_link(path: Path) -> None:
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        pytest.param(_writable, "is writable by everyone (mode 646)", id="writable by others"),
        pytest.param(_hard_link, "is a hard link (2 names)", id="hard link"),
        pytest.param(_symbolic_link, "is a symbolic link", id="symbolic link"),
    ],
)
def test_spoilt_source(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Path], None], reason: str
) -> None:
    """A link to such files is refused, as the gateway would; a copy of them is good."""
    source = tmp_path / "site-packages" / "gateway"
    shutil.copytree(SOURCE, source)
    spoil(source / "index.mjs")
    monkeypatch.setattr(paths, "plugin_source", lambda: source)
    assert refused(places, link=True) == (
        f"OpenClaw would refuse to load the plugin from there: {source / 'index.mjs'} {reason}",
        "run `toolguard install` without --link: it makes a copy of its own",
    )
    put_in(places)
    assert plugin_folder.refusals(places.extension) == []
    for path in places.extension.iterdir():
        info = path.lstat()
        assert (stat.S_ISREG(info.st_mode), stat.S_IMODE(info.st_mode), info.st_nlink) == (True, 0o644, 1), path
    assert stat.S_IMODE(places.extension.stat().st_mode) == 0o755
    assert stat.S_IMODE(places.extension.parent.stat().st_mode) == 0o755


def test_source_that_its_group_may_write_can_be_linked(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenClaw 2026.6.11 to 2026.9.6 refuse only what everybody may write; a umask of 002 is common."""
    source = tmp_path / "gateway"
    shutil.copytree(SOURCE, source)
    for path in [source, *source.iterdir()]:
        path.chmod(stat.S_IMODE(path.stat().st_mode) | 0o020)
    monkeypatch.setattr(paths, "plugin_source", lambda: source)
    assert put_in(places, link=True).data["plugin"] == str(source)


@pytest.mark.parametrize("umask", [0o000, 0o077], ids=["umask 000", "umask 077"])
def test_modes_whatever_the_umask(places: Places, umask: int) -> None:
    before = os.umask(umask)
    try:
        put_in(places)
    finally:
        os.umask(before)
    assert plugin_folder.refusals(places.extension) == []
    assert {stat.S_IMODE(path.stat().st_mode) for path in places.extension.iterdir()} == {0o644}
    assert stat.S_IMODE(places.extension.stat().st_mode) == 0o755


def _foreign(extension: Path) -> None:
    extension.mkdir(parents=True)
    (extension / "openclaw.plugin.json").write_text('{"id": "toolguard"}')


def _link_elsewhere(extension: Path) -> None:
    extension.parent.mkdir()
    extension.symlink_to(SOURCE)


def _dangling(extension: Path) -> None:
    extension.parent.mkdir()
    extension.symlink_to("/nowhere")


def _link_to_a_marked_copy(extension: Path) -> None:
    extension.parent.mkdir()
    plugin_folder.copy(SOURCE, extension.parent.parent / "mine" / "toolguard", "0.1.0")
    extension.symlink_to(extension.parent.parent / "mine" / "toolguard")


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(_foreign, id="folder"),
        pytest.param(_link_elsewhere, id="symlink"),
        pytest.param(_dangling, id="dangling symlink"),
        pytest.param(_link_to_a_marked_copy, id="symlink to a copy of ours"),
    ],
)
def test_what_is_not_ours_is_refused(places: Places, make: Callable[[Path], None]) -> None:
    make(places.extension)
    assert refused(places) == (f"{places.extension} was not created by toolguard", "move it away, then try again")


def test_an_old_copy_is_replaced(places: Places) -> None:
    put_in(places)
    (places.extension / "index.mjs").write_text("old")
    (places.extension / "gone.mjs").write_text("no longer part of it")
    assert texts(put_in(places)) == [f"copied the plugin to {places.extension}", NEXT]
    assert whole_copy(places)


def test_switching_leaves_one_of_copy_and_link(places: Places) -> None:
    case = next(case for case in CASES if case.id == "load paths")
    write(places, case.before)
    put_in(places)
    assert texts(put_in(places, link=True))[:3] == [
        f"linked the plugin at {SOURCE}: changes there take effect at the next reload",
        f"removed the earlier copy at {places.extension}",
        f'added "{SOURCE}" to plugins.load.paths in {places.config}',
    ]
    assert not places.extension.exists()
    put_in(places)
    assert text_of(places) == case.copied
    assert whole_copy(places)
    kept = ["openclaw.json.toolguard.bak", "openclaw.json.toolguard.last.bak"]
    assert names(places.state_dir) == ["extensions", "openclaw.json", *kept, "toolguard"]
    assert config_file.backup_path(places.config).read_text() == case.before


def test_linking_another_checkout_drops_the_first(places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in(places, link=True)
    other = tmp_path / "other"
    shutil.copytree(SOURCE, other)
    monkeypatch.setattr(paths, "plugin_source", lambda: other)
    put_in(places, link=True)
    assert config_tree.read(places.config).get("plugins", "load", "paths") == [str(other)]


@pytest.mark.parametrize("before", ["{}\n", None], ids=["changed", "created"])
def test_a_config_that_changes_meanwhile_is_not_overwritten(
    places: Places, monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    if before is not None:
        write(places, before)
    copy = plugin_folder.copy

    def slow_copy(source: Path, target: Path, version: str) -> None:
        copy(source, target, version)
        write(places, '{"by": "somebody else"}\n')

    monkeypatch.setattr(plugin_folder, "copy", slow_copy)
    with pytest.raises(UserError) as caught:
        put_in(places)
    assert caught.value.message == f"{places.config} was changed by another process"
    assert caught.value.fix == "nothing was written; run the command again"
    assert text_of(places) == '{"by": "somebody else"}\n'
    assert not places.extension.exists()
    assert not places.record.exists()
    assert "openclaw.json.toolguard.bak" not in names(places.state_dir)


def test_a_failed_update_keeps_the_record_of_the_installation(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in(places)
    before = picture(places.state_dir, times=False)

    def fail(*_: object, **__: object) -> None:
        raise UserError("no")

    monkeypatch.setattr(config_file, "write", fail)
    with pytest.raises(UserError, match="no"):
        put_in(places, link=True)
    assert picture(places.state_dir, times=False) == before


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o400])
def test_mode_and_backup(places: Places, mode: int) -> None:
    write(places, "{}\n")
    places.config.chmod(mode)
    put_in(places)
    backup = config_file.backup_path(places.config)
    assert backup.read_bytes() == b"{}\n"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (places.config, backup)] == [mode, mode]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_owner_is_kept(places: Places) -> None:
    write(places, "{}\n")
    os.chown(places.config, 12_345, 23_456)
    put_in(places)
    for path in (places.config, config_file.backup_path(places.config)):
        assert (path.stat().st_uid, path.stat().st_gid) == (12_345, 23_456)


def test_config_that_is_a_symlink_stays_one(places: Places, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "claw.json"
    real.parent.mkdir()
    real.write_text("{}\n")
    places.config.symlink_to(real)
    put_in(places)
    assert places.config.readlink() == real
    assert real.read_text() == CREATED
    assert names(real.parent) == ["claw.json", "claw.json.toolguard.bak"]


def test_config_that_is_a_dangling_symlink_is_created_behind_it(places: Places, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "claw.json"
    places.config.symlink_to(real)
    put_in(places)
    assert places.config.readlink() == real
    assert real.read_text() == CREATED
    take_out(places)
    assert places.config.readlink() == real
    assert not real.exists()


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"version": 1}', b"\xff"])
def test_damaged_record(places: Places, damage: bytes) -> None:
    places.own.mkdir()
    places.record.write_bytes(damage)
    with pytest.raises(UserError) as caught:
        put_in(places)
    assert caught.value.message.startswith(f"{places.record} cannot be read: ")
    assert caught.value.fix == "move it away, then run `toolguard install` again"
    assert names(places.state_dir) == ["toolguard"]


def test_a_lock_that_is_not_released(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "LOCK_SECONDS", 0)
    places.own.mkdir()
    with lock.locked(places), pytest.raises(UserError) as caught:
        put_in(places)
    assert caught.value.message == "another toolguard command is changing the config"
    assert names(places.state_dir) == ["toolguard"]


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="needs a file system that even root cannot write")
@pytest.mark.parametrize("where", ["/sys/toolguard", "/dev/null/toolguard"])
def test_a_place_that_cannot_be_written(where: str) -> None:
    done = toolguard("install", "--state-dir", where, "--json")
    reported = envelope(done)
    assert (done.returncode, done.stderr, reported["ok"]) == (1, "", False)
    assert where in reported["errors"][0]


@pytest.mark.skipif(os.getuid() == 0, reason="nothing stops root")
def test_a_folder_without_permission(places: Places) -> None:
    write(places, "{}\n")
    places.state_dir.chmod(0o555)
    try:
        done = toolguard("install", "--state-dir", places.state_dir)
    finally:
        places.state_dir.chmod(0o755)
    assert done.returncode == 1
    assert "Permission denied" in done.stderr
    assert "Traceback" not in done.stderr


def test_several_installs_at_the_same_time(places: Places) -> None:
    case = next(case for case in CASES if case.id == "commented")
    write(places, case.before)
    command = [SCRIPT, "install", "--state-dir", places.state_dir]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        for _ in range(2)
    ]
    answers = [process.communicate(timeout=LIMIT)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0], answers
    assert text_of(places) == case.copied
    assert whole_copy(places)
    assert config_file.backup_path(places.config).read_text() == case.before
    assert names(places.state_dir) == ["extensions", "openclaw.json", "openclaw.json.toolguard.bak", "toolguard"]
    take_out(places)
    assert text_of(places) == case.before


# One interpreter that forks for each attempt. The child kills itself just before the n-th call that changes something on
# disk: every moment, and always the same ones.
KILLED = """
import json, os, signal, sys
from pathlib import Path
from toolguard_cli.operations import install_plugin as install
from toolguard_cli.system import paths
WRITING = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "shutil.rmtree", "shutil.copyfile"}
def attempt(state, left):
    def hook(event, arguments):
        nonlocal left
        if event not in WRITING or (event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
            return
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    install.run(paths.Places(state, state / "openclaw.json"), link=False, dry_run=False)
for line in sys.stdin:
    state, moment = json.loads(line)
    child = os.fork()
    if child == 0:
        attempt(Path(state), moment)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def killed_at() -> Iterator[Callable[[Places, int], bool]]:
    """Installs in a process that is killed at this moment; whether that was before it ended."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", KILLED], **pipes) as forking:  # type: ignore[call-overload]

        def attempt(places: Places, moment: int) -> bool:
            forking.stdin.write(json.dumps([str(places.state_dir), moment]) + "\n")
            forking.stdin.flush()
            code = int(forking.stdout.readline())
            assert code in (0, -signal.SIGKILL)
            return code != 0

        yield attempt
        forking.stdin.close()


MOMENTS = sorted(random.Random(11).sample(range(58), 14))  # noqa: S311 - not a secret


@pytest.mark.parametrize("moment", some(MOMENTS))
@pytest.mark.parametrize("earlier", ["nothing", "an old copy"])
def test_killed_half_way(places: Places, killed_at: Callable[[Places, int], bool], moment: int, earlier: str) -> None:
    """SIGKILL at any moment: the config is the old or the new one, the plugin absent or whole, and all can be mended."""
    case = next(case for case in CASES if case.id == "allow over several lines")
    write(places, case.before)
    old_copy = {}
    if earlier == "an old copy":
        put_in(places)
        (places.extension / "index.mjs").write_text("// old")
        old_copy = picture(places.extension, times=False)
        write(places, case.before)
    killed_at(places, moment)
    assert text_of(places) in (case.before, case.copied)
    if places.extension.exists():
        assert whole_copy(places) or picture(places.extension, times=False) == old_copy
    put_in(places)
    assert text_of(places) == case.copied
    assert whole_copy(places)
    assert [name for name in names(places.state_dir) if name.startswith(".toolguard")] == []
    take_out(places)
    assert text_of(places) == case.before
    assert not places.extension.exists()


def test_killed_then_uninstalled(places: Places, killed_at: Callable[[Places, int], bool]) -> None:
    """What an install that was killed has done is undone without finishing it first, at each of its steps."""
    case = next(case for case in CASES if case.id == "allow")
    moment, killed = 3, True
    while killed:
        write(places, case.before)
        killed = killed_at(places, moment)
        take_out(places)
        assert text_of(places) == case.before
        assert not places.extension.exists()
        moment += 7
    assert moment > 20


def test_old_plugins_are_named_with_what_takes_over(places: Places) -> None:
    write(places, '{ plugins: { entries: { "tool-guard": { enabled: true } } } }\n')
    wanted = ("next", "toolguard migrate takes over from tool-guard")
    assert [(line.kind, line.text) for line in put_in(places).lines].count(wanted) == 1
    assert [(line.kind, line.text) for line in put_in(places).lines].count(wanted) == 1
