"""One change of one setting gets one verdict, whichever way the gateway's config is changed."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from setting_ways import CONFIG, MISSING, OLD, SETTINGS, Files, asked, decided, nested, shown, text_of, ways, with_value
from tables import each_row


@each_row(("path", "old", "new", "expected"), SETTINGS)
def test_one_change_has_one_verdict_by_every_way(path: str, old: object, new: object, expected: str) -> None:
    files = Files(text_of(with_value(OLD, path, new)))
    tried = ways(path, new) | asked(path, new)
    found = {name: decided(*call, files)[0] for name, call in tried.items()}
    assert old != new
    assert len(found) >= 22
    assert found == dict.fromkeys(found, expected)


def test_there_are_enough_settings() -> None:
    assert len(SETTINGS) >= 40
    assert {verdict for *_, verdict in SETTINGS} == {"allow", "hold", "block"}


@each_row(
    ("path", "new", "change"),
    [
        ("gateway.bind", "lan", 'gateway.bind: "loopback" -> "lan"'),
        ("gateway.port", 18800, "gateway.port: 18789 -> 18800"),
        ("gateway.auth.token", "two", "gateway.auth.token: (a secret)"),
        ("tools.elevated.enabled", True, "tools.elevated.enabled: false -> true"),
    ],
)
def test_the_approver_sees_what_a_setting_was_and_becomes_by_every_way(path: str, new: object, change: str) -> None:
    files = Files(text_of(with_value(OLD, path, new)))
    found = {name: shown(*call, files) for name, call in (ways(path, new) | asked(path, new)).items()}
    assert {name: len(each) for name, each in found.items()} == dict.fromkeys(found, 1)
    assert [each for each in found.values() if not each[0].endswith(f" {change}")] == []


@each_row(
    ("path", "value", "expected"),
    [
        ("channels.telegram.enabled", False, "allow"),
        ("channels.telegram.enabled", True, "hold"),
        ("channels.telegram.groupPolicy", "allowlist", "allow"),
        ("channels.telegram.groupPolicy", "pairing", "hold"),
        ("skills.entries.notes.enabled", False, "allow"),
        ("browser.enabled", False, "allow"),
        ("plugins.entries.calls.enabled", False, "hold"),
        ("plugins.entries.toolguard.enabled", False, "block"),
        ("gateway.bind", "loopback", "allow"),
        ("gateway.bind", "loopback ", "allow"),
        ("gateway.bind", "lan", "hold"),
        ("agents.defaults.sandbox.mode", "all", "allow"),
        ("agents.list[0].sandbox.mode", "all", "allow"),
        ("channels.telegram", {"enabled": False}, "hold"),
    ],
)
def test_a_value_that_lets_nobody_new_in_is_not_asked_about(path: str, value: object, expected: str) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("exec", {"command": f"openclaw config set {path} {shlex.quote(json.dumps(value))} --strict-json"}),
        ("exec", {"command": f"openclaw config set --batch-json '{json.dumps([{'path': path, 'value': value}])}'"}),
        ("openclaw", {"action": "config_set", "path": path, "value": json.dumps(value)}),
    ]
    if "[" not in path and not isinstance(value, dict):  # a patch is merged into what is there
        calls.append(("gateway", {"action": "config.patch", "raw": json.dumps(nested(path, value))}))
    assert [decided(*call, Files("{}"))[0] for call in calls] == [expected] * len(calls)


@each_row(
    ("path", "expected"),
    [("session.scope", "allow"), ("gateway.auth.mode", "hold"), ("plugins.entries.toolguard.config.mode", "block")],
)
def test_taking_a_setting_away_has_one_verdict_by_every_way(path: str, expected: str) -> None:
    text = text_of(with_value(OLD, path, MISSING))
    patch = json.dumps(nested(path, None))
    names = "".join(f'["{name}"]' for name in path.split("."))
    calls: list[tuple[str, dict[str, Any]]] = [
        ("exec", {"command": f"openclaw config unset {path}"}),
        ("exec", {"command": f"openclaw config patch --stdin <<< '{patch}'"}),
        ("exec", {"command": f"jq 'del(.{path})' {CONFIG} > /tmp/n.json && mv /tmp/n.json {CONFIG}"}),
        ("exec", {"command": f"python3 - <<'E'\n{READ}del d{names}{SAVE}\nE"}),
        ("gateway", {"action": "config.patch", "raw": patch}),
        ("gateway", {"action": "config.apply", "raw": text}),
        ("write", {"path": CONFIG, "content": text}),
    ]  # fmt: skip
    assert [decided(*call, Files(text))[0] for call in calls] == [expected] * len(calls)


@each_row(
    ("tool", "params"),
    [
        *(
            ("exec", {"command": command})
            for command in (
                "cd ~/.openclaw && git checkout HEAD~1 -- openclaw.json",
                "git -C ~/.openclaw restore openclaw.json",
                "tar xzf /b/x.tgz -C ~/.openclaw openclaw.json",
                "cp /b/unknown.json ~/.openclaw/openclaw.json",
                "openclaw config patch --file /tmp/patch.json",
                "openclaw backup restore x",
                "openclaw config set ui.seamColor 1 && ./x > ~/.openclaw/openclaw.json",
                "echo OPENCLAW_GATEWAY_PORT=1 >> ~/.openclaw/.env",
            )
        ),
        ("write", {"path": "/home/u/.openclaw/.env", "content": "OPENCLAW_GATEWAY_PORT=1"}),
    ],
)
def test_what_cannot_be_worked_out_is_held(tool: str, params: dict[str, Any]) -> None:
    assert decided(tool, params, Files())[0] == "hold"


def test_a_branch_that_leaves_the_guard_as_it_is_is_no_change_of_the_guard() -> None:
    new = with_value(OLD, "plugins.entries.other.enabled", value=True)
    raw = json.dumps({"plugins": new["plugins"]})
    assert decided("gateway", {"action": "config.patch", "raw": raw}, Files())[0] == "hold"
    assert decided("exec", {"command": f"openclaw config set plugins '{json.dumps(OLD['plugins'])}'"}, Files())[0] == "allow"


def test_a_list_of_items_with_ids_is_merged_as_the_gateway_does() -> None:
    config = with_value(OLD, "agents.list", [{"id": "main", "name": "a"}, {"id": "other", "sandbox": {"mode": "all"}}])
    raw = json.dumps({"agents": {"list": [{"id": "main", "name": "b"}]}})
    call: dict[str, Any] = {"action": "config.patch", "raw": raw}
    assert decided("gateway", call, Files(config=text_of(config)))[0] == "allow"
    assert decided("gateway", call | {"replacePaths": ["agents.list"]}, Files(config=text_of(config)))[0] == "hold"


def test_the_approver_sees_each_setting_with_its_values() -> None:
    new = with_value(with_value(OLD, "gateway.bind", "lan"), "tools.exec.mode", "full")
    new = with_value(new, "gateway.auth.token", "s3cret")
    assert shown("write", {"path": CONFIG, "content": json.dumps(new)}, Files()) == [
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
    assert decided("exec", {"command": command}, Files())[0] == expected


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
    assert decided("exec", {"command": command}, Files())[0] in ("hold", "block")


@pytest.mark.parametrize("end", ["", ";", "\n"])
@pytest.mark.parametrize("between", [" && ", " &&\n  "])
def test_a_chain_is_certain_however_it_is_laid_out(between: str, end: str) -> None:
    assert decided("exec", {"command": f"{BEFORE}{between}mv n {CONFIG}{end}"}, Files())[0] == "allow"


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
        (f"cd ~/.openclaw && jq '.ui += ([1] | add)' {CONFIG} > o.tmp && mv o.tmp openclaw.json", "hold"),
        (f"sed s/a/b/ {CONFIG} > /tmp/n && mv /tmp/n {CONFIG}", "hold"),
        (f"awk 1 {CONFIG} > /tmp/n && cp /tmp/n {CONFIG}", "hold"),
        (f"cp /tmp/evil.json {CONFIG}", "hold"),
        (f'ssh host "sed -i s/a/b/ {CONFIG}"', "hold"),
        (f"python3 -c \"import json; json.dump({{}}, open('{CONFIG}', 'w'))\"", "block"),
        (f"python3 -c \"{LOADED}; d.pop('plugins'); {SAVED}\"", "block"),
        (f"python3 -c \"import x; {LOADED}; d['ui'] = 1; {SAVED}\"", "hold"),
    ],
)  # fmt: skip
def test_what_is_not_certain_is_held_and_what_takes_the_guard_away_blocked(command: str, expected: str) -> None:
    assert decided("exec", {"command": command}, Files())[0] == expected


@pytest.mark.parametrize("text", ["{", "[]", "{a: }"])
def test_a_config_with_which_the_gateway_would_not_start_is_not_written(text: str) -> None:
    decision, reason = decided("write", {"path": CONFIG, "content": text}, Files())
    assert decision == "block"
    assert "openclaw config validate" in reason


def test_the_config_may_have_comments_and_includes() -> None:
    old = "// mine\n{ui: {seamColor: 'red'}, $include: './more.json5',}"
    edit = {"path": CONFIG, "edits": [{"oldText": "'red'", "newText": "'blue'"}]}
    assert decided("edit", edit, Files(config=old))[0] == "allow"
    edit = {"path": CONFIG, "edits": [{"oldText": "./more.json5", "newText": "./other.json5"}]}
    assert decided("edit", edit, Files(config=old))[0] == "block"


READ = f"import json\np = '{CONFIG}'\nd = json.load(open(p))\n"
SAVE = "\njson.dump(d, open(p, 'w'))"


@each_row(
    ("script", "expected"),
    [
        (f"{READ}u = d['ui']\nu['seamColor'] = 'x'{SAVE}", "allow"),
        (f"{READ}for a in d['agents'].values():\n    a['model']['primary'] = 'x/y'{SAVE}", "allow"),
        (f"{READ}if d.get('ui'):\n    d['ui'].update(seamColor='x'){SAVE}", "allow"),
        (f"{READ}with open(p + '.tmp', 'w') as f:\n    json.dump(d, f)\nimport os\nos.replace(p + '.tmp', p)", "allow"),
        (f"{READ}d['ui'] = d['plugins']\nd['ui']['enabled'] = False\nd['ui'] = {{}}{SAVE}", "block"),
        (f"{READ}for e in d['plugins']['entries'].values():\n    e['enabled'] = False{SAVE}", "block"),
        (f"{READ}d['gateway']['bind'] = 'lan'{SAVE}", "hold"),
        (f"import json\np = '{CONFIG}'\nf = open(p, 'w')\nd = json.load(open(p))\nd['ui'] = {{}}\njson.dump(d, f)", "hold"),
        (f"{READ}d['ui']['seamColor'] = input(){SAVE}", "hold"),
        (f"{READ}import os\nos.system('true')\nd['ui'] = {{}}{SAVE}", "hold"),
        (f"{READ}f = open(p, 'w')\njson.dump(d, f)\nd2 = open(p).read()\nopen('/tmp/z.txt', 'w').write(d2)", "hold"),
        (f"{READ}a = [1]\n" + "a = [a, a]\n" * 40 + f"d['ui']['seamColor'] = str(len(json.dumps(a))){SAVE}", "hold"),
        (f"{READ}s = 'x' * 9\nd['ui'] = {{}}{SAVE}", "hold"),
        (f"{READ}s = 'a'\n" + "s = s.replace('a', 'aaaaaaaaaaaaaaaa')\n" * 30 + f"d['ui'] = {{}}{SAVE}", "hold"),
    ],
)  # fmt: skip
def test_what_a_script_leaves_is_certain_where_it_is_followed_to_the_end(script: str, expected: str) -> None:
    assert decided("exec", {"command": f"python3 - <<'E'\n{script}\nE"}, Files())[0] == expected


def test_a_script_is_not_certain_where_it_may_load_something_else() -> None:
    script = f"{READ}d['ui']['seamColor'] = 'x'{SAVE}"
    command = f"python3 - <<'E'\n{script}\nE"
    assert decided("exec", {"command": command}, Files())[0] == "allow"
    beside = Files()
    beside.add("/home/u/work/json.py", "evil")
    assert decided("exec", {"command": command}, beside)[0] != "allow"
    assert decided("exec", {"command": f"PYTHONPATH=/tmp {command}"}, Files())[0] != "allow"
    assert decided("exec", {"command": f"export PYTHONPATH=/tmp; {command}"}, Files())[0] != "allow"
