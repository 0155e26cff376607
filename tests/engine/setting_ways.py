"""One setting of the gateway, changed by each of the ways that an agent has."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from toolguard_engine.config.settings import Config
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.model.files import FileText, Unread
from toolguard_engine.rules import packs

CONFIG = "/home/u/.openclaw/openclaw.json"
PREPARED = "/tmp/new.json"
HOST = Host("/home/u", "/home/u/.openclaw", CONFIG)
RULES = packs.load()
MISSING: Any = object()
Params = dict[str, Any]
SETTINGS: list[tuple[str, Any, Any, str]] = [
    ("agents.defaults.model.primary", "a/b", "x/y", "allow"),
    ("agents.defaults.imageModel.primary", "a/b", "x/y", "allow"),
    ("agents.defaults.thinkingDefault", "low", "high", "allow"),
    ("agents.defaults.timeoutSeconds", 600, 900, "allow"),
    ("agents.defaults.userTimezone", "UTC", "Europe/Berlin", "allow"),
    ("agents.defaults.heartbeat.every", "30m", "1h", "allow"),
    ("agents.defaults.typingMode", "instant", "never", "allow"),
    ("ui.seamColor", "#112233", "#445566", "allow"),
    ("ui.assistant.name", "Ada", "Bob", "allow"),
    ("channels.telegram.responsePrefix", "x", "Hello", "allow"),
    ("channels.telegram.replyToMode", "off", "first", "allow"),
    ("channels.telegram.textChunkLimit", 1000, 2000, "allow"),
    ("messages.ackReaction", "ok", "eyes", "allow"),
    ("messages.ackReactionScope", "all", "direct", "allow"),
    ("logging.level", "info", "debug", "allow"),
    ("session.scope", "per-sender", "global", "allow"),
    ("memory.citations", "auto", "off", "allow"),
    ("cron.enabled", True, False, "allow"),
    ("browser.headless", True, False, "allow"),
    ("agents.defaults.contextTokens", 1000, 2000, "allow"),
    ("gateway.tailscale.mode", "serve", "off", "allow"),
    ("channels.discord.groupPolicy", "open", "disabled", "allow"),
    ("channels.discord.dmPolicy", "open", "pairing", "allow"),
    ("channels.slack.groupPolicy", "open", "allowlist", "allow"),
    ("channels.slack.dmPolicy", "pairing", "open", "hold"),
    ("agents.defaults.model.primary", "a/b", "claude-cli/opus", "hold"),
    ("agents.defaults.workspace", "~/.openclaw/workspace", "/srv", "hold"),
    ("agents.defaults.sandbox.mode", "all", "off", "hold"),
    ("gateway.port", 18789, 18800, "hold"),
    ("gateway.bind", "loopback", "lan", "hold"),
    ("gateway.auth.mode", "token", "none", "hold"),
    ("gateway.auth.token", "one", "two", "hold"),
    ("gateway.controlUi.allowInsecureAuth", False, True, "hold"),
    ("channels.telegram.dmPolicy", "pairing", "open", "hold"),
    ("channels.telegram.botToken", "1:a", "2:b", "hold"),
    ("tools.exec.mode", "ask", "full", "hold"),
    ("tools.profile", "coding", "full", "hold"),
    ("tools.elevated.enabled", False, True, "hold"),
    ("mcp.servers.files.command", "old", "npx", "hold"),
    ("hooks.enabled", False, True, "hold"),
    ("hooks.path", "/hooks", "/h", "hold"),
    ("plugins.entries.other.enabled", False, True, "hold"),
    ("env.vars.NODE_OPTIONS", "a", "--require /tmp/x.js", "hold"),
    ("models.providers.mine.baseUrl", "https://a.example", "https://b.example", "hold"),
    ("commands.restart", True, False, "hold"),
    ("plugins.entries.toolguard.config.mode", "enforce", "shadow", "block"),
    ("plugins.entries.toolguard.enabled", True, False, "block"),
    ("plugins.enabled", True, False, "block"),
    ("plugins.slots.memory", "memory-core", "none", "block"),
]
"""Path, the value that is there, another one, and what becomes of a call that sets it."""


def with_value(config: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy with this value; without the setting if it is `MISSING`."""
    new = deepcopy(config)
    *above, last = path.split(".")
    at = new
    for name in above:
        at = at.setdefault(name, {})
    if value is MISSING:
        del at[last]
    else:
        at[last] = value
    return new


