"""The gateway's control plane: every verb of its command line, its methods, its tools and its settings."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from openclaw_verbs import BLOCKED, HELD, PASSING, verbs
from tables import each_row
from toolguard_engine.config.settings import Config
from toolguard_engine.effects.control_plane import gateway_settings, verb_catalogue
from toolguard_engine.effects.control_plane.command_line import operations
from toolguard_engine.effects.control_plane.gateway_tools import operations as tool_operations
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host, Verdict
from toolguard_engine.rules import packs

HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json", ("/opt/tg/plugin",), frozenset({4242}))
GUARD = Guard(Config(), {}, HOST, packs.load())
GRAVITY = {"allow": 0, "hold": 1, "block": 2}
ALL = [
    *((verb, "block") for verb in verbs(BLOCKED)),
    *((verb, "hold") for verb in verbs(HELD)),
    *((verb, "allow") for verb in verbs(PASSING)),
]


def judged(tool: str, params: dict[str, Any]) -> Verdict:
    return GUARD.judge(Call(tool, params))


def run(command: str, **more: Any) -> str:
    return judged("exec", {"command": command, **more}).decision


def test_every_verb_of_2026_9_6() -> None:
    assert [(verb, wanted, found) for verb, wanted in ALL if (found := run(f"openclaw {verb}")) != wanted] == []


def test_the_table_has_each_verb_once() -> None:
    assert len(ALL) == len({verb for verb, _ in ALL}) == 676


BLOCKS = """
openclaw gateway stop && openclaw gateway status
openclaw gateway start && openclaw gateway stop
openclaw gateway stop; openclaw --profile work gateway start
openclaw gateway stop && ssh bob@far.example openclaw gateway start
openclaw plugins update toolguard
openclaw plugins disable --all
openclaw config set plugins.entries.toolguard.config.mode disabled
openclaw config set plugins.entries.toolguard.enabled false
openclaw config set 'plugins["entries"]["toolguard"].enabled' false
openclaw config set 'plugins.entries[toolguard].enabled' false
openclaw config set "plugins.entries['toolguard']" '{}'
openclaw config set plugins.entries.Toolguard.enabled false
openclaw config set plugins.entries.tool\\\\guard.enabled false
openclaw config set plugins '{entries: {toolguard: {enabled: false}}}'
openclaw config set plugins.enabled false
openclaw config set plugins.allow '["other"]'
openclaw config set --strict-json plugins.deny '["toolguard"]'
openclaw config set --expect-current-json true plugins.entries.toolguard.enabled false
openclaw config set --batch-json '[{"path": "ui.seamColor", "value": "red"}, {"path": "plugins.enabled", "value": false}]'
openclaw config unset plugins
openclaw config unset plugins.entries
openclaw config patch --stdin <<< '{"plugins": {"entries": {"toolguard": {"enabled": false}}}}'
echo '{"plugins": {"enabled": false}}' | openclaw config patch --stdin
echo '{"\\u0070lugins": {"enabled": false}}' | openclaw config patch --stdin
echo "{'\\x70lugins': {enabled: false}}" | openclaw config patch --stdin
echo '{"$include": "/srv/other.json5"}' | openclaw config patch --stdin
openclaw plugins reload toolguard
openclaw gateway run --force
openclaw gateway --force
openclaw gateway run --force --port 18789
openclaw gateway run --port 19999 --reset
openclaw gateway call config.apply --params '{"raw": "{}"}'
openclaw gateway call exec.approval.resolve --params '{}'
openclaw gateway call plugin.approval.resolve --params '{}'
openclaw gateway call config.patch --params '{"raw": "{\\\\"plugins\\\\": {\\\\"enabled\\\\": false}}"}'
ssh localhost openclaw plugins disable toolguard
openclaw gateway stop --url ws://127.0.0.1:18789
echo '{}' > "$(openclaw config file)"
node --eval "import('/usr/lib/node_modules/openclaw/openclaw.mjs')" plugins disable toolguard
pnpm -C /srv/oc openclaw config set plugins.enabled false
pnpm --dir D openclaw gateway stop
pnpm --frob x --store-dir s openclaw gateway stop
yarn --cwd D openclaw gateway stop
npm --prefix /usr/lib run openclaw -- config set plugins.enabled false
npm -C /srv exec openclaw -- gateway stop
npm -C /srv exec -- openclaw gateway stop
yarn --cwd /usr/lib/node_modules/openclaw node . gateway stop
cd /usr/lib/node_modules/openclaw/dist && node index.js gateway stop
node /usr/lib/node_modules/openclaw/dist gateway stop
cd /usr/lib/node_modules/openclaw/dist && node entry config set plugins.enabled false
cd /usr/lib/node_modules/openclaw/dist && node . gateway stop
cd /usr/lib/node_modules && node openclaw/dist/index gateway stop
cd /usr/lib/node_modules/openclaw/dist && node ../openclaw gateway stop
cd /usr/lib/node_modules/openclaw/docs && node ../dist/entry.js gateway stop
toolguard audit export out.jsonl
"""
HOLDS = """
openclaw gateway stop && openclaw gateway start
openclaw gateway stop; sleep 2; openclaw gateway start
openclaw daemon stop && openclaw daemon restart
openclaw plugins update --all
openclaw agents add cook --workspace /
openclaw agents add cook --workspace ~/.openclaw/workspace-cook/../../..
openclaw agents add cook --bind telegram
openclaw agents add cook --model claude-cli/opus
openclaw config set channels.discord.enabled true
openclaw config set channels.discord.groupPolicy open
openclaw config set channels.discord.dmPolicy open
openclaw mcp set evil '{"command": "sh"}'
openclaw mcp add evil --command sh
openclaw nodes invoke --node laptop --command system.run
openclaw nodes run --node laptop uptime
openclaw hooks enable boot-md
openclaw skills install other
openclaw agent exec 'tidy up'
openclaw agent --local -m 'tidy up'
openclaw agent -m 'tidy up' --local
openclaw config get gateway.auth.token
openclaw config get 'models.providers.x["apiKey"]'
openclaw config get env.vars
openclaw browser evaluate '() => 1'
openclaw exec-policy preset yolo
openclaw config set tools.exec.mode full
openclaw config set agents.defaults.sandbox.mode off
openclaw config set agents.entries.work.tools.allow '["*"]'
openclaw config set 'agents.list[0].tools.exec.mode' full
openclaw config set mcp.servers.evil.command sh
openclaw config set models.providers.openai.baseUrl http://127.0.0.1:9
openclaw config set agents.defaults '{}'
openclaw config set frobnicate 1
openclaw config set agents.defaults.model claude-cli/opus
openclaw config set agents.defaults.model '{"primary": "google-gemini-cli/gemini-3"}'
openclaw config set secrets.providers.x --provider-source exec --provider-command /bin/sh --dry-run --allow-exec
openclaw config patch --file new.json
openclaw config patch --stdin
openclaw config set --batch-file new.json
cat new.json | openclaw config patch --stdin
echo '{tools: {exec: {mode: "full"}}}' | openclaw config patch --stdin
openclaw models set google-gemini-cli/gemini-3
openclaw cron add --every 1h --command 'date'
openclaw cron add --every=1h --command=date
openclaw cron edit 7 --command-argv '["date"]'
openclaw automations add --on-exit 'make' --message hi
openclaw doctor --fix
openclaw security audit --fix
openclaw backup create --only-config
sed -i s/a/b/ $(openclaw config file)
F=$(openclaw config file); cp new.json $F
openclaw gateway run --force --port 19999
openclaw gateway run --port 19999
openclaw gateway call node.invoke --params '{}'
openclaw gateway call frobnicate.now
openclaw --update
openclaw frobnicate
openclaw frobnicate --all
openclaw config frobnicate plugins
openclaw sessions frobnicate
openclaw nodes camera frobnicate
openclaw $(cat verb)
openclaw mcp "$VERB" evil
openclaw --frobnicate status mcp set evil
openclaw mcp set --help-me evil '{}'
openclaw mcp set evil -- --help
openclaw mcp set evil '{}' --note --help
OPENCLAW_STATE_DIR=/srv/other openclaw gateway run --force --port 19999
ssh vm openclaw plugins disable toolguard
docker exec box openclaw reset
openclaw --container box plugins disable toolguard
openclaw gateway stop --url wss://gateway.example
ln -s "$(which openclaw)" /tmp/oc
node -e "import('/usr/lib/node_modules/openclaw/dist/config-cli-B1.mjs').then((cli) => cli.run())"
echo '{}' > "$(openclaw gateway status --json | jq -r .config.path)"
openclaw gateway status --json | jq -r .config.path | xargs sed -i s/true/false/
node -e "process.argv.splice(2,0,'config','set','a','b');import('/usr/lib/node_modules/openclaw/openclaw.mjs')"
node -e "process.argv.splice(2,1);import('/usr/lib/node_modules/openclaw/openclaw.mjs')" x gateway stop
echo "process.argv.push('gateway','stop');import('/usr/lib/node_modules/openclaw/openclaw.mjs')" | node -
node - <<< "process.argv.push('gateway','stop');import('/usr/lib/node_modules/openclaw/dist/entry.js')"
openclaw config set messages.tts.providers.tts-local-cli.command sh
openclaw config set tts.personas.evil '{"provider": "tts-local-cli", "providers": {"tts-local-cli": {"command": "sh"}}}'
echo '{"agents": {"defaults": {"model": {"primary": "claude-cli/x"}}}}' | openclaw config patch --stdin
openclaw config set --batch-json '[{"path": "agents.defaults.model", "value": {"primary": "claude-cli/x"}}]'
openclaw agent -m hi --model claude-cli/x
openclaw agent --model=claude-cli/x -m hi
openclaw cron add --every 1h --message hi --model claude-cli/x
openclaw cron edit 7 --model google-gemini-cli/x
openclaw gateway call sessions.patch --params '{"key": "a", "model": "claude-cli/x"}'
openclaw gateway call sessions.patch --params '{"key": "agent:main:main", "permissionMode": "full"}'
openclaw gateway call sessions.patch --params '{"key": "agent:main:main", "elevatedLevel": "full"}'
openclaw gateway call sessions.patch --params "$(cat p.json)"
openclaw gateway call sessions.patch "$OPTIONS"
"""
PASSES = """
openclaw agents add cook --workspace ~/.openclaw/workspace-cook --model openai/gpt-5 --non-interactive
openclaw config set channels.discord.groupPolicy allowlist
openclaw config set channels.discord.accounts.main.dmPolicy pairing
openclaw
openclaw --help
openclaw --version
openclaw help mcp set
openclaw frobnicate --help
openclaw mcp set --help
openclaw mcp set evil '{}' --help
openclaw mcp list
openclaw mcp show files --json
openclaw --profile work status
openclaw --log-level debug config get agents
openclaw config get gateway
openclaw config get agents.defaults.model
openclaw config set ui.prefs.theme dark
openclaw config set ui '{"prefs": {"theme": "dark"}}'
openclaw config set agents.defaults.model openai/gpt-5
openclaw config set agents.entries.work.identity.name Ada
openclaw config set logging.level debug
openclaw config unset ui.seamColor
openclaw config patch --dry-run --file new.json
openclaw config patch --stdin --dry-run
openclaw config set plugins.entries.toolguard.enabled false --dry-run
openclaw config set --batch-json '[{"path": "ui.seamColor", "value": "red"}]'
echo '{"ui": {"prefs": {"theme": "dark"}}}' | openclaw config patch --stdin
openclaw gateway call config.patch --params '{"raw": "{\\\\"ui\\\\": {\\\\"seamColor\\\\": \\\\"red\\\\"}}"}'
openclaw gateway call health
openclaw gateway call sessions.list --params '{}'
openclaw gateway call themes.set --params '{"theme": "dark"}'
openclaw models set openai/gpt-5
openclaw cron add --at 10m --message 'drink water'
openclaw automations add --every 1h --system-event 'drink water'
openclaw sessions --active 60
openclaw agent -m 'hello' --to +100
openclaw uninstall --dry-run
openclaw backup create --dry-run
openclaw update --dry-run
openclaw memory forget --dry-run
openclaw browser open https://example.org
openclaw doctor --lint
ssh vm 'openclaw config patch --dry-run'
docker exec box openclaw status
cp -r ~/src/openclaw ~/src/copy
git clone https://example.org/openclaw setup
man openclaw
cat $(openclaw config file)
openclaw models list --json > "$(date +%F).json"
openclaw logs | tee "$(date +%F).log"
pnpm view openclaw version
npm ls openclaw
pnpm view openclaw version
npm ls openclaw
npm --silent view openclaw version
npm -C ~/src/openclaw ls
npm --prefix ~/src/openclaw run build
pnpm -C ~/src/openclaw test
pnpm --frob view openclaw version
node index.js hello
node ~/.openclaw/workspace/index.js hello
npm run dev -- openclaw
openclaw config set messages.queue.cap 9
openclaw gateway call sessions.patch --params '{"key": "agent:main:main", "label": "Research"}'
openclaw gateway call sessions.patch --params '{"key": "a", "archived": true, "model": "openai/gpt-5"}'
openclaw cron add --every 1h --message hi --model openai/gpt-5
openclaw agent -m 'what is claude-cli/x' --to +100
toolguard audit
"""


def lines(text: str) -> list[str]:
    return [line.replace("\\\\", "\\") for line in text.strip().splitlines()]


def test_blocked() -> None:
    assert [(command, found) for command in lines(BLOCKS) if (found := run(command)) != "block"] == []


def test_held() -> None:
    assert [(command, found) for command in lines(HOLDS) if (found := run(command)) != "hold"] == []


def test_passing() -> None:
    assert [(command, found) for command in lines(PASSES) if (found := run(command)) != "allow"] == []


SPELLINGS = [
    "npx openclaw", "npx -y openclaw@latest", "pnpm dlx openclaw", "bunx openclaw", "npm exec openclaw --", "clawdbot",
    "/usr/local/bin/openclaw", "./node_modules/.bin/openclaw", "node /usr/lib/node_modules/openclaw/openclaw.mjs",
    "node --no-warnings /usr/lib/node_modules/openclaw/dist/index.js", "bun run openclaw.mjs",
    "deno run -A npm:openclaw", "volta run openclaw", "cd /usr/lib/node_modules/openclaw && node .",
    "pnpm openclaw", "yarn run openclaw", "corepack pnpm openclaw",
    "$(which openclaw)", "alias oc=openclaw; oc", "x=openclaw; $x", "o'pencla'w", "OpenClaw", "env A=b openclaw",
    "sudo -u ada openclaw", "nohup openclaw", "timeout 9 openclaw", "openclaw --profile x", "openclaw --dev",
    "openclaw --no-color --log-level=debug", "OPENCLAW_STATE_DIR=/srv openclaw", "openclaw --", "command openclaw",
    "setsid openclaw",
]  # fmt: skip


@each_row("spelling", SPELLINGS)
def test_no_spelling_lowers_a_verdict(spelling: str) -> None:
    assert run(f"{spelling} mcp set evil x") == "hold"
    assert run(f"{spelling} plugins disable toolguard") == "block"
    assert run(f"{spelling} status") in ("allow", "hold")


OPTIONS = [
    "--json", "--verbose", "--profile x", "--profile=x", "--yes", "--frobnicate", "--frobnicate=1", "--force", "-x",
    "--port 1", "--frobnicate x", "--note --json",
]  # fmt: skip


STOPPED = [verb for verb in (*verbs(BLOCKED), *verbs(HELD)) if not verb.startswith("message ")]


@given(st.sampled_from(STOPPED), st.lists(st.sampled_from(OPTIONS), max_size=4), st.integers(0, 4))
def test_options_never_lower_a_verdict(verb: str, options: list[str], at: int) -> None:
    words = verb.split()
    added = [word for option in options for word in option.split()]
    found = {operation.effect for operation in operations([*words[:at], *added, *words[at:]])}
    assert found
    assert {operation.effect for operation in operations(words)} <= found | {verb_catalogue.UNKNOWN_VERB}


@given(
    st.lists(
        st.text(max_size=12) | st.sampled_from(["config", "set", "--", "-", "--help", "patch", "\0", "plugins"]), max_size=8
    )
)
def test_any_words_can_be_read(words: list[str]) -> None:
    for operation in operations(words, stdin="{"):
        assert operation.effect in verb_catalogue.EFFECTS | {verb_catalogue.UNKNOWN_VERB}


@given(st.text(min_size=1, max_size=20).filter(lambda word: word.strip().isidentifier()))
def test_an_invented_verb_is_held(word: str) -> None:
    known = verb_catalogue.load()
    if word in known.verbs or word in known.groups or word in known.aliases:
        return
    assert [operation.effect for operation in operations([word])] == [verb_catalogue.UNKNOWN_VERB]


# ---- tools


ACTIONS = [
    (tool, action, effect) for tool, actions in verb_catalogue.load().tools.items() for action, effect in actions.items()
]


@each_row("tool", verb_catalogue.load().tools)
def test_an_invented_action_is_held(tool: str) -> None:
    verdict = judged(tool, {"action": "frobnicate"})
    assert (verdict.decision, verdict.code) == ("hold", "rule.openclaw.unknown")
    assert judged("tool_call", {"id": f"openclaw:core:{tool}", "args": {"action": "frobnicate"}}).decision == "allow"


TOOL_CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("block", "openclaw", {"action": "config_set", "path": "plugins.entries.toolguard.config.mode", "value": "disabled"}),
    ("block", "openclaw", {"action": "config_set", "path": "plugins.entries.toolguard.enabled", "value": "false"}),
    ("block", "openclaw", {"action": "config_set", "path": 'plugins["entries"]', "value": "{}"}),
    ("block", "openclaw", {"action": "config_set", "path": "plugins.allow", "value": "[]", "approved": True}),
    ("block", "openclaw", {"action": "config_set_ref", "path": "plugins.entries.toolguard.config.mode", "envVar": "A"}),
    ("block", "openclaw", {"action": "CONFIG_SET", "path": "plugins.enabled", "value": "false"}),
    ("block", "openclaw", {"action": "plugin_uninstall", "pluginId": "toolguard"}),
    ("block", "openclaw", {"action": "gateway_stop"}),
    ("block", "openclaw", {"message": "config set plugins.entries.toolguard.enabled false"}),
    ("block", "openclaw", {"message": " Set  Config plugins.entries['toolguard'].enabled false\n"}),
    ("block", "openclaw", {"message": "config set-ref plugins.entries.toolguard.config.mode env A"}),
    ("block", "openclaw", {"message": "\ufeffconfig\ufeffset plugins.enabled false"}),
    ("block", "openclaw", {"message": "stop the gateway"}),
    ("block", "openclaw", {"message": "uninstall plugin toolguard"}),
    ("block", "gateway", {"action": "config.apply", "raw": "{}"}),
    ("block", "gateway", {"action": "config.patch", "raw": '{"plugins": {"entries": {"toolguard": {"enabled": false}}}}'}),
    ("block", "gateway", {"action": "config.patch", "raw": '{"pl\\u0075gins": null}'}),
    ("block", "gateway", {"action": "config.patch", "raw": "{plugins: {enabled: false}}"}),
    ("block", "gateway", {"action": "config.patch", "raw": '{"$include": "other.json5"}'}),
    ("block", "gateway", {"action": "config.patch", "raw": '{"ui": {}}', "replacePaths": ["plugins"]}),
    ("block", "plugins", {"action": "disable", "pluginId": "toolguard"}),
    ("block", "plugins", {"action": "install", "packageName": "openclaw-toolguard"}),
    ("hold", "openclaw", {"action": "config_set", "path": "tools.exec.mode", "value": "full"}),
    ("hold", "openclaw", {"action": "config_set", "path": "mcp.servers.evil", "value": "{}"}),
    ("hold", "openclaw", {"action": "config_set"}),
    ("hold", "openclaw", {"action": "config_get", "path": "gateway.auth.token"}),
    ("hold", "openclaw", {"action": "set_default_model", "model": "claude-cli/opus"}),
    ("hold", "openclaw", {"action": "plugin_install", "spec": "clawhub:other"}),
    ("allow", "openclaw", {"action": "gateway_restart"}),
    ("hold", "openclaw", {"action": ["config_set"], "path": "plugins"}),
    ("hold", "openclaw", {"message": "config set tools.exec.mode full"}),
    ("hold", "openclaw", {"message": "config set mcp.servers.evil {command: 'sh'}"}),
    ("hold", "gateway", {"action": "config.patch", "raw": "{ui: {seamColor: 'red'"}),
    ("allow", "gateway", {"action": "config.patch", "raw": "{ui: {seamColor: 'red'}}"}),
    ("hold", "gateway", {"action": "config.patch", "raw": '{"tools": {"exec": {"mode": "full"}}}'}),
    ("hold", "gateway", {"action": "config.patch", "raw": '{"messages": {"tts": {"providers": {"x": {"command": "sh"}}}}}'}),
    ("hold", "openclaw", {"action": "config_set", "path": "tts.personas.evil", "value": '{"provider": "x"}'}),
    ("hold", "openclaw", {"action": "config_set", "path": "agents.defaults.model", "value": {"primary": "claude-cli/x"}}),
    ("hold", "openclaw", {"action": "config_set", "path": "agents.defaults.model", "value": ["a/b", "claude-cli/x"]}),
    ("hold", "openclaw", {"action": "config_set", "path": ["plugins", "enabled"], "value": "false"}),
    ("hold", "openclaw", {"action": "config_set", "path": "", "value": "false"}),
    ("hold", "gateway", {"action": "config.patch", "raw": ["plugins"]}),
    ("hold", "gateway", {"action": "config.patch", "raw": {"agents": {"defaults": {"model": {"primary": "claude-cli/x"}}}}}),
    ("hold", "gateway", {"action": "config.patch", "raw": '{"agents": {"defaults": {"model": "claude-cl\\u0069/x"}}}'}),
    ("hold", "sessions_spawn", {"task": "tidy up", "model": "claude-cli/x"}),
    ("hold", "session_status", {"model": "claude-cli/x"}),
    ("hold", "sessions", {"action": "patch", "sessionKey": "a", "model": "claude-cli/x"}),
    ("hold", "sessions", {"action": "patch", "sessionKey": "a", "permissionMode": "full"}),
    ("hold", "sessions", {"action": "patch", "sessionKey": "a", "elevatedLevel": "full"}),
    ("hold", "automations", {"action": "add", "job": {"payload": {"message": "x", "model": "claude-cli/x"}}}),
    ("hold", "cron", {"action": "update", "patch": {"payload": {"fallbacks": ["claude-cli/x"]}}}),
    ("allow", "sessions_spawn", {"task": "write about claude-cli/x", "model": "openai/gpt-5"}),
    ("allow", "session_status", {"model": "openai/gpt-5"}),
    ("allow", "sessions", {"action": "patch", "sessionKey": "a", "label": "Research", "model": "openai/gpt-5"}),
    ("allow", "openclaw", {"action": "config_set", "path": "agents.defaults.model", "value": {"primary": "openai/gpt-5"}}),
    ("hold", "gateway", {"action": "update.run"}),
    ("hold", "nodes", {"action": "approve", "requestId": "1"}),
    ("hold", "nodes", {"action": "invoke", "node": "a", "invokeCommand": "system.run"}),
    ("hold", "automations", {"action": "add", "job": {"payload": {"kind": "command", "argv": ["date"]}}}),
    ("hold", "write", {"path": "~/.openclaw-work/openclaw.json", "content": "{}"}),
    ("hold", "write", {"path": "~/.openclaw/.env", "content": "OPENCLAW_CONFIG_PATH=/srv/x.json"}),
    ("hold", "write", {"path": "~/.openclaw/extra.json5", "content": "{}"}),
    ("hold", "edit", {"path": "~/.profile", "edits": [{"oldText": "a", "newText": "export OPENCLAW_STATE_DIR=/srv"}]}),
    ("allow", "openclaw", {"action": "config_get", "path": "agents.defaults"}),
    ("allow", "openclaw", {"action": "config_set", "path": "ui.prefs.theme", "value": "dark"}),
    ("allow", "openclaw", {"action": "set_default_model", "model": "openai/gpt-5"}),
    ("allow", "openclaw", {"action": "status"}),
    ("allow", "openclaw", {"message": "How do I change the theme?"}),
    ("allow", "openclaw", {"message": "config get plugins.entries.toolguard"}),
    ("allow", "openclaw", {"message": "config set ui.prefs.theme dark"}),
    ("allow", "gateway", {"action": "config.patch", "raw": '{"ui": {"seamColor": "red"}}'}),
    ("allow", "gateway", {"action": "config.get"}),
    ("allow", "automations", {"action": "add", "job": {"payload": {"kind": "agentTurn", "message": "water"}}}),
    ("allow", "plugins", {"action": "list"}),
]  # fmt: skip


def test_tool_calls() -> None:
    assert [(wanted, tool, params) for wanted, tool, params in TOOL_CALLS if judged(tool, params).decision != wanted] == []


@each_row(("tool", "action", "effect"), ACTIONS, ids=[f"{tool} {action}" for tool, action, _ in ACTIONS])
def test_read_only_actions_pass(tool: str, action: str, effect: str) -> None:
    decision = judged(tool, {"action": action}).decision
    if effect in ("read", "shown"):
        assert decision == "allow"
    elif effect == "guard":
        assert decision == "block"
    elif effect in ("access", "secret"):
        assert decision == "hold"


@given(
    st.dictionaries(
        st.text(max_size=8) | st.sampled_from(["action", "path", "raw", "message"]),
        st.none() | st.integers() | st.text() | st.lists(st.text()),
    )
)
def test_any_parameters_can_be_read(params: dict[str, Any]) -> None:
    for tool in ("openclaw", "gateway", "plugins"):
        for operation in tool_operations(tool, params):
            assert operation.effect in verb_catalogue.EFFECTS | {verb_catalogue.UNKNOWN_VERB}


# ---- settings

EFFECTS_OF_SETTINGS = [
    ("guard", "plugins"), ("guard", "plugins.entries"), ("guard", "plugins.slots.memory"),
    ("guard", "plugins.load.paths"), ("run", "plugins.entries.other.enabled"), ("run", "mcp.servers.x.command"),
    ("run", "hooks.internal.enabled"), ("run", "env.vars.PATH"), ("run", "browser.executablePath"),
    ("access", "gateway.bind"), ("access", "gateway.reload.mode"), ("access", "channels.telegram.allowFrom"),
    ("access", "channels.telegram.accounts.a.dmPolicy"), ("access", "commands.bash"), ("access", "approvals.exec"),
    ("access", "agents.entries.a.sandbox.mode"), ("access", "session.sendPolicy"),
    ("agent", "agents.entries.a.runtime.type"), ("agent", "agents.defaults.models.x.agentRuntime"),
    ("agent", "agents.defaults"), ("settings", "models.providers.x.baseUrl"), ("settings", "logging.redactPatterns"),
    ("unknown", "frobnicate.x"), ("open", "ui.prefs.theme"), ("open", "agents.defaults.model.primary"),
    ("open", "messages.responsePrefix"), ("open", "agents.list[3].identity.name"),
    ("open", "channels.telegram.ackReaction"), ("guard", "PLUGINS.Enabled"), ("guard", " plugins . enabled "),
    ("run", "messages.tts.providers.tts-local-cli.command"), ("run", "tts.providers.tts-local-cli.command"),
    ("run", "tts.personas.evil"), ("run", "tts.personas.evil.providers.x.command"), ("run", "messages.tts"),
    ("run", "talk.providers.x"), ("run", "agents.entries.a.tts.providers.x"), ("open", "tts.personas.calm.label"),
    ("open", "messages.queue.cap"), ("open", "transcripts.enabled"), ("settings", "transcripts.autoStart"),
    ("settings", "media.x"), ("open", "telemetry.enabled"), ("open", "tts.provider"),
    ("guard", "['plugins']['enabled']"), ("guard", r"plugi\ns.enabled"),
]  # fmt: skip


def test_settings() -> None:
    assert [
        (effect, path)
        for effect, path in EFFECTS_OF_SETTINGS
        if gateway_settings.change(gateway_settings.names(path)).effect != effect
    ] == []


NAMES = st.sampled_from(
    ["plugins", "entries", "toolguard", "enabled", "ui", "prefs", "agents", "defaults", "tools", "exec", "x", "mcp"]
)


@given(st.lists(NAMES, min_size=1, max_size=5))
def test_a_branch_is_as_severe_as_its_worst_setting(path: list[str]) -> None:
    whole = gateway_settings.change(tuple(path)).effect
    for end in range(1, len(path)):
        above = gateway_settings.change(tuple(path[:end])).effect
        assert gateway_settings.worse(above, whole) == above


@given(st.lists(NAMES, min_size=1, max_size=5), st.sampled_from(["{}[{}]", '{}["{}"]', "{}['{}']", "{}.{}"]))
def test_all_notations_of_a_path_are_equal(path: list[str], form: str) -> None:
    text = path[0]
    for name in path[1:]:
        text = form.format(text, name)
    assert gateway_settings.names(text) == tuple(path)


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=5), lambda part: st.dictionaries(NAMES, part, max_size=3), max_leaves=8
    )
)
def test_a_patch_that_names_the_guard_is_never_open(value: Any) -> None:
    text = json.dumps(value)
    found = gateway_settings.of_patch(text)
    if isinstance(value, dict) and "plugins" in value:
        assert found.effect in ("guard", "run", "agent")
    escaped = text.replace("plugins", "\\u0070lug\\u0069ns")
    assert gateway_settings.of_patch(escaped).effect == found.effect


# ---- data


def test_the_generated_file_is_the_catalogue() -> None:
    assert verb_catalogue.load() == verb_catalogue.from_toml()
