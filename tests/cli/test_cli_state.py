"""`toolguard state`: what is exported comes back, and nothing that has happened is turned back."""

from __future__ import annotations

import errno
import io
import os
import tarfile
from pathlib import Path

import msgspec
import pytest

from toolguard_cli.commands import state_export, state_import
from toolguard_cli.operations import import_state, reload_note, state_archive
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.ledger import Decision, HeldCall
from toolguard_engine.approvals.standing import Standing
from toolguard_engine.effects.facts import protected_paths
from toolguard_engine.model.call import Host
from toolguard_engine.stores import atomic, audit_log, durability, state_files
from toolguard_engine.stores import open as stores

NOW = 1_000_000.0
RULE = '[[rule]]\nid = "user.mine"\ntool = "exec"\nmatch = "deploy"\nscore = [5, 5]\n'


def line(number: int) -> audit_log.AuditEvent:
    return audit_log.AuditEvent(id=f"{number:016x}", time=audit_log.when(NOW + number), event="hold")


def lived(state_dir: Path) -> None:
    """A state with something in each kind of file."""
    stores.audit_log(state_dir).append([line(1), line(2)])
    stores.kill_switch(state_dir).set(on=True, by="anna", why="too fast")
    (atomic.own_folder(state_dir) / "policy.toml").write_text(RULE)
    calls = stores.held_calls(state_dir)
    held = HeldCall("", "b", "exec", "main", "s", "r", "c", "it deletes", "rm x", created=NOW, expires=NOW + 60)
    calls.approve(calls.present(held, NOW).entry.nonce, Decision("anna", "cli", ""), NOW, 30)


def exported(places: Places, tmp_path: Path, name: str = "a") -> Path:
    file = tmp_path / f"{name}.toolguard-state"
    state_export.run(places, file)
    return file


def elsewhere(tmp_path: Path) -> Places:
    state = tmp_path / "other" / ".openclaw"
    state.mkdir(parents=True)
    return Places(state, state / "openclaw.json")


def test_another_machine_gets_all_that_is_not_of_this_one(places: Places, tmp_path: Path) -> None:
    lived(places.state_dir)
    there, file = elsewhere(tmp_path), exported(places, tmp_path)
    known = state_archive.read(file).contents["audit.jsonl"].count(b"\n")
    done = state_import.run(there, file, yes=True)
    assert done.data["whole"]
    assert (there.own / "policy.toml").read_text() == RULE
    assert stores.kill_switch(there.state_dir).thrown()
    verified = stores.audit_log(there.state_dir).verify()
    assert (verified.error, verified.lines) == ("", known + 1)  # the last one says where it was imported from
    assert not stores.held_calls(there.state_dir).entries()
    assert all((path.stat().st_mode & 0o077) == 0 for path in there.own.iterdir() if path.is_file())


@pytest.mark.parametrize("unknown", ["link", "fchmod"])
@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOTSUP])
def test_a_stick_that_knows_no_links_and_modes(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unknown: str, code: int
) -> None:
    """What is written there is whole, it replaces nothing, and its mode is no secret."""
    lived(places.state_dir)

    known = getattr(os, unknown)

    def refuse(what: str | int, *given: object) -> None:
        if os.stat(what).st_ino in [  # noqa: PTH116 - or a descriptor
            path.stat().st_ino for path in stick.iterdir()
        ]:
            raise OSError(code, os.strerror(code))
        known(what, *given)

    (stick := tmp_path / "stick").mkdir()
    monkeypatch.setattr(atomic.os, unknown, refuse)
    file = stick / "a.toolguard-state"
    done = state_export.run(places, file)
    assert len(state_archive.read(file).about.files) == len(done.data["files"])
    assert [path.name for path in stick.iterdir()] == [file.name]
    assert not [said.text for said in done.lines if "lets other users" in said.text]
    before = file.read_bytes()
    assert not atomic.create_anywhere(file, b"other")
    assert file.read_bytes() == before


