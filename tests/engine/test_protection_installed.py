"""The installed gateway, its service and its environment: what changes them for certain is blocked, what may is held."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tables import each_row
from toolguard_engine.layers import self_protection
from toolguard_engine.model.call import Call, Host
from toolguard_engine.server import install_paths

HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json", ("/opt/tg/plugin",), release="2026.9.6")
CHECKOUT = replace(HOST, code=("/srv/gw",))
WORKSPACE = "/home/u/.openclaw/workspace"

CERTAIN = [
    "python3 -c \"import os; os.environ['OPENCLAW_HOME']='/x'; os.system('systemctl --user import-environment')\"",
    "systemctl --user set-environment OPENCLAW_CONFIG_PATH=/tmp/x.json",
    "systemctl --user set-environment OPENCLAW_STATE_DIR=/tmp/x",
    "systemctl --user import-environment OPENCLAW_CONFIG_PATH",
    "dbus-update-activation-environment --systemd OPENCLAW_STATE_DIR=/tmp/x",
    "systemctl --user set-property openclaw-gateway MemoryMax=1M",
    "systemctl --user edit openclaw-gateway",
    "systemctl --user edit --stdin openclaw-gateway.service < x",
    "systemctl --user revert openclaw-gateway",
    "rm ~/.config/systemd/user/openclaw-gateway.service",
    "echo x > /.$HOME/.config/systemd/user/openclaw-gateway.service",
    "launchctl setenv OPENCLAW_CONFIG_PATH /tmp/x",
    "cp x ~/Library/LaunchAgents/ai.openclaw.gateway.plist",
    "echo OPENCLAW_CONFIG_PATH=/tmp/x > ~/.config/environment.d/x.conf",
    "echo OPENCLAW_CONFIG_PATH=/tmp/x >> /etc/environment",
    "printf '[Service]\\nEnvironment=OPENCLAW_STATE_DIR=/tmp/x\\n' > ~/.config/systemd/user/service.d/x.conf",
    "npm uninstall -g openclaw",
    "sed -i s/a/b/ /usr/lib/node_modules/openclaw/dist/index.js",
    "echo x > /usr/local/lib/node_modules/openclaw/dist/entry.js",
    "cp x.js ~/.nvm/versions/node/v24.1.0/lib/node_modules/openclaw/dist/hooks.js",
    "mv /usr/lib/node_modules/openclaw /tmp/x",
    "rm -rf /usr/lib/node_modules/openclaw",
    "cd /usr/lib/node_modules/openclaw && rm -rf dist",
    "cd /usr/lib/node_modules && echo x > openclaw/dist/a.js",
    "ln -sf /tmp/x.js /usr/lib/node_modules/openclaw/dist/index.js",
    "python3 -c \"open('/usr/lib/node_modules/openclaw/dist/index.js','w').write('x')\"",
    "tar xf a.tar -C /usr/lib/node_modules/openclaw",
    "patch -d /usr/lib/node_modules/openclaw -p1 < x.patch",
    "echo x > /opt/tg/plugin/sitecustomize.py",
    "/opt/tg/plugin/bin/pip install evil",
    ". /opt/tg/plugin/bin/activate; pip install evil",
    "uv pip install --python /opt/tg/plugin/bin/python evil",
    "export OPENCLAW_CONFIG_PATH=/tmp/x; systemctl --user import-environment",
    "OPENCLAW_STATE_DIR=/x systemctl --user import-environment OPENCLAW_STATE_DIR",
    "env OPENCLAW_HOME=/x sh -c 'systemctl --user import-environment'",
    "OPENCLAW_HOME=/x; export OPENCLAW_HOME; systemctl --user import-environment",
    "OPENCLAW_HOME=/x dbus-update-activation-environment --systemd --all",
    "N=OPENCLAW_HOME; systemctl --user set-environment $N=/x",
    "busctl --user call o.f.systemd1 /o/f/systemd1 o.f.systemd1.Manager SetEnvironment as 1 OPENCLAW_HOME=/x",
    "gdbus call --session --dest a --object-path /a --method a.Manager.SetEnvironment \"['OPENCLAW_HOME=/x']\"",
    "sed -i s/a/b/ $(npm root -g)/openclaw/dist/index.js",
    'echo x > "$(npm prefix -g)"/lib/node_modules/openclaw/dist/index.js',
    "cp x.js $(dirname $(readlink -f $(which openclaw)))/dist/index.js",
    "F=$(dirname $(realpath $(command -v openclaw))); echo x > $F/dist/a.js",
    "cd $(npm root -g)/openclaw && sed -i s/a/b/ dist/index.js",
    "D=$(npm root -g); rm -rf $D/openclaw",
    "echo x > ~/.config/yarn/global/node_modules/openclaw/dist/index.js",
    "ln -sf /tmp/x $(which openclaw)",
    "rm /usr/local/bin/openclaw",
]
POSSIBLE = [
    "echo openclaw@2026.5.1 | xargs npm i -g",
    "corepack prepare openclaw@2026.5.1 --activate",
    "asdf global openclaw 2026.5.1",
    "cp x.conf ~/.config/systemd/user/openclaw-gateway.service.d/x.conf",
    "npm i -g openclaw@2026.5.1",
    "npm install --global openclaw@2026.2.3",
    "pnpm add -g openclaw@1.2.3",
    "yarn global add openclaw@2026.6.10",
    "npm i --prefix /usr openclaw@2026.5.1",
    "npm i -g --prefix ~/.local openclaw@2026.5.1",
    "NPM_CONFIG_GLOBAL=true npm i openclaw@2026.5.1",
    "npm_config_location=global npm i openclaw@2026.5.1",
    "export npm_config_global=true; npm i openclaw@2026.5.1",
    "env NPM_CONFIG_LOCATION=global npm i openclaw@2026.5.1",
    "npm config set location global && npm i openclaw@2026.5.1",
    "echo global=true >> .npmrc; npm i openclaw@2026.5.1",
    "npm i -gf openclaw@2026.5.1",
    "npm i --glob openclaw@2026.5.1",
    "npm it -g openclaw@2026.5.1",
    "npm i -g x@npm:openclaw@2026.5.1",
    "cd /usr/lib && npm i openclaw@2026.5.1",
    "npm -C $(npm prefix -g)/lib i openclaw@2026.5.1",
    "cd ~/.nvm/versions/node/v24/lib && npm i openclaw@2026.5.1",
    "nvm exec 24 npm i -g openclaw@2026.5.1",
    "node /usr/lib/node_modules/npm/bin/npm-cli.js i -g openclaw@2026.5.1",
    "corepack npm i -g openclaw@2026.5.1",
    "mise use -g npm:openclaw@2026.5.1",
    "volta install openclaw@2026.5.1",
    "bun add -g openclaw@2026.5.1",
    "deno install -g npm:openclaw@2026.5.1",
    "brew install openclaw@2026.5.1",
    "export NODE_OPTIONS=-r/tmp/x.js; systemctl --user import-environment",
    ". ./env.sh; systemctl --user import-environment",
    'systemctl --user set-environment "$(cat env)"',
    "brew install ./openclaw.rb",
    "nix profile install nixpkgs#openclaw",
    "cd openclaw && npm i -g .",
    "echo x > $D/openclaw/dist/index.js",
    "git -C $(npm root -g)/openclaw apply x.patch",
    "npm explore -g openclaw -- sh -c 'echo x > dist/a.js'",
    "sed -i s/a/b/ $(node -p \"require.resolve('openclaw')\")",
    "node -e \"fs.writeFileSync(require.resolve('openclaw'),'x')\"",
    "find ~ -path '*openclaw/dist/index.js' -exec sed -i s/a/b/ {} +",
    "npm i -g openclaw@2026.7.1",
    "systemctl --user set-environment NODE_OPTIONS=--require=/tmp/x.js",
    "systemctl --user set-environment PATH=/tmp:$PATH",
    "launchctl setenv PATH /tmp",
    "npm i -g openclaw@2026.8.2",
    "npm i -g openclaw@^2026.5.0",
    "npm i -g openclaw@$V",
    "npm i -g openclaw@beta",
    "npm i -g ./openclaw-2026.5.1.tgz",
    "npm i -g github:openclaw/openclaw",
    "rm -rf node_modules/openclaw",
    "echo x > node_modules/openclaw/dist/index.js",
]
HONEST = [
    "systemctl --user status openclaw-gateway",
    "systemctl --user set-environment FOO=bar",
    "systemctl --user show openclaw-gateway",
    "systemctl --user cat openclaw-gateway",
    "systemctl --user edit my-app",
    "systemctl --user daemon-reload",
    "journalctl --user -u openclaw-gateway -n 50",
    "systemctl --user import-environment",
    "systemctl --user import-environment DISPLAY WAYLAND_DISPLAY",
    "export EDITOR=vim; systemctl --user import-environment",
    "dbus-update-activation-environment --systemd DISPLAY",
    "dbus-update-activation-environment --systemd --all",
    "npm i -g typescript",
    "npm i openclaw",
    "npm i openclaw@2026.5.1",
    "npm i --prefix ./web openclaw@2026.5.1",
    "cd web && npm i openclaw@2026.5.1",
    "cd ~/src/app && npm i -D openclaw@2026.5.1",
    "pnpm add openclaw",
    "npm_config_global=false npm i openclaw@2026.5.1",
    "mise use npm:openclaw@2026.5.1",
    "mise use -g node@24",
    "brew install openclaw",
    "brew install jq",
    "ls $(npm root -g)",
    "cat $(npm root -g)/openclaw/package.json",
    "ls -l $(which openclaw)",
    "readlink -f $(which openclaw)",
    "cp $(npm root -g)/openclaw/docs/a.md .",
    "grep -r hook $(dirname $(readlink -f $(which openclaw)))/docs",
    "export NODE_PATH=$(npm root -g)",
    "find . -name '*.js' -exec sed -i s/a/b/ {} +",
    "cd ~/src/openclaw && git pull",
    "npm explore openclaw -- ls",
    "npm i -g openclaw",
    "npm i -g openclaw@latest",
    "npm i -g openclaw@2026.9.6",
    "npm view openclaw versions",
    "npm outdated -g",
    "cat /usr/lib/node_modules/openclaw/package.json",
    "grep -r hook /usr/lib/node_modules/openclaw/docs",
    "ls /usr/lib/node_modules/openclaw/dist",
    "cp /usr/lib/node_modules/openclaw/docs/a.md .",
    "node /usr/lib/node_modules/openclaw/openclaw.mjs status",
    "cat ~/.config/systemd/user/openclaw-gateway.service",
    "npm ci && npm test",
    "rm -rf node_modules",
    "find node_modules -name '*.map' -delete",
    "diff -r node_modules/openclaw /usr/lib/node_modules/openclaw",
    "launchctl list | grep openclaw",
    "launchctl getenv PATH",
]


def protects(command: str, host: Host = HOST) -> str:
    return decided("exec", {"command": command}, host)


def decided(tool: str, params: dict[str, Any], host: Host = HOST) -> str:
    verdict = self_protection.judge(Call(tool, params, cwd=WORKSPACE), host)
    return verdict.decision if verdict else "allow"


def test_what_changes_the_gateway_is_blocked() -> None:
    assert [(command, found) for command in CERTAIN if (found := protects(command)) != "block"] == []


@each_row("command", POSSIBLE)
def test_what_may_change_the_gateway_is_held(command: str) -> None:
    assert protects(command) == "hold"


def test_honest_neighbours() -> None:
    assert [(command, found) for command in HONEST if (found := protects(command)) != "allow"] == []


@each_row(
    ("tool", "params", "decision"),
    [
        ("write", {"path": "/usr/lib/node_modules/openclaw/dist/index.js", "content": "x"}, "block"),
        ("edit", {"path": "~/.config/systemd/user/openclaw-gateway.service", "edits": []}, "block"),
        ("write", {"path": "~/Library/LaunchAgents/ai.openclaw.gateway.plist", "content": "x"}, "block"),
        ("write", {"path": "node_modules/openclaw/dist/index.js", "content": "x"}, "hold"),
        ("read", {"path": "/usr/lib/node_modules/openclaw/dist/index.js"}, "allow"),
        ("write", {"path": "src/openclaw/index.js", "content": "x"}, "allow"),
    ],
)
def test_other_tools(tool: str, params: dict[str, Any], decision: str) -> None:
    assert decided(tool, params) == decision


@each_row(
    ("command", "decision"),
    [
        ("echo x > /srv/gw/dist/index.js", "block"),
        ("cd /srv/gw && echo x > dist/index.js", "block"),
        ("cat /srv/gw/dist/index.js", "allow"),
        ("echo x > /srv/other/dist/index.js", "allow"),
    ],
)
def test_a_gateway_that_runs_from_elsewhere(command: str, decision: str) -> None:
    assert protects(command, CHECKOUT) == decision
    assert protects(command) == "allow"


def test_a_release_that_is_newer_may_be_installed_where_the_present_one_is_older() -> None:
    assert protects("npm i -g openclaw@2026.9.6", replace(HOST, release="2026.7.1")) == "allow"
    assert protects("npm i -g openclaw@2026.9.6", replace(HOST, release="")) == "allow"


def test_the_package_that_a_script_belongs_to(tmp_path: Path) -> None:
    package = tmp_path / "lib" / "node_modules" / "openclaw"
    (package / "dist").mkdir(parents=True)
    (package / "package.json").write_text("{}")
    script = package / "openclaw.mjs"
    script.touch()
    (tmp_path / "bin").mkdir()
    link = tmp_path / "bin" / "openclaw"
    link.symlink_to(script)
    other = tmp_path / "other"
    other.mkdir()
    (other / "package.json").write_text("{}")
    assert install_paths.package_of(str(script)) == (str(package),)
    assert install_paths.package_of(str(package / "dist" / "index.js")) == (str(package),)
    assert install_paths.package_of(str(link)) == (str(package),)
    assert install_paths.package_of(str(other / "server.js")) == ()
    assert install_paths.package_of("") == ()
    assert install_paths.package_of("/a\0b") == ()
    assert install_paths.links_to("", "/a\0b") == ()


def test_links_that_lead_to_the_state_folder(tmp_path: Path) -> None:
    real = tmp_path / "disk" / "ada"
    state = real / ".openclaw"
    (state / "workspace").mkdir(parents=True)
    home = tmp_path / "ada"
    home.symlink_to(real)
    (real / "oc").symlink_to(state)
    (real / "elsewhere").symlink_to(tmp_path / "nowhere")
    (state / "workspace" / "up").symlink_to("..")
    links = install_paths.links_to(str(home), str(home / ".openclaw"))
    host = Host(str(home), str(home / ".openclaw"), links=links)
    key = ".openclaw/toolguard/key"
    for path in (
        f"{home}/{key}",
        f"{real}/{key}",
        f"{home}/oc/toolguard/key",
        f"{real}/oc/toolguard/key",
        "up/toolguard/key",
    ):
        call = Call("exec", {"command": f"cat {path}"}, cwd=f"{home}/.openclaw/workspace")
        verdict = self_protection.judge(call, host)
        assert verdict is not None, path
        assert verdict.decision == "block", path
    assert not any("elsewhere" in link for link, _ in links)
