"""`toolguard config`: the commands from end to end, on files with comments, includes, variables and odd line ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import doctor_stage
import filelock
import pytest
from cli_stage import answering, envelope, picture, put_in, texts, toolguard

from toolguard_cli.commands import config_get as get
from toolguard_cli.commands import config_schema as schema
from toolguard_cli.commands import config_show as show
from toolguard_cli.commands import config_unset as unset
from toolguard_cli.commands import config_validate as validate
from toolguard_cli.hostconfig import config_file, draft
from toolguard_cli.operations import change_setting, reload_note
from toolguard_cli.operations import set_setting as set_command
from toolguard_cli.operations.change_setting import ChangeOptions
from toolguard_cli.setup import config_lock
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result
from toolguard_engine.config import plugin_manifest
from toolguard_engine.stores.files import engine_files as engines

KEYS = "plugins.entries.toolguard.config"
TEXT = """\
// the gateway of the office
{
  gateway: { mode: 'local', port: 18789 }, // as ever
  plugins: {
    allow: ['toolguard'],
    entries: {
      toolguard: {
        enabled: true,
        config: {
          mode: 'soft', /* for now */
          // who must always ask
          alwaysBlock: ['gateway'],
        },
      },
    },
  },
}
"""
APPROVAL = {
    "mode": "nonce",
    "prefix": "TOOLGUARD",
    "wake": True,
    "agentTool": False,
    "answerLinks": False,
    "answerLinkMs": 900_000,
    "signers": "",
    "revokedSigners": "",
}
"""The defaults."""

OFFLINE = ChangeOptions(offline=True)
OTHER_AGENTS = "agents means toolguard's settings here; use --root for OpenClaw's"
LATER = "no gateway with toolguard is running; it applies this when it starts"


def write(places: Places, text: str, name: str = "") -> Path:
    path = places.config.parent / (name or places.config.name)
    path.write_bytes(text.encode())
    return path


def text_of(places: Places, name: str = "") -> str:
    return (places.config.parent / (name or places.config.name)).read_bytes().decode()


def change(places: Places, path: str, value: str | None, options: ChangeOptions = OFFLINE) -> Result:
    return unset.run(places, path, options) if value is None else set_command.run(places, path, value, options)


def refused(places: Places, path: str, value: str | None, options: ChangeOptions = OFFLINE) -> tuple[str, str]:
    """What a change is refused with; it must leave everything as it was, but for the lock."""
    before = picture(places.state_dir, times=False)
    with pytest.raises(UserError) as caught:
        change(places, path, value, options)
    after = picture(places.state_dir, times=False)
    for made in ("toolguard", "toolguard/install.lock"):
        after.pop(made, None) if made not in before else None
    assert after == before
    return caught.value.message, caught.value.fix


def openclaw(folder: Path, answer: Any) -> tuple[str, ...]:
    """A program that answers like OpenClaw's validation: a value, or one made of the config that it is given."""
    if not isinstance(answer, str):
        return tuple(answering(folder, answer))
    script = folder / "openclaw.py"
    script.write_text(
        f"import json, os, pathlib\ntext = pathlib.Path(os.environ['OPENCLAW_CONFIG_PATH']).read_text()\n{answer}"
    )
    return sys.executable, str(script)


# ---- set and unset


CHANGES = [
    pytest.param("mode", "enforce", ("mode: 'soft'", "mode: 'enforce'"), id="a text"),
    pytest.param(
        "escalationThreshold", "40", ("['gateway'],\n", "['gateway'],\n          escalationThreshold: 40,\n"), id="new"
    ),
    pytest.param("alwaysBlock[1]", "nodes", ("['gateway']", "['gateway', 'nodes']"), id="one more of a list"),
    pytest.param("alwaysBlock.0", "nodes", ("['gateway']", "['nodes']"), id="one of a list"),
    pytest.param("alwaysBlock", "['a','b']", ("['gateway']", "['a', 'b']"), id="a list"),
    pytest.param("alwaysBlock[0]", None, ("['gateway']", "[]"), id="one out of a list"),
    pytest.param("plugins.entries.browser.enabled", "false", ("toolguard: {\n", None), id="an entry of another plugin"),
]


@pytest.mark.parametrize(("path", "value", "swap"), CHANGES)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["no mark", "byte order mark"])
def test_only_what_is_meant_changes(
    places: Places, path: str, value: str | None, swap: tuple[str, str | None], line_end: str, mark: str
) -> None:
    before = mark + TEXT.replace("\n", line_end)
    write(places, before)
    done = change(places, path, value)
    assert done.exit_code == 0
    old, new = (part.replace("\n", line_end) if part is not None else None for part in swap)
    if new is not None:
        assert text_of(places) == before.replace(old or "", new)
    else:
        added = [line for line in text_of(places).split(line_end) if line not in before.split(line_end)]
        assert "".join(added).split() == ["browser:", "{", "enabled:", "false,"]
    assert config_file.backup_path(places.config).read_bytes().decode() == before


def test_a_key_goes_and_the_comments_around_it_stay(places: Places) -> None:
    write(places, TEXT)
    done = change(places, "alwaysBlock", None)
    assert "who must always ask" not in text_of(places) or "// who must always ask" in text_of(places)
    assert text_of(places).startswith("// the gateway of the office\n")
    assert "mode: 'soft', /* for now */" in text_of(places)
    assert texts(done)[0] == f"unset {KEYS}.alwaysBlock; its default applies: [] ({places.config})"


@pytest.mark.parametrize(
    "entry",
    ["{ enabled: true }", "{\n        enabled: true, // mine\n      }", "{ enabled: true, config: { /* later */ } }"],
    ids=["one line", "lines", "a comment inside"],
)
def test_unset_undoes_set(places: Places, entry: str) -> None:
    """Also the objects that were made for the value; never one with a comment in it."""
    before = f"{{ plugins: {{ entries: {{ toolguard: {entry} }} }} }}\n"
    write(places, before)
    change(places, "approval.mode", "native")
    assert text_of(places) != before
    change(places, "approval.mode", None)
    assert text_of(places) == before