def _old() -> dict[str, Any]:
    config: dict[str, Any] = {}
    for path, old, *_ in SETTINGS:
        config = with_value(config, path, old)
    return config


OLD = _old()


def text_of(config: dict[str, Any]) -> str:
    return json.dumps(config, indent=2) + "\n"


class Files:
    """The config, and a prepared copy with a change."""

    def __init__(self, prepared: str = "", config: str = text_of(OLD)) -> None:
        self._texts = {CONFIG: config} | ({PREPARED: prepared} if prepared else {})

    def add(self, path: str, text: str) -> None:
        self._texts[path] = text

    def read(self, path: str) -> FileText | Unread:
        text = self._texts.get(path)
        return Unread("absent") if text is None else FileText(path, text, "", (0, 0, 0, 0))

    def resolve(self, path: str) -> str:
        return path

    def is_unchanged(self, path: str) -> bool:
        return not path


def guard(files: Files, host: Host = HOST) -> Guard:
    return Guard(Config(), {}, host, RULES, files=files)


def decided(tool: str, params: Params, files: Files, host: Host = HOST) -> tuple[str, str]:
    """The decision and its reason."""
    judge = guard(files, host)
    found = judge.weigh_reading(judge.read(Call(tool, params, agent="main", session="s", cwd="/home/u/work")))
    return found.decision, found.verdict.reason or ""


def shown(tool: str, params: Params, files: Files, host: Host = HOST) -> list[str]:
    """The effects on the gateway that an approver sees."""
    reading = guard(files, host).read(Call(tool, params, agent="main", session="s", cwd="/home/u/work"))
    listed = [*reading.tool_effects, *(effect for effects in reading.command_effects for effect in effects)]
    return [effect.target for effect in listed if effect.kind == "gateway"]


def nested(path: str, value: Any) -> dict[str, Any]:
    found: Any = value
    for name in reversed(path.split(".")):
        found = {name: found}
    return dict(found)


