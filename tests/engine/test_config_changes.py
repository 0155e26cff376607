"""One change of one setting gets one verdict, whichever way the gateway's config is changed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tables import each_row
from toolguard_engine.config.settings import Config
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.model.files import FileText, Unread
from toolguard_engine.rules import packs

CONFIG = "/home/u/.openclaw/openclaw.json"
HOST = Host("/home/u", "/home/u/.openclaw", CONFIG)
OLD: dict[str, Any] = {
    "gateway": {"port": 18789, "bind": "loopback"},
    "agents": {"defaults": {"model": {"primary": "a/b"}, "workspace": "~/.openclaw/workspace"}},
    "channels": {"telegram": {"dmPolicy": "pairing", "responsePrefix": "x"}},
    "ui": {"seamColor": "red"},
    "tools": {"exec": {"mode": "ask"}},
    "mcp": {"servers": {"files": {"command": "old"}}},
    "hooks": {"enabled": "never"},
    "plugins": {"entries": {"toolguard": {"enabled": "yes", "config": {"mode": "enforce"}}, "other": {"enabled": "off"}}},
}
SETTINGS = [
    ("agents.defaults.model.primary", "a/b", "x/y", "allow"),
    ("ui.seamColor", "red", "blue", "allow"),
    ("channels.telegram.responsePrefix", "x", "Hello", "allow"),
    ("agents.defaults.model.primary", "a/b", "claude-cli/opus", "hold"),
    ("agents.defaults.workspace", "~/.openclaw/workspace", "/srv", "hold"),
    ("gateway.bind", "loopback", "lan", "hold"),
    ("channels.telegram.dmPolicy", "pairing", "open", "hold"),
    ("tools.exec.mode", "ask", "full", "hold"),
    ("mcp.servers.files.command", "old", "npx", "hold"),
    ("hooks.enabled", "never", "perhaps", "hold"),
    ("plugins.entries.other.enabled", "off", "sometimes", "hold"),
    ("plugins.entries.toolguard.config.mode", "enforce", "shadow", "block"),
    ("plugins.entries.toolguard.enabled", "yes", "no", "block"),
]


RULES = packs.load()


class Files:
    """The config, and a copy with a change."""

    def __init__(self, new: str, old: str = json.dumps(OLD, indent=2)) -> None:
        self._texts = {CONFIG: old, "/tmp/new.json": new}

    def read(self, path: str) -> FileText | Unread:
        text = self._texts.get(path)
        return Unread("absent") if text is None else FileText(path, text, "", (0, 0, 0, 0))

    def resolve(self, path: str) -> str:
        return path

    def is_unchanged(self, path: str) -> bool:
        return not path


def guard(new: str = "", **texts: str) -> Guard:
    return Guard(Config(), {}, HOST, RULES, files=Files(new, **texts))


def decided(tool: str, params: dict[str, Any], new: str = "", **texts: str) -> tuple[str, str]:
    judge = guard(new, **texts)
    found = judge.weigh_reading(judge.read(Call(tool, params, agent="main", session="s", cwd="/home/u/work")))
    return found.decision, found.verdict.reason or ""


def changed(path: str, value: str) -> str:
    new = json.loads(json.dumps(OLD))
    *above, last = path.split(".")
    at = new
    for name in above:
        at = at[name]
    at[last] = value
    return json.dumps(new, indent=2)


def nested(path: str, value: str) -> dict[str, Any]:
    found: Any = value
    for name in reversed(path.split(".")):
        found = {name: found}
    return dict(found)


def ways(path: str, old: str, new: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """The calls that make the same change."""
    last = path.rpartition(".")[2]
    text, keys = changed(path, new), "".join(f'["{name}"]' for name in path.split("."))
    line = next(each for each in text.split("\n") if f'"{last}": "{new}"' in each)
    before = line.replace(f'"{new}"', f'"{old}"')
    patch = f"*** Begin Patch\n*** Update File: {CONFIG}\n@@\n-{before}\n+{line}\n*** End Patch"
    script = f"import json\np = '{CONFIG}'\nd = json.load(open(p))\nd{keys} = '{new}'\njson.dump(d, open(p, 'w'), indent=2)"
    replaced = f"p = '{CONFIG}'\ns = open(p).read()\nopen(p, 'w').write(s.replace('{before}', '{line}'))"
    shell = {
        "config set": f"openclaw config set {path} {new}",
        "config patch": f"openclaw config patch --stdin <<< '{json.dumps(nested(path, new))}'",
        "jq, mv": f"jq '.{path} = \"{new}\"' {CONFIG} > /tmp/n.json && mv /tmp/n.json ~/.openclaw/openclaw.json",
        "jq, mktemp": f'T=$(mktemp); jq --arg v {new} \'.{path} = $v\' {CONFIG} > "$T" && cat "$T" > {CONFIG}',
        "jq, sponge": f"jq '.{path} = \"{new}\"' {CONFIG} | sponge {CONFIG}",
        "sed": f"sed -i 's#{before.strip()}#{line.strip()}#' {CONFIG}",
        "perl": f"perl -pi -e 's#{before.strip()}#{line.strip()}#' {CONFIG}",
        "python, JSON": f"python3 - <<'E'\n{script}\nE",
        "python, text": f"python3 - <<'E'\n{replaced}\nE",
        "here-document": f"cat > {CONFIG} <<'E'\n{text}\nE",
        "cp": f"cp /tmp/new.json {CONFIG}",
        "mv": "cd ~/.openclaw && mv /tmp/new.json openclaw.json",
    }
    calls: dict[str, tuple[str, dict[str, Any]]] = {name: ("exec", {"command": each}) for name, each in shell.items()}
    return {
        **calls,
        "write": ("write", {"path": CONFIG, "content": text}),
        "edit": ("edit", {"path": CONFIG, "edits": [{"oldText": before, "newText": line}]}),
        "apply_patch": ("apply_patch", {"input": patch}),
        "gateway": ("gateway", {"action": "config.patch", "raw": json.dumps(nested(path, new))}),
    }


@each_row(("path", "old", "new", "expected"), SETTINGS)
def test_one_change_has_one_verdict_by_every_way(path: str, old: str, new: str, expected: str) -> None:
    text = changed(path, new)
    found = {name: decided(tool, params, text)[0] for name, (tool, params) in ways(path, old, new).items()}
    assert len(found) == 16
    # What a script makes of the config is shown, and never certain enough to pass unasked.
    scripts = [found.pop("python, JSON"), found.pop("python, text")]
    assert found == dict.fromkeys(found, expected)
    assert "allow" not in scripts
    assert expected != "block" or scripts == ["block", "block"]


def test_the_approver_sees_each_setting_with_its_values() -> None:
    new = json.loads(changed("gateway.bind", "lan"))
    new["tools"]["exec"]["mode"] = "full"
    new["gateway"]["auth"] = {"token": "s3cret"}
    judge = guard()
    reading = judge.read(Call("write", {"path": CONFIG, "content": json.dumps(new)}, agent="main", session="s"))
    shown = [effect.target for effect in reading.tool_effects if effect.kind == "gateway"]
    assert shown == [
        'openclaw.json gateway.bind: "loopback" -> "lan"',
        "openclaw.json gateway.auth.token: (a secret)",
        'openclaw.json tools.exec.mode: "ask" -> "full"',
    ]


A, B = "A=$(mktemp)", "B=$(mktemp)"
LOADED = f"import json; d = json.load(open('{CONFIG}'))"
SAVED = f"json.dump(d, open('{CONFIG}', 'w'))"
JQ = f"jq '{{}}' {CONFIG} > /tmp/n.json && mv /tmp/n.json {CONFIG}"
WITHOUT_GUARD = json.dumps({"ui": {"seamColor": "red"}})


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git -C ~/.openclaw grep --no-index -h . toolguard", "hold"),
        ("git -C ~ -C .openclaw grep --no-index -h . toolguard", "hold"),
        ("git -C ~ grep --no-index -h . .openclaw", "hold"),
        ("git -C ~/.openclaw diff --no-index /tmp/empty toolguard/", "hold"),
        ("git -C ~/work grep --no-index port src", "allow"),
        ("git diff --no-index a b", "allow"),
    ],
)
def test_git_reads_below_the_folder_that_it_is_given(command: str, expected: str) -> None:
    assert decided("exec", {"command": command})[0] == expected


BEFORE = f"jq '.ui.seamColor=\"x\"' {CONFIG} > n"


@pytest.mark.parametrize(
    "command",
    [
        f"python3 -c \"{LOADED}; d['ui']=d['plugins']; d['ui']['enabled']=False; d['ui']={{'x':2}}; {SAVED}\"",
        f"python3 -c \"import json; f=open('{CONFIG}','w'); d=json.load(open('{CONFIG}')); d['ui']={{}}; json.dump(d,f)\"",
        *(
            f"{BEFORE}; {between}; cp n {CONFIG}"
            for between in ("sed -n 'w n' evil", "sed -i d n", ": > n", "cp -r d/. .", "cp d/* .")
        ),
        f"{BEFORE} && sed -n 'w n' evil && cp n {CONFIG}",
        f"{BEFORE} && > n && cp n {CONFIG}",
        f"{BEFORE} && cp evil n && cp n {CONFIG}",
        f"{BEFORE}; mv n {CONFIG}",
        f"{BEFORE} & mv n {CONFIG}",
        f"{BEFORE} || true; mv n {CONFIG}",
        f"{BEFORE} || mv n {CONFIG}",
        f"! {BEFORE} && mv n {CONFIG}",
        f"{BEFORE} && mv n {CONFIG} &",
        f"if {BEFORE}; then :; fi; mv n {CONFIG}",
        f"./{BEFORE} && mv n {CONFIG}",
        f"PATH=.:$PATH {BEFORE} && mv n {CONFIG}",
        f"PATH=.:$PATH; {BEFORE} && mv n {CONFIG}",
        f"export PATH=.; {BEFORE} && mv n {CONFIG}",
        f"jq() {{ cat evil; }}; {BEFORE} && mv n {CONFIG}",
        f"hash -p ./jq jq; {BEFORE} && mv n {CONFIG}",
        f"git grep --no-index -Orm . {CONFIG}",
    ],
)
def test_what_may_come_between_is_not_certain(command: str) -> None:
    """Each of these can leave any config, or none, though it seems to change one setting."""
    assert decided("exec", {"command": command})[0] in ("hold", "block")


@pytest.mark.parametrize("end", ["", ";", "\n"])
@pytest.mark.parametrize("between", [" && ", " &&\n  "])
def test_a_chain_is_certain_however_it_is_laid_out(between: str, end: str) -> None:
    assert decided("exec", {"command": f"{BEFORE}{between}mv n {CONFIG}{end}"})[0] == "allow"


@each_row(
    ("command", "expected"),
    [
        (JQ.format('.ui.seamColor="x" | .gateway.port=1'), "hold"),
        (JQ.format('.ui += {"seamColor": "x"}'), "allow"),
        (JQ.format("del(.ui.seamColor)"), "allow"),
        (JQ.format("del(.plugins)"), "block"),
        (JQ.format("del(.plugins.entries.toolguard)"), "block"),
        (JQ.format('.["plugins"].entries["tool\\u0067uard"].enabled = false'), "block"),
        (JQ.format('.ui.seamColor="x" | .plugins.enabled=false'), "block"),
        (JQ.format(". * {plugins: {enabled: false}}"), "block"),
        (JQ.format("{ui}"), "hold"),
        (JQ.format("with_entries(.)"), "hold"),
        (JQ.format(".ui.seamColor = (empty)"), "hold"),
        (f"jq '.ui.seamColor=1' {CONFIG} > {CONFIG}", "block"),
        (f"jq '.ui.seamColor=1' {CONFIG} | tee {CONFIG}", "block"),
        (f"jq '.ui.seamColor=1' {CONFIG} > /tmp/n; ./x; mv /tmp/n {CONFIG}", "hold"),
        (f"jq '.ui.seamColor=1' {CONFIG} > /tmp/n; cp /tmp/evil /tmp/n; mv /tmp/n {CONFIG}", "hold"),
        (f"{A}; {B}; jq '.plugins=1' {CONFIG} > $A; jq '.ui.seamColor=1' {CONFIG} > $B; mv $A {CONFIG}", "block"),
        (f"jq '.ui.seamColor=1' {CONFIG} > /tmp/n | sponge {CONFIG}", "hold"),
        (f"echo '{WITHOUT_GUARD}' > {CONFIG}", "block"),
        (f"echo '{{broken' > {CONFIG}", "block"),
        (f"cp /tmp/evil.json {CONFIG}", "hold"),
        (f'ssh host "sed -i s/a/b/ {CONFIG}"', "hold"),
        (f"python3 -c \"import json; json.dump({{}}, open('{CONFIG}', 'w'))\"", "block"),
        (f"python3 -c \"{LOADED}; d.pop('plugins'); {SAVED}\"", "block"),
        (f"python3 -c \"import x; {LOADED}; d['ui'] = 1; {SAVED}\"", "hold"),
    ],
)  # fmt: skip
def test_what_cannot_be_worked_out_is_held_and_what_takes_the_guard_away_blocked(command: str, expected: str) -> None:
    assert decided("exec", {"command": command})[0] == expected


@pytest.mark.parametrize("text", ["{", "[]", "{a: }"])
def test_a_config_with_which_the_gateway_would_not_start_is_not_written(text: str) -> None:
    decision, reason = decided("write", {"path": CONFIG, "content": text})
    assert decision == "block"
    assert "openclaw config validate" in reason


def test_the_config_may_have_comments_and_includes() -> None:
    old = "// mine\n{ui: {seamColor: 'red'}, $include: './more.json5',}"
    edit = {"path": CONFIG, "edits": [{"oldText": "'red'", "newText": "'blue'"}]}
    assert decided("edit", edit, old=old)[0] == "allow"
    edit = {"path": CONFIG, "edits": [{"oldText": "./more.json5", "newText": "./other.json5"}]}
    assert decided("edit", edit, old=old)[0] == "block"