def test_what_set_says(places: Places) -> None:
    write(places, TEXT)
    done = change(places, "mode", "enforce")
    assert [(line.kind, line.text) for line in done.lines] == [
        ("ok", f'set {KEYS}.mode to "enforce" ({places.config})'),
        ("info", "  -          mode: 'soft', /* for now */"),
        ("info", "  +          mode: 'enforce', /* for now */"),
        ("info", f"backup of the file: {places.config}.toolguard.bak"),
        ("next", LATER),
    ]
    diff = done.data.pop("diff")
    assert diff[-2:] == ["-          mode: 'soft', /* for now */", "+          mode: 'enforce', /* for now */"]
    assert done.data == {
        "path": f"{KEYS}.mode",
        "paths": [f"{KEYS}.mode"],
        "file": str(places.config),
        "changed": True,
        "dryRun": False,
        "backups": [f"{places.config}.toolguard.bak"],
        "openclawAsked": False,
        "weaker": [],
        "byHand": [],
        "findings": [],
    }


@pytest.mark.parametrize(("path", "value", "swap"), CHANGES)
def test_a_dry_run_writes_nothing(places: Places, path: str, value: str | None, swap: tuple[str, str | None]) -> None:
    write(places, TEXT)
    before = picture(places.state_dir)
    done = change(places, path, value, ChangeOptions(offline=True, dry_run=True))
    assert picture(places.state_dir) == before
    assert texts(done)[0].startswith("would set" if value else "would unset")
    assert texts(done)[-1] == "nothing was written (--dry-run)"
    assert done.data["changed"] is True


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("mode", "soft", f'{KEYS}.mode is already "soft"; nothing changes'),
        ("alwaysBlock", "['gateway']", f'{KEYS}.alwaysBlock is already ["gateway"]; nothing changes'),
        ("failMode", None, f'{KEYS}.failMode is not set; its default applies: "closed"; nothing changes'),
        ("storePath", None, f"{KEYS}.storePath is not set; nothing changes"),
        ("gateway.x", None, "gateway.x is not set; nothing changes"),
    ],
)
def test_nothing_to_do(places: Places, path: str, value: str | None, said: str) -> None:
    write(places, TEXT)
    before = picture(places.state_dir)
    done = change(places, path, value)
    assert texts(done) == [f"{said} ({places.config})"]
    assert (done.exit_code, done.data["changed"]) == (0, False)
    assert picture(places.state_dir) == before


MODES = "must be one of enforce, soft, shadow, disabled"


def wrong(name: str, path: str, value: str, said: str, fix: str = "choose another value") -> Any:
    """`said` begins with the path as it stands in the config: ours have `.` there for the place of our settings."""
    return pytest.param(path, value, said if said[0] != "." else f"{KEYS}{said}", fix, id=name)


@pytest.mark.parametrize(
    ("path", "value", "message", "fix"),
    [
        wrong("enum", "mode", "loud", f'.mode: {MODES}, not "loud"'),
        wrong("range", "escalationThreshold", "500", ".escalationThreshold: must be a whole number from 1 to 100, not 500"),
        wrong(
            "pattern",
            "approval.prefix",
            "123",
            '.approval.prefix: must be a string that matches ^[A-Z][A-Z0-9_]{0,39}$, not "123"',
        ),
        wrong(
            "slip",
            "approval.prefxi",
            "X",
            ".approval.prefxi: unknown setting; did you mean approval.prefix?",
            "choose another name",
        ),
        wrong(
            "slip in a value",
            "approval",
            "{ prefxi: 'X' }",
            ".approval.prefxi: unknown setting; did you mean approval.prefix?",
        ),
        wrong(
            "two faults",
            "agents.main",
            "{ mode: 'x', colour: 1 }",
            f'.agents.main.mode: {MODES}, not "x"; {KEYS}.agents.main.colour: unknown setting; valid names: '
            + ", ".join(plugin_manifest.config_schema()["properties"]["agents"]["additionalProperties"]["properties"]),
        ),
        wrong(
            "in a list that is not written",
            "alwaysBlock",
            "[7]",
            ".alwaysBlock[0]: must be a string of 1 to 200 characters, not 7",
        ),
        wrong(
            "out of order",
            "loopDetection.warningThreshold",
            "25",
            ".loopDetection.warningThreshold: loopDetection.warningThreshold (25) must be below "
            "loopDetection.criticalThreshold (20): otherwise a call is blocked before the warning",
        ),
        wrong(
            "locks the guard out",
            "plugins.allow",
            "['other']",
            "plugins.allow: does not name toolguard: the gateway does not load the guard",
        ),
        wrong(
            "no list",
            "plugins.allow",
            "other",
            'plugins.allow: must be a list [ ... ], not "other"',
            """write it as a list: '["other"]'""",
        ),
        wrong(
            "no list of ours",
            "alwaysBlock",
            "it's",
            '.alwaysBlock: must be a list [ ... ] of at most 500, not "it\'s"',
            """write it as a list: '["it'"'"'s"]'""",
        ),
        wrong("a number", "alwaysBlock", "7", ".alwaysBlock: must be a list [ ... ] of at most 500, not 7"),
        wrong("python", "python", "/nowhere/python", ".python: /nowhere/python does not exist"),
    ],
)
def test_what_would_break_something_is_refused(places: Places, path: str, value: str, message: str, fix: str) -> None:
    write(places, TEXT)
    assert refused(places, path, value) == (message, f"nothing was written; {fix}")