def ways(path: str, value: Any, old: dict[str, Any] = OLD, config: str = CONFIG) -> dict[str, tuple[str, Params]]:
    """The calls that set it, by what they use. `config`: the file that is changed."""
    above, _, last = path.rpartition(".")
    was, is_now, text = text_of(old), text_of(with_value(old, path, value)), json.dumps(value)
    before, line = _changed_line(was, is_now)
    names = "".join(f'["{name}"]' for name in path.split("."))
    script = (
        f"import json\np = '{config}'\nd = json.load(open(p))\nd{names} = {value!r}\njson.dump(d, open(p, 'w'), indent=2)"
    )
    followed = (
        f"import json\nfrom pathlib import Path\np = Path('{config}')\nd = json.loads(p.read_text())\ns = d\n"
        f"for name in {above.split('.')!r}:\n    s = s[name]\ns['{last}'] = {value!r}\np.write_text(json.dumps(d, indent=2))"
    )
    replaced = f"p = '{config}'\ns = open(p).read()\nopen(p, 'w').write(s.replace('{before}', '{line}', 1))"
    at = _number(was, before)
    shell = {
        "jq, mv": f"jq '.{path} = {text}' {config} > /tmp/n.json && mv /tmp/n.json {config}",
        "jq, mktemp": f'T=$(mktemp); jq --argjson v \'{text}\' \'.{path} = $v\' {config} > "$T" && cat "$T" > {config}',
        "jq, sponge": f"jq '.{path} = {text}' {config} | sponge {config}",
        "sed": f"sed -i '{at}s|{_escaped(before.strip())}|{line.strip()}|' {config}",
        "Python, json": f"python3 - <<'E'\n{script}\nE",
        "Python, pathlib": f"python3 - <<'E'\n{followed}\nE",
        "here-document": f"cat > {config} <<'E'\n{is_now}E",
        "cp": f"cp {PREPARED} {config}",
        "mv": f"cd ~/.openclaw && mv {PREPARED} {config.rpartition('/')[2]}",
        "cp, jq, mv": f"cp {config} {config}.old && jq '.{path} = {text}' {config} > /tmp/n.json && mv /tmp/n.json {config}",
    }  # fmt: skip
    if was.count(before) == 1:
        shell["Python, text"] = f"python3 - <<'E'\n{replaced}\nE"
        shell["perl"] = f"perl -pi -e 's|{_escaped(before.strip())}|{line.strip()}|' {config}"
    patch = f"*** Begin Patch\n*** Update File: {config}\n@@\n{_hunk(was, at, line)}\n*** End Patch"
    calls: dict[str, tuple[str, Params]] = {name: ("exec", {"command": each}) for name, each in shell.items()}
    edit = {"oldText": _around(was, at), "newText": _around(was, at).replace(before, line)}
    return {
        **calls,
        "write": ("write", {"path": config, "content": is_now}),
        "edit": ("edit", {"path": config, "edits": [edit]}),
        "apply_patch": ("apply_patch", {"input": patch}),
    }


def asked(path: str, value: Any, old: dict[str, Any] = OLD) -> dict[str, tuple[str, Params]]:
    """The calls that have the gateway set it."""
    patch, text = json.dumps(nested(path, value)), value if isinstance(value, str) else json.dumps(value)
    first = path.partition(".")[0]
    branch = json.dumps(with_value(old, path, value)[first])
    params = json.dumps({"raw": patch})
    shell = {
        "config set": f"openclaw config set {path} '{text}'",
        "config set, brackets": f"openclaw config set '{path.replace('.', '[', 1).replace('.', '][')}]' '{text}'",
        "config set, batch": f"openclaw config set --batch-json '{json.dumps([{'path': path, 'value': value}])}'",
        "config set, branch": f"openclaw config set {first} '{branch}'",
        "config patch": f"openclaw config patch --stdin <<< '{patch}'",
        "gateway call": f"openclaw gateway call config.patch --params '{params}'",
    }
    whole = text_of(with_value(old, path, value))
    return {
        **{name: ("exec", {"command": each}) for name, each in shell.items()},
        "config.patch": ("gateway", {"action": "config.patch", "raw": patch}),
        "config.apply": ("gateway", {"action": "config.apply", "raw": whole}),
        "config_set": ("openclaw", {"action": "config_set", "path": path, "value": text}),
        "message": ("openclaw", {"message": f"config set {path} {text}"}),
    }


def _changed_line(was: str, is_now: str) -> tuple[str, str]:
    changed = [pair for pair in zip(was.split("\n"), is_now.split("\n"), strict=True) if pair[0] != pair[1]]
    assert len(changed) == 1
    return changed[0]


def _number(was: str, before: str) -> int:
    return was.split("\n").index(before) + 1


def _around(was: str, at: int) -> str:
    """The line with those before it, from the first name of its path on: this is there once."""
    lines = was.split("\n")
    start = max(number for number in range(at) if lines[number][:3].strip() == '"' or number == 0)
    return "\n".join(lines[start:at])


def _hunk(was: str, at: int, line: str) -> str:
    *above, before = _around(was, at).split("\n")
    return "\n".join([*(f" {each}" for each in above), f"-{before}", f"+{line}"])


def _escaped(text: str) -> str:
    return text.replace(".", "\\.").replace("[", "\\[").replace("*", "\\*")