def test_an_archive_that_others_can_read_is_named(places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lived(places.state_dir)
    create = atomic.create

    def opened(path: Path, data: bytes, mode: int = 0o600) -> bool:
        done = create(path, data, mode)
        path.chmod(0o755)
        return done

    monkeypatch.setattr(atomic, "create", opened)
    assert any("lets other users" in said.text for said in state_export.run(places, tmp_path / "a").lines)


def test_nothing_is_left_on_a_stick_that_is_full(places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lived(places.state_dir)

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    def full(*_: object) -> None:
        if any(not path.name.startswith(".") for path in stick.iterdir()):
            raise OSError(errno.ENOSPC, "No space left on device")

    (stick := tmp_path / "stick").mkdir()
    monkeypatch.setattr(atomic.disk, "link", refuse)
    monkeypatch.setattr(atomic.disk, "sync", full)
    with pytest.raises(UserError, match="No space left"):
        state_export.run(places, stick / "a")
    assert not list(stick.iterdir())


def test_what_has_happened_since_stays(places: Places, tmp_path: Path) -> None:
    lived(places.state_dir)
    file = exported(places, tmp_path)
    stores.audit_log(places.state_dir).append([line(3)])
    stores.kill_switch(places.state_dir).set(on=False, by="anna", why="")
    (places.own / "policy.toml").write_text("")
    before = (places.own / "audit.jsonl").read_bytes()
    done = state_import.run(places, file, yes=True)
    assert (done.data["whole"], done.data["written"]) == (False, ["policy.toml"])
    assert (places.own / "policy.toml").read_text() == RULE
    assert (places.own / "audit.jsonl").read_bytes().startswith(before)
    assert not stores.audit_log(places.state_dir).verify().error
    assert stores.kill_switch(places.state_dir).thrown() is None
    kept = Path(done.data["kept"])
    assert (kept / "policy.toml").read_text() == ""


def test_a_budget_never_grows(places: Places, tmp_path: Path) -> None:
    lived(places.state_dir)
    spent = Standing("main", "s", spent=3.0, touched=NOW)
    standings = stores.standings(places.state_dir)
    standings.load()
    standings.save({("main", "s"): spent})
    file = exported(places, tmp_path)
    standings.save({("main", "s"): Standing("main", "s", spent=9.0, touched=NOW)})
    (places.own / "policy.toml").write_text("")
    state_import.run(places, file, yes=True)
    assert [each.spent for each in stores.standings(places.state_dir).load()] == [12.0]  # what two engines spent
    there = elsewhere(tmp_path)
    state_import.run(there, file, yes=True)
    assert [each.spent for each in stores.standings(there.state_dir).load()] == [3.0]


def test_a_state_with_another_key_is_kept_aside(places: Places, tmp_path: Path) -> None:
    lived(places.state_dir)
    there = elsewhere(tmp_path)
    lived(there.state_dir)
    key = (there.own / "key").read_bytes()
    done = state_import.run(there, exported(places, tmp_path), yes=True)
    kept = Path(done.data["kept"])
    assert (kept / "key").read_bytes() == key
    assert (kept / "nonces.json").exists()
    assert not stores.held_calls(there.state_dir).entries()
    assert not stores.audit_log(there.state_dir).verify().error


def test_a_tool_that_was_refused_since_stays_refused(places: Places, tmp_path: Path) -> None:
    lived(places.state_dir)
    answers = places.own / state_files.TOOL_ANSWERS
    answers.write_text('{"v":1}')
    file = exported(places, tmp_path)
    answers.write_text('{"v":1,"answers":[]}')
    (places.own / "policy.toml").write_text("")
    state_import.run(places, file, yes=True)
    assert answers.read_text() == '{"v":1,"answers":[]}'


def test_a_kill_switch_that_is_on_stays_on(places: Places, tmp_path: Path) -> None:
    lived(places.state_dir)
    stores.kill_switch(places.state_dir).set(on=False, by="anna", why="")
    there = elsewhere(tmp_path)
    stores.kill_switch(there.state_dir).set(on=True, by="anna", why="wait")
    state_import.run(there, exported(places, tmp_path), yes=True)
    assert stores.kill_switch(there.state_dir).thrown()


def test_every_step_of_an_import_can_be_the_last(places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lived(places.state_dir)
    archive = state_archive.read(exported(places, tmp_path))
    replace = atomic.replace
    for step in range(len(archive.contents)):
        there = elsewhere(tmp_path / str(step))
        lived(there.state_dir)
        (there.own / "policy.toml").unlink()
        old = (there.own / "audit.jsonl").read_bytes()
        left = [step]

        def dying(path: Path, data: bytes, left: list[int] = left) -> None:
            if not left[0]:
                raise OSError(5, "Input/output error")
            left[0] -= 1
            replace(path, data)

        monkeypatch.setattr(import_state.atomic, "replace", dying)
        with pytest.raises(OSError, match="Input/output"):
            import_state.perform(there.state_dir, import_state.plan(there.state_dir, archive), NOW)
        monkeypatch.setattr(import_state.atomic, "replace", replace)
        kept = import_state.perform(there.state_dir, import_state.plan(there.state_dir, archive), NOW)
        assert kept is not None
        assert (kept / "audit.jsonl").read_bytes() == old, "of two attempts in one second, what the first one found"
        assert not stores.audit_log(there.state_dir).verify().error
        assert (there.own / "key").read_bytes() == archive.contents["key"]


def test_nothing_is_written_without_a_yes(places: Places, tmp_path: Path) -> None:
    lived(places.state_dir)
    there, file = elsewhere(tmp_path), exported(places, tmp_path)
    shown = state_import.run(there, file, dry_run=True)
    assert not there.own.exists()
    assert any("1 rules" in text.text for text in shown.lines)


def test_a_running_gateway_is_in_the_way(places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lived(places.state_dir)
    there, file = elsewhere(tmp_path), exported(places, tmp_path)
    monkeypatch.setattr(reload_note, "is_gateway_running", lambda _: True)
    with pytest.raises(UserError, match="is running"):
        state_import.run(there, file, yes=True)
    assert not there.own.exists()


def test_an_archive_is_for_its_owner_and_never_replaces_a_file(places: Places, tmp_path: Path) -> None:
    lived(places.state_dir)
    file = exported(places, tmp_path)
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UserError, match="exists"):
        state_export.run(places, file)


def test_without_a_name_it_is_where_agents_read_nothing(places: Places) -> None:
    lived(places.state_dir)
    file = Path(state_export.run(places).data["file"])
    assert file.parent == places.own / "exports"
    host = Host(str(places.state_dir.parent), str(places.state_dir), str(places.config), ())
    for path in (file, file.parent, file.parent / "before-import-x" / "key"):
        assert protected_paths.kind(str(path), host) == "key"


@pytest.mark.parametrize("cut", [0, 10, 300, -1])
def test_a_damaged_archive_is_refused(places: Places, tmp_path: Path, cut: int) -> None:
    lived(places.state_dir)
    file = exported(places, tmp_path)
    file.write_bytes(file.read_bytes()[:cut])
    there = elsewhere(tmp_path)
    with pytest.raises(UserError, match="not a whole archive"):
        state_import.run(there, file, yes=True)
    assert not there.own.exists()


def test_a_file_that_is_not_there_is_named(places: Places, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        state_import.run(places, tmp_path / "a.toolguard-state", yes=True)


def packed(tmp_path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    file = tmp_path / "made.toolguard-state"
    with tarfile.open(file, "w:gz") as tar:
        for member, data in members:
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return file


@pytest.mark.parametrize("name", ["../key", "/etc/x", "a/key", "nonces.json", "fleet-identity.json", "strange"])
def test_an_archive_writes_only_the_files_of_a_state(tmp_path: Path, name: str) -> None:
    listed = (state_archive.ArchivedFile(name, 1, state_archive.hashlib.sha256(b"x").hexdigest()),)
    about = msgspec.json.encode(state_archive.About(1, "0", NOW, "", listed))
    file = packed(tmp_path, (tarfile.TarInfo("about.json"), about), (tarfile.TarInfo(name), b"x"))
    with pytest.raises(UserError, match="not a whole archive"):
        state_archive.read(file)


def test_a_link_in_an_archive_is_refused(tmp_path: Path) -> None:
    link = tarfile.TarInfo("key")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    about = msgspec.json.encode(state_archive.About(1, "0", NOW, "", ()))
    with pytest.raises(UserError, match="not a whole archive"):
        state_archive.read(packed(tmp_path, (tarfile.TarInfo("about.json"), about), (link, b"")))


def test_a_later_format_is_not_guessed(tmp_path: Path) -> None:
    about = msgspec.json.encode(state_archive.About(state_archive.FORMAT + 1, "9.0", NOW, "", ()))
    with pytest.raises(UserError, match=r"toolguard 9\.0"):
        state_archive.read(packed(tmp_path, (tarfile.TarInfo("about.json"), about)))


def test_what_is_of_this_machine_is_in_no_archive(places: Places, tmp_path: Path) -> None:
    lived(places.state_dir)
    for file in durability.FILES:
        path = places.own / file.name
        if not os.path.lexists(path) and file.kind == "here":
            path.write_text("{}")
    names = set(state_archive.read(exported(places, tmp_path)).contents)
    assert names == {"key", "audit.jsonl", "audit.head", "policy.toml", "kill-switch"}