@pytest.mark.parametrize(
    ("path", "value", "at"),
    [
        (KEYS, "null", f"{KEYS}: must be an object"),
        ("plugins.entries.foo", "{ bogus: 1 }", "plugins.entries.foo.bogus: unknown setting"),
        ("plugins.load", "{ bogus: 1 }", "plugins.load.bogus: unknown setting"),
        ("plugins.entries.toolguard", "{ enabled: true, bogus: 1 }", "plugins.entries.toolguard.bogus: unknown "),
        ("plugins", "{ entries: { toolguard: { enabled: true } }, bogus: 1 }", "plugins.bogus: unknown setting"),
        ("pendingTimeoutMs", "${N}", f"{KEYS}.pendingTimeoutMs: must be a whole number"),
        ("plugins.entries.foo", "{ hooks: { bogus: 1 } }", "only OpenClaw knows whether the gateway accepts "),
        ("plugins.entries.foo.config", "{ bogus: 1 }", "only OpenClaw knows whether the gateway accepts "),
        ("plugins.slots.memory", "7", "only OpenClaw knows whether the gateway accepts "),
    ],
)
def test_without_openclaw_nothing_is_written_that_could_stop_the_gateway(
    places: Places, path: str, value: str, at: str
) -> None:
    write(places, TEXT)
    assert refused(places, path, value, ChangeOptions(openclaw=()))[0].startswith(at)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("gateway.mode", None),
        ("gateway", None),
        ("gateway", "{ port: 18790 }"),
        ("gateway.mode", "null"),
        ("gateway.mode", ""),
    ],
)
def test_the_mode_of_the_gateway_is_not_taken_away(places: Places, path: str, value: str | None) -> None:
    write(places, TEXT)
    assert refused(places, path, value) == (
        f"the gateway does not start without gateway.mode, and this change to {path} would remove it",
        "nothing was written; toolguard config set gateway.mode VALUE changes it",
    )


def test_a_mode_of_the_gateway_that_is_missing_hinders_nothing(places: Places) -> None:
    write(places, TEXT.replace("mode: 'local', ", ""))
    assert change(places, "mode", "shadow").data["findings"] == []
    (warning,) = validate.run(places, offline=True).data["findings"]
    assert (warning["level"], warning["path"]) == ("warn", "gateway.mode")
    assert change(places, "gateway.mode", "local").data["changed"] is True
    assert validate.run(places, offline=True).data["findings"] == []


@pytest.mark.parametrize("path", ["plugins", "plugins.entries", "plugins.entries.toolguard"])
@pytest.mark.parametrize("value", ["{}", None], ids=["set", "unset"])
def test_toolguard_is_not_taken_out(places: Places, path: str, value: str | None) -> None:
    write(places, TEXT)
    if value and path.endswith("toolguard"):
        assert "is not true: the guard is off" in "\n".join(texts(change(places, path, value)))
        return
    assert refused(places, path, value) == (f"that would remove toolguard from {places.config}", "toolguard uninstall")


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("{}", "CONFIG has no entry plugins.entries.toolguard", "run toolguard install to create it, then try again"),
        (None, "CONFIG has no entry plugins.entries.toolguard", "run toolguard install to create it, then try again"),
        (
            "{a:1 b}",
            "CONFIG is not valid JSON5: line 1, column 6: expected ',' or '}' after a member, found 'b'\n{a:1 b}\n     ^",
            "fix that line, then try again; the file was not changed",
        ),
    ],
    ids=["not installed", "no file", "no JSON5"],
)
@pytest.mark.parametrize("value", ["soft", None], ids=["set", "unset"])
def test_there_must_be_an_entry(places: Places, text: str | None, message: str, fix: str, value: str | None) -> None:
    if text is not None:
        write(places, text)
    assert refused(places, "mode", value) == (message.replace("CONFIG", str(places.config)), fix)


def test_a_gateway_that_runs_takes_a_change_in_by_itself(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    write(places, TEXT)
    doctor_stage.runs(places)
    monkeypatch.setattr(engines, "alive", lambda _: True)
    assert texts(change(places, "mode", "enforce"))[-1] == reload_note.APPLIED_SOON


@pytest.mark.parametrize(
    ("gateway_pid", "started", "note"),
    [
        (os.getpid(), 4e9, reload_note.APPLIED_SOON),
        (os.getpid(), 1.0, reload_note.APPLIED_LATER),
        (-1, 4e9, reload_note.APPLIED_LATER),
    ],
    ids=["its gateway runs", "another process with its id", "no process"],
)
def test_a_gateway_whose_engine_is_replaced_takes_a_change_in_as_well(
    places: Places, gateway_pid: int, started: float, note: str
) -> None:
    write(places, TEXT)
    doctor_stage.ran(places, gateway_pid=gateway_pid, started=started)
    assert texts(change(places, "mode", "enforce"))[-1] == note


def test_what_was_wrong_before_hinders_nobody_elsewhere(places: Places) -> None:
    write(places, TEXT.replace("'soft'", "'loud'").replace("['gateway']", "[7]"))
    done = change(places, "escalationThreshold", "40")
    assert texts(done)[-3:] == [
        f'an error that existed before: {KEYS}.mode: {MODES}, not "loud"',
        "toolguard config validate shows all errors",
        LATER,
    ]
    assert [each["path"] for each in done.data["findings"]] == [f"{KEYS}.mode", f"{KEYS}.alwaysBlock[0]"]
    assert refused(places, "mode", "louder")[0] == f'{KEYS}.mode: {MODES}, not "louder"'
    mended = change(places, "mode", None)
    assert [each["path"] for each in mended.data["findings"]] == [f"{KEYS}.alwaysBlock[0]"]


def test_a_value_lands_in_the_file_that_owns_it(places: Places) -> None:
    main = "{ // main\n  plugins: { $include: './plugins.json5' },\n}\n"
    included = "// mine\n{ entries: { toolguard: { enabled: true, config: { mode: 'soft' } } } } // end\n"
    write(places, main)
    path = write(places, included, "plugins.json5")
    done = change(places, "mode", "shadow")
    assert text_of(places) == main
    assert text_of(places, "plugins.json5") == included.replace("soft", "shadow")
    assert texts(done)[0] == f'set {KEYS}.mode to "shadow" ({path})'
    assert done.data["backups"] == [f"{path}.toolguard.bak"]
    assert change(places, "mode", None).data["file"] == str(path)
    assert text_of(places, "plugins.json5").startswith("// mine\n{ entries: { toolguard: { enabled: true }")


def test_the_file_before_the_first_change_is_kept_for_good(places: Places) -> None:
    write(places, TEXT)
    texts_then = [TEXT]
    for mode in ("shadow", "enforce", "soft"):
        change(places, "mode", mode)
        texts_then.append(text_of(places))
    assert text_of(places, "openclaw.json.toolguard.bak") == TEXT
    assert text_of(places, "openclaw.json.toolguard.last.bak") == texts_then[-2]


def test_what_set_says_of_tabs(places: Places) -> None:
    write(places, TEXT.replace("          mode", "\t\tmode"))
    assert "  +\t\tmode: 'shadow', /* for now */" in texts(change(places, "mode", "shadow"))


@pytest.mark.parametrize(("text", "noted"), [("null", True), ("5", True), ("'5'", False), ("/x/y.log", False)])
def test_a_text_that_looks_like_something_else(places: Places, text: str, *, noted: bool) -> None:
    write(places, TEXT)
    reported = texts(change(places, "logPath", text, ChangeOptions(offline=True, dry_run=True)))
    assert (f"this setting takes a string, so {text} was read as one" in reported) is noted


def test_settings_of_an_agent_go_where_the_gateway_looks(places: Places) -> None:
    write(places, TEXT)
    done = change(places, "agents.Main.mode", "enforce")
    assert done.data["path"] == f"{KEYS}.agents.main.mode"
    assert texts(done)[1] == "OpenClaw runs this agent as main; settings under another spelling have no effect"
    assert get.run(places, "agents.main.mode", root=False).data["value"] == "enforce"
    assert change(places, "agents.MAIN.mode", None).data["changed"] is True
    write(places, TEXT.replace("mode: 'soft'", "agents: { Main: { mode: 'soft' } }"))
    assert change(places, "agents.Main.mode", None).data["path"] == f"{KEYS}.agents.Main.mode"


def test_a_file_that_is_made_anew_is_no_fault(places: Places, tmp_path: Path) -> None:
    done = change(places, "gateway.port", "18790", ChangeOptions(root=True, openclaw=openclaw(tmp_path, REJECTS_PORT)))
    assert "the file does not exist" not in "\n".join(texts(done))
    assert (done.data["findings"], done.data["openclawAsked"]) == ([], True)
    places.config.unlink()
    wrong = ChangeOptions(root=True, openclaw=openclaw(tmp_path, REJECTS_PORT.replace("\"port: 'x'\" in text", "True")))
    assert refused(places, "gateway.port", "18790", wrong)[0].startswith("gateway.port: OpenClaw says: ")
    assert not places.config.exists()


@pytest.mark.thorough
def test_many_at_once(places: Places, tmp_path: Path) -> None:
    """None fails, and none takes the other's value back."""
    write(places, TEXT)
    ids = [f"agent-{number}" for number in range(4)]
    line = [sys.executable, "-m", "toolguard_cli", "config", "set", "--offline", "--state-dir", str(places.state_dir)]
    started = [subprocess.Popen([*line, f"agents.{each}.mode", "shadow"], stderr=subprocess.PIPE, text=True) for each in ids]
    ended = [(process.communicate()[1], process.returncode) for process in started]
    assert ended == [("", 0)] * len(ids)
    agents = get.run(places, "agents", root=False).data["value"]
    assert agents == {each: {"mode": "shadow"} for each in ids}


def test_a_value_of_two_files_is_refused(places: Places) -> None:
    write(places, "{ plugins: { $include: ['./a.json5', './b.json5'] } }")
    write(places, "{ entries: { toolguard: { enabled: true, config: { mode: 'soft' } } } }", "a.json5")
    write(places, "{ entries: { toolguard: { config: { mode: 'shadow' } } } }", "b.json5")
    message, fix = refused(places, "mode", "enforce")
    assert message.startswith(f"{KEYS}.mode is merged from ")
    assert fix == f"edit one of these files by hand: {KEYS}.mode"


def test_variables_stay_as_they_are_written(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUARD_MODE", "shadow")
    write(places, TEXT.replace("'soft'", "'${GUARD_MODE}'"))
    change(places, "failMode", "open")
    assert "mode: '${GUARD_MODE}', /* for now */" in text_of(places)
    change(places, "logPath", "${HOME}/x.log")
    assert "logPath: '${HOME}/x.log'" in text_of(places)
    assert get.run(places, "mode", root=False).data["value"] == "shadow"


def _changed(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    real = draft.Draft.write

    def late(self: draft.Draft, *, again: bool = False) -> list[Path]:
        places.config.write_text(TEXT + "// somebody else\n")
        return real(self, again=again)

    monkeypatch.setattr(draft.Draft, "write", late)


def test_a_file_that_changes_in_between(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    write(places, TEXT)
    _changed(places, monkeypatch)
    with pytest.raises(UserError) as caught:
        change(places, "mode", "shadow")
    assert caught.value.message == f"{places.config} was changed by another process"
    assert text_of(places) == TEXT + "// somebody else\n"


def test_another_command_changes_the_config(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    write(places, TEXT)
    monkeypatch.setattr(config_lock, "LOCK_SECONDS", 0)
    places.own.mkdir()
    with filelock.FileLock(places.own / "install.lock"), pytest.raises(UserError) as caught:
        change(places, "mode", "shadow")
    assert caught.value.message == "another toolguard command is changing the config"
    assert text_of(places) == TEXT


def test_a_file_that_may_not_be_written(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    write(places, TEXT)

    def may_not(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(config_file.atomic, "replace", may_not)
    assert refused(places, "mode", "shadow") == (
        f"cannot write {places.config}: Permission denied",
        "check its owner and mode; nothing was changed",
    )


@pytest.mark.parametrize("value", ["soft", None], ids=["set", "unset"])
def test_not_from_an_agents_run(places: Places, monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    write(places, TEXT)
    monkeypatch.setenv("OPENCLAW_SHELL", "exec")
    with pytest.raises(UserError) as caught:
        change(places, "mode", value)
    verb = "unset" if value is None else "set"
    assert caught.value.message == f"`toolguard config {verb}` was started by an agent's exec; only a person may do that"
    assert text_of(places) == TEXT


@pytest.mark.parametrize(
    ("path", "value", "message", "fix"),
    [
        pytest.param(
            "agents.defaults.model.primary",
            "fake/m2",
            f"there is no setting {KEYS}.agents.defaults.model.primary: {OTHER_AGENTS}",
            "toolguard config set --root agents.defaults.model.primary; or did you mean agents.defaults.mode?",
            id="set an agent of OpenClaw",
        ),
        pytest.param(
            "agents.entries.a.workspace",
            None,
            f"there is no setting {KEYS}.agents.entries.a.workspace: {OTHER_AGENTS}",
            "toolguard config unset --root agents.entries.a.workspace",
            id="unset one of OpenClaw",
        ),
        pytest.param(
            "approval.prfix",
            None,
            f"there is no setting {KEYS}.approval.prfix",
            "did you mean approval.prefix?",
            id="unset a slip",
        ),
        pytest.param(
            "nonsense",
            None,
            "toolguard has no setting nonsense, and the config has no such key",
            "toolguard config show lists all settings",
            id="unset nonsense",
        ),
        pytest.param(
            "alwaysBlock",
            "[gateway",
            "VALUE is not valid JSON5: line 1, column 2: expected a value, found 'gateway'; a string needs quotes",
            """fix it; to set a string, write '"[gateway"'""",
            id="half a list",
        ),
    ],
)
def test_what_cannot_be_meant(places: Places, path: str, value: str | None, message: str, fix: str) -> None:
    write(places, TEXT)
    assert refused(places, path, value) == (message, fix)


def test_an_unknown_key_that_is_written_can_be_taken_out(places: Places) -> None:
    write(places, TEXT.replace("mode: 'soft'", "agents: { main: { colour: 1 } }"))
    assert change(places, "agents.main.colour", None).data["changed"] is True


def test_with_root_agents_are_those_of_openclaw(places: Places) -> None:
    write(places, TEXT)
    done = change(places, "agents.defaults.model.primary", "fake/m2", ChangeOptions(root=True, offline=True))
    assert done.data["path"] == "agents.defaults.model.primary"


def test_a_rule_that_is_not_there_is_told_when_it_is_switched_off(places: Places) -> None:
    write(places, TEXT)
    done = change(places, "rulesOff", '["nope"]')
    (warning,) = done.data["findings"]
    assert (warning["level"], warning["path"]) == ("warn", f"{KEYS}.rulesOff[0]")
    assert validate.run(places, offline=True).data["findings"] == done.data["findings"]


# ---- what OpenClaw says


REJECTS_PORT = """
bad = "port: 'x'" in text
issues = [{'path': 'gateway.port', 'message': 'Invalid input: expected number, received string'}] if bad else []
print(json.dumps({'valid': not bad, 'issues': issues}))
"""


@pytest.mark.parametrize(
    ("path", "written", "value"),
    [
        ("pendingTimeoutMs", "8m", 480_000), ("pendingTimeoutMs", "90s", 90_000), ("pendingTimeoutMs", "300000", 300_000),
        ("approvalWindowMs", "1m30s", 90_000), ("metrics.retention.rawDays", "2w", 14),
        ("budget.drift.minutesAlone", "2h", 120), ("logPath", "8m", "8m"),
    ],
)  # fmt: skip
def test_a_time_is_given_as_a_duration(places: Places, path: str, written: str, value: object) -> None:
    write(places, TEXT)
    change(places, path, written)
    assert get.run(places, path).data["value"] == value


@pytest.mark.parametrize(
    ("path", "written", "message"),
    [
        ("pendingTimeoutMs", "30d", "must be a whole number from"),
        ("metrics.retention.rawDays", "36h", "must be a multiple of 1d, and 36h is not"),
        ("pendingTimeoutMs", "soon", "must be a whole number"),
        ("maxIdenticalFailures", "8h", "must be a whole number"),
    ],
)
def test_a_duration_that_does_not_fit(places: Places, path: str, written: str, message: str) -> None:
    write(places, TEXT)
    assert message in refused(places, path, written)[0]


def test_several_settings_are_one_change(places: Places) -> None:
    write(places, TEXT)
    before = places.config.read_text()
    asked = ("config", "set", "--state-dir", places.state_dir, "--offline")
    for words, code in (
        (["mode=soft", "escalationThreshold=500"], 1),
        (["mode=soft", "mode=shadow"], 1),
        (["mode=soft", "budget.mode"], 2),
        (["mode", "soft", "budget.mode", "soft"], 2),
        (["mode"], 2),
    ):
        assert (toolguard(*asked, *words).returncode, places.config.read_text()) == (code, before), words
    done = envelope(toolguard(*asked, "mode=shadow", "logPath=/a=b", "alwaysBlock=['x']", "--json"))
    paths = ["mode", "logPath", "alwaysBlock"]
    assert [get.run(places, path).data["value"] for path in paths] == ["shadow", "/a=b", ["x"]]
    assert done["data"]["paths"] == [f"{KEYS}.{path}" for path in paths]


@pytest.mark.parametrize(
    ("path", "value", "stale", "asked"),
    [
        pytest.param("mode", "shadow", False, False, id="own setting"),
        pytest.param("mode", "shadow", True, True, id="another version of the plugin"),
        pytest.param("logPath", "${HOME}/x", False, True, id="a variable"),
        pytest.param("gateway.port", "18790", False, True, id="of the gateway"),
    ],
)
def test_openclaw_is_asked_for_what_only_it_knows(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, value: str, *, stale: bool, asked: bool
) -> None:
    write(places, TEXT)
    put_in(places)
    if stale:
        (places.extension / "openclaw.plugin.json").write_text("{}")
    called = openclaw(tmp_path, {"valid": True})
    monkeypatch.setattr(change_setting.openclaw_check, "command", lambda: called)
    assert change(places, path, value, ChangeOptions(root=path.startswith("gateway"))).data["openclawAsked"] is asked


def test_openclaw_is_asked_before_anything_is_written(places: Places, tmp_path: Path) -> None:
    write(places, TEXT)
    asked = ChangeOptions(openclaw=openclaw(tmp_path, REJECTS_PORT))
    assert refused(places, "gateway.port", "x", asked) == (
        "gateway.port: OpenClaw says: Invalid input: expected number, received string",
        "nothing was written; choose another value",
    )
    done = change(places, "gateway.port", "18790", asked)
    assert text_of(places) == TEXT.replace("18789", "18790")
    assert done.data["openclawAsked"] is True
    assert texts(done)[-1] == reload_note.RELOADED_SOON


def test_what_openclaw_found_before_hinders_nobody_elsewhere(places: Places, tmp_path: Path) -> None:
    write(places, TEXT.replace("18789", "'x'"))
    asked = ChangeOptions(openclaw=openclaw(tmp_path, REJECTS_PORT))
    done = change(places, "mode", "shadow", asked)
    assert (
        "an error that existed before: gateway.port: OpenClaw says: Invalid input: expected number, received string"
        in texts(done)
    )


def test_one_path_is_told_once(places: Places, tmp_path: Path) -> None:
    write(places, TEXT)
    issues = [
        {"path": "gateway.port", "message": text} for text in ("expected number", "expected object", "expected number")
    ]
    answer = f"print(json.dumps({{'valid': False, 'issues': {issues!r}}} if \"port: 'x'\" in text else {{'valid': True}}))"
    said = refused(places, "gateway.port", "x", ChangeOptions(openclaw=openclaw(tmp_path, answer)))
    assert said[0] == "gateway.port: OpenClaw says: expected number / OpenClaw says: expected object"


def test_a_variable_that_is_not_set_is_named(places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_MODE", raising=False)
    write(places, TEXT)
    issue = {"path": f"{KEYS}.mode", "message": "must be equal to one of the allowed values"}
    answer = f"print(json.dumps({{'valid': False, 'issues': [{issue!r}]}} if 'NO_SUCH_MODE' in text else {{'valid': True}}))"
    message, _ = refused(places, "mode", "${NO_SUCH_MODE}", ChangeOptions(openclaw=openclaw(tmp_path, answer)))
    assert message.startswith(f"{KEYS}.mode: ${{NO_SUCH_MODE}} is not set here, and the unsubstituted value is invalid (")


def test_a_plugin_in_the_gateway_that_does_not_know_the_setting(places: Places, tmp_path: Path) -> None:
    write(places, TEXT)
    issue = {"path": KEYS, "message": 'invalid config: must not have additional properties: "budget"'}
    answer = f"print(json.dumps({{'valid': False, 'issues': [{issue!r}]}} if 'budget' in text else {{'valid': True}}))"
    message, fix = refused(places, "budget.mode", "soft", ChangeOptions(openclaw=openclaw(tmp_path, answer)))
    assert message.startswith(f"{KEYS}.budget: the plugin in the gateway rejects this, and may be older than this toolguard")
    assert fix == "nothing was written; toolguard install first"


UNTOLD = "only OpenClaw knows whether the gateway accepts gateway.port, and "
ANYWAY = "nothing was written; try again where openclaw is available, or add --offline to skip the check"


def test_nobody_here_can_tell(places: Places, tmp_path: Path) -> None:
    write(places, TEXT)
    assert refused(places, "gateway.port", "18790", ChangeOptions(openclaw=())) == (f"{UNTOLD}it is not on PATH", ANYWAY)
    broken = ChangeOptions(openclaw=openclaw(tmp_path, "raise SystemExit(1)"))
    assert refused(places, "gateway.port", "18790", broken) == (
        f"{UNTOLD}OpenClaw could not validate the config: it printed nothing",
        ANYWAY,
    )
    assert "OpenClaw could not validate the config" in "\n".join(texts(change(places, "mode", "shadow", broken)))
    done = change(places, "gateway.port", "18790")
    assert texts(done)[-2:] == [
        "not validated by OpenClaw, so it is unknown whether the gateway accepts this",
        reload_note.RELOADED_SOON,
    ]
    assert change(places, "plugins.enabled", "true", ChangeOptions(openclaw=())).data["changed"] is True


# ---- validate


def test_a_healthy_file_in_one_line(places: Places, tmp_path: Path) -> None:
    write(places, TEXT)
    before = picture(places.state_dir)
    checked = "checked: JSON5, includes, toolguard's settings, plugin names, files, ports; "
    well = f"{places.config}: nothing is wrong ({checked}"
    assert texts(validate.run(places, offline=True)) == [f"{well}not validated by OpenClaw (--offline))"]
    assert texts(validate.run(places, offline=False, openclaw=())) == [
        f"{well}not validated by OpenClaw, which is not on PATH)"
    ]
    asked = validate.run(places, offline=False, openclaw=openclaw(tmp_path, {"valid": True}))
    assert texts(asked) == [f"{well}also validated by OpenClaw)"]
    assert asked.data == {
        "config": str(places.config),
        "files": [str(places.config)],
        "openclawAsked": True,
        "findings": [],
    }
    assert picture(places.state_dir) == before


def test_faults_with_place_excerpt_and_next_step(places: Places, tmp_path: Path) -> None:
    write(places, TEXT.replace("'soft'", "'loud'").replace("allow: ['toolguard']", "enabled: false"))
    answer = {"valid": False, "issues": [{"path": "gateway", "message": 'Unrecognized key: "port"'}]}
    result = validate.run(places, offline=False, openclaw=openclaw(tmp_path, answer))
    assert [(line.kind, line.text.replace(str(places.config), "CONFIG")) for line in result.lines] == [
        ("error", f'CONFIG, line 10, column 11: {KEYS}.mode: {MODES}, not "loud"'),
        ("info", "            mode: 'loud', /* for now */"),
        ("info", "            ^"),
        ("info", '-> toolguard config unset mode (the default is "enforce")'),
        ("error", "CONFIG, line 3, column 29: gateway.port: OpenClaw does not know this key"),
        ("info", "    gateway: { mode: 'local', port: 18789 }, // as ever"),
        ("info", "                              ^"),
        ("info", "-> remove it or fix its name; `openclaw config schema` lists the valid keys"),
        ("warn", "CONFIG, line 5, column 5: plugins.enabled: is false: the gateway loads no plugins"),
        ("info", "      enabled: false,"),
        ("info", "      ^"),
        ("info", "-> toolguard config set plugins.enabled true"),
        ("info", "2 errors, 1 warning; the gateway or the guard does not work with this config"),
    ]
    assert result.exit_code == 1
    assert [(each["level"], each["path"], each["line"]) for each in result.data["findings"]] == [
        ("error", f"{KEYS}.mode", 10),
        ("error", "gateway.port", 3),
        ("warn", "plugins.enabled", 5),
    ]


def test_a_file_that_cannot_be_read(places: Places) -> None:
    write(places, "{\n  a: 1,\n  b: [1 2],\n}\n")
    result = validate.run(places, offline=False, openclaw=("/nowhere",))
    assert [(line.kind, line.text.replace(str(places.config), "CONFIG")) for line in result.lines] == [
        ("error", "CONFIG, line 3, column 9: not valid JSON5: expected ',' or ']' after an element, found '2'"),
        ("info", "    b: [1 2],"),
        ("info", "          ^"),
        ("info", "-> fix that line"),
        ("info", "1 error; the gateway or the guard does not work with this config"),
        ("info", "not validated by OpenClaw, which cannot read this config either; there may be more errors"),
    ]
    assert (result.exit_code, result.data["openclawAsked"]) == (1, False)
    write(places, "[]")
    (line, *_) = validate.run(places, offline=True).lines
    assert (line.kind, line.text) == ("error", f"{places.config}: {places.config} is not an object")


def test_warnings_alone_are_no_fault(places: Places) -> None:
    write(places, TEXT.replace("allow: ['toolguard']", "enabled: false"))
    result = validate.run(places, offline=True)
    assert result.exit_code == 0
    assert texts(result)[-1].startswith(f"{places.config}: no errors, 1 warning (checked: ")


def test_control_characters_do_not_reach_the_terminal(places: Places) -> None:
    write(places, TEXT.replace("'soft'", "'\\u001b[2J'").replace("alwaysBlock", '"a\\u001b[2Jb"'))
    result = validate.run(places, offline=True)
    assert "\x1b" not in "\n".join(texts(result))
    assert result.exit_code == 1


# ---- get, show, schema


@pytest.mark.parametrize(
    ("path", "root", "value", "source", "line"),
    [
        ("mode", False, "soft", "file", 10),
        ("alwaysBlock[0]", False, "gateway", "file", 12),
        ("failMode", False, "closed", "default", 0),
        ("approval", False, APPROVAL, "default", 0),
        ("agents.main.mode", False, "soft", "general", 10),
        ("agents.main.escalationThreshold", False, 36, "general", 0),
        ("agents", False, {}, "default", 0),
        ("gateway.port", False, 18789, "file", 3),
        ("plugins.allow", False, ["toolguard"], "file", 5),
        ("gateway", True, {"mode": "local", "port": 18789}, "file", 3),
    ],
)
def test_get(places: Places, path: str, root: bool, value: object, source: str, line: int) -> None:  # noqa: FBT001 - of a table
    write(places, TEXT)
    found = get.run(places, path, root=root)
    assert (found.data["value"], found.data["source"], found.data["line"]) == (value, source, line)
    assert found.data["file"] == (str(places.config) if line else "")
    assert json.loads(found.printed or "") == value


def test_get_of_our_settings_has_defaults_for_what_is_not_written(places: Places) -> None:
    write(places, TEXT.replace("mode: 'soft'", "mode: 'soft', approval: { wake: false }"))
    assert get.run(places, "approval", root=False).data["value"] == APPROVAL | {"wake": False}


@pytest.mark.parametrize(
    ("path", "root", "message", "fix"),
    [
        ("mode", True, "CONFIG has no mode", "toolguard config show lists toolguard's settings"),
        ("tools.exec", False, "CONFIG has no tools.exec", "toolguard config show lists toolguard's settings"),
        ("approval.prfix", False, f"there is no setting {KEYS}.approval.prfix", "did you mean approval.prefix?"),
        (
            "agents.main.mdoe",
            False,
            f"there is no setting {KEYS}.agents.main.mdoe: {OTHER_AGENTS}",
            "toolguard config get --root agents.main.mdoe; or did you mean agents.main.mode?",
        ),
        (
            "agents.list[0].id",
            False,
            f"there is no setting {KEYS}.agents.list[0].id: {OTHER_AGENTS}",
            "toolguard config get --root 'agents.list[0].id'",
        ),
        ("mode.x", False, f"there is no setting {KEYS}.mode.x", "toolguard config show lists all settings"),
    ],
)
def test_get_of_nothing(places: Places, path: str, root: bool, message: str, fix: str) -> None:  # noqa: FBT001 - of a table
    write(places, TEXT)
    with pytest.raises(UserError) as caught:
        get.run(places, path, root=root)
    assert (caught.value.message, caught.value.fix) == (message.replace("CONFIG", str(places.config)), fix)


def test_get_of_what_has_no_default_says_what_that_means(places: Places) -> None:
    write(places, TEXT)
    with pytest.raises(UserError) as caught:
        get.run(places, "storePath", root=False)
    assert caught.value.message == f"{KEYS}.storePath is not set, and has no default"
    assert caught.value.fix == plugin_manifest.build()["uiHints"]["storePath"]["help"]


def rows(result: Result) -> dict[str, tuple[str, ...]]:
    """Mark, value and origin by setting."""
    found = {}
    for text in texts(result)[1:]:
        if text[:3].strip(" *") == "" and len(text.split()) > 2:
            mark, rest = text[0], [cell for cell in text[3:].split("  ") if cell.strip()]
            if len(rest) == 3:
                found[rest[0].strip()] = (mark, rest[1].strip(), rest[2].strip())
    return found


def test_show(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGS", "/var/log")
    text = TEXT.replace(
        "mode: 'soft',", "mode: 'soft', failMode: 'closed', logPath: '${LOGS}/x', agents: { main: { mode: 'shadow' } },"
    )
    write(places, text)
    reported = rows(show.run(places))
    assert reported["mode"] == ("*", '"soft"', "openclaw.json:10")
    assert reported["failMode"] == (" ", '"closed"', "openclaw.json:10")
    assert reported["logPath"] == ("*", '"/var/log/x"', "openclaw.json:10, ${LOGS}")
    assert reported["alwaysBlock"] == ("*", '["gateway"]', "openclaw.json:12")
    assert reported["agents.main.mode"] == ("*", '"shadow"', "openclaw.json:10")
    assert reported["escalationThreshold"] == (" ", "36", "default")
    assert reported["storePath"] == (" ", "(not set)", "default")
    assert reported["approval.prefix"] == (" ", '"TOOLGUARD"', "default")


def test_show_names_every_setting_of_the_schema_for_scripts(places: Places) -> None:
    write(places, TEXT)
    data = show.run(places).data
    assert {each["setting"].partition(".")[0] for each in data["settings"]} == set(
        plugin_manifest.config_schema()["properties"]
    )
    (mode,) = [each for each in data["settings"] if each["setting"] == "mode"]
    assert mode == {
        "setting": "mode",
        "value": "soft",
        "default": "enforce",
        "source": "file",
        "file": str(places.config),
        "line": 10,
        "variables": [],
        "differs": True,
    }


NOT_RIGHT = ["some settings are invalid, and the gateway does not start with them", "toolguard config validate"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", ["toolguard is not in this config; these settings would apply once it is installed", "toolguard install"]),
        (TEXT.replace("'soft'", "'loud'"), NOT_RIGHT),
        (TEXT.replace("alwaysBlock", "colour"), NOT_RIGHT),
    ],
    ids=["not installed", "a bad value", "an unknown name"],
)
def test_show_of_a_config_that_is_not_right(places: Places, text: str, said: list[str]) -> None:
    write(places, text)
    assert texts(show.run(places))[-2:] == said


def test_schema() -> None:
    result = schema.run()
    assert json.loads(result.printed or "") == plugin_manifest.config_schema() == result.data["schema"]


# ---- the console script


def test_from_the_command_line(places: Places, tmp_path: Path) -> None:
    write(places, '{ gateway: { mode: "local" } }\n')
    put_in(places)
    here = ("--state-dir", places.state_dir)
    quiet = {"PATH": str(tmp_path)}
    assert toolguard("config", "set", "mode", "soft", *here, **quiet).returncode == 0
    below = toolguard("config", "set", "escalationThreshold", "-5", "--offline", *here)
    assert "escalationThreshold: must be a whole number from 1 to 100, not -5" in below.stderr
    assert toolguard("config", "set", "mode", "--dry-rum", *here).returncode == 2
    assert toolguard("config", "get", "mode", *here).stdout == '"soft"\n'
    bad = toolguard("config", "set", "mode", "loud", *here, **quiet)
    assert (bad.returncode, bad.stdout) == (1, "")
    assert bad.stderr.splitlines()[1].strip() == "-> nothing was written; choose another value"
    broken = envelope(toolguard("config", "set", "mode", "loud", "--json", *here, **quiet))
    assert (broken["ok"], broken["command"]) == (False, "config set")
    assert envelope(toolguard("config", "unset", "mode", "--dry-run", "--json", *here, **quiet))["data"]["dryRun"] is True
    assert toolguard("config", "show", *here).returncode == 0
    assert json.loads(toolguard("config", "schema").stdout)["type"] == "object"
    places.config.write_text("{")
    assert toolguard("config", "validate", *here).returncode == 1
    assert toolguard("config", "get", *here).returncode == 2


def test_the_installation_can_be_undone_after_settings(places: Places) -> None:
    """The entry goes with its settings, and everything else is as it was."""
    before = "{\n  // mine\n  gateway: { mode: 'local' },\n}\n"
    write(places, before)
    put_in(places)
    change(places, "mode", "soft")
    change(places, "agents.main.mode", "shadow")
    assert toolguard("uninstall", "--state-dir", places.state_dir).returncode == 0
    assert text_of(places) == before
