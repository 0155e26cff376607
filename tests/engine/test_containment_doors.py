"""Which doors a command gets: by the programs that were read, never for one that is unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolguard_engine.containment import credential_doors
from toolguard_engine.containment.doors import doors
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.model.call import Call, Host
from toolguard_engine.server.file_reader import FileReader

HOST = Host(home="/home/u", state_dir="/home/u/.openclaw", config_path="/home/u/.openclaw/openclaw.json")
KEYS = "keys:"


def found(command: str, *, approved: bool = False, trusted: bool = True) -> set[str]:
    call = Call("exec", {"command": command}, cwd="/home/u/.openclaw/workspace")
    return set(doors(CallReading(call, HOST), lambda _: trusted, approved=approved))


def sockets(command: str) -> set[str]:
    return {door for door in found(command) if not door.startswith(KEYS)}


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "git status && git diff",
        "git add -A && git stash",
        "python3 tool.py",
        "./docker ps",
        "PATH=.:$PATH docker ps",
        "npm test",
        "gcc -o x x.c && ./x",
        "echo docker",
        "curl -s https://example.org",
    ],
)
def test_no_socket(command: str) -> None:
    assert sockets(command) == set()


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("docker ps", {"docker", "podman"}),
        ("cd app && docker compose up -d", {"docker", "podman"}),
        ("bash -c 'docker ps'", {"docker", "podman"}),
        ("x=docker; $x ps", {"docker", "podman"}),
        ("/usr/local/bin/docker ps", {"docker", "podman"}),
        ("tmux ls", {"tmux"}),
        ("screen -ls", {"tmux"}),
        ("pm2 restart app", {"tasks"}),
        ("npx pm2 ls", {"tasks"}),
        ("supervisorctl status", {"tasks"}),
        ("lxc list", {"machines"}),
        ("virsh list --all", {"machines"}),
        ("terraform plan", {"machines"}),
        ("./pm2 ls", set()),
        ("ssh host.example ls", {"ssh-agent"}),
        ("git push", {"ssh-agent", "gpg"}),
        ("git -C app fetch", {"ssh-agent", "gpg"}),
        ("gpg --sign x", {"gpg"}),
        ("systemctl --user status app", {"bus"}),
        ("notify-send hello", {"bus"}),
        ("emacsclient --eval '(+ 1 2)'", {"bus"}),
    ],
)
def test_a_program_opens_its_own_socket(command: str, expected: set[str]) -> None:
    assert sockets(command) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("aws s3 ls", f"{KEYS}.aws"),
        ("kubectl get pods", f"{KEYS}.kube"),
        ("gh pr list", f"{KEYS}.config/gh/hosts"),
        ("ssh host.example", f"{KEYS}.ssh"),
        ("git push", f"{KEYS}.git-credentials"),
        ("npm publish", f"{KEYS}.npmrc"),
        ("psql -c 'select 1'", f"{KEYS}.pgpass"),
    ],
)
def test_a_program_opens_its_own_credentials(command: str, expected: str) -> None:
    assert expected in found(command)
    assert not {door for door in found("ls; ./opaque") if door.startswith(KEYS)}


def test_each_program_that_has_credentials_opens_its_door() -> None:
    for program in sorted(credential_doors.owners()):
        assert {"outside"} == found(f"{program} x") or set(credential_doors.opened_by(program)) <= found(f"{program} x")


@pytest.mark.parametrize(
    "command",
    [
        "cp ~/.openclaw/openclaw.json ~/.openclaw/backups/openclaw-$(date +%F).json",
        "jq .agents ~/.openclaw/openclaw.json > /tmp/n.json && mv /tmp/n.json ~/.openclaw/openclaw.json",
        "cat k # .openclaw",
        "cat ./k ~/.openclaw/openclaw.json",
        "cat ~/.openclaw/workspace/k",
        "cat ~/.openclaw/w*/k",
        "cat ~/.openclaw/skills/k",
        "cat < k; ls ~/.openclaw",
        "echo x > d/off; ls ~/.openclaw",
        "cd ~/.openclaw/workspace/d && cat key",
        "grep -R x ~/.openclaw/",
        "find -L ~/.openclaw -name x",
        "ls ~/.openclaw | xargs cat",
        "head -5 5; ls ~/.openclaw",
        "cat -n 50; ls ~/.openclaw",
        "openclaw status; cat k",
        "lsof -ti:3000; tail -n 5 /tmp/k",
        "sudo -n true; cat k",
        "openclaw status > d/off",
        "crontab -l > k",
        "wc --files0-from=k; ls ~/.openclaw",
        "du --files0-from=k ~/.openclaw",
        "find -files0-from k; ls ~/.openclaw",
        "find ~/.openclaw -fprint d/off",
        "jq -f k ~/.openclaw/openclaw.json",
        "jq -n --rawfile a ~/.openclaw/x .a",
        "grep -fk ~/.openclaw/openclaw.json",
        "sed -n 'r k' ~/.openclaw/openclaw.json",
        "sed -n 's/a/b/w d/off' ~/.openclaw/openclaw.json",
        "sed -f k ~/.openclaw/openclaw.json",
    ],
)
def test_what_names_a_place_that_commands_can_change_never_goes_outside(command: str) -> None:
    """Between the approval and the run, a link can be put there."""
    assert "outside" not in found(command) | found(command, approved=True)


@pytest.mark.parametrize(
    "command",
    [
        "sudo apt-get install -y jq",
        "sudo apt-get update && sudo apt-get install -y jq",
        "DEBIAN_FRONTEND=noninteractive sudo apt-get install -y jq",
        "LC_ALL=C lsof -ti:3000",
        "mount | grep /mnt",
        "ping -c 1 example.org",
        "locate report.txt | head",
        "crontab -l",
        "crontab -l | grep backup",
        "podman build .",
        "umount /mnt",
        "kill $(lsof -ti:3000)",
        "lsof -ti:3000 | xargs kill -9",
        "fuser -k 3000/tcp",
        "ss -tlnp | grep 8080",
        "openclaw status",
        "openclaw status | head -20",
        "toolguard status",
        "toolguard check 'rm x'",
        "du -sh ~/.openclaw/* 2>/dev/null | head -20",
        "grep -rn port ~/.openclaw/*.json",
        "cd ~/.openclaw && ls -la",
        "cp ~/.openclaw/openclaw.json ~/.openclaw/backups/openclaw.json.1",
        "jq .agents ~/.openclaw/openclaw.json | head -n 20",
        "tail -n 50 /var/log/syslog; openclaw status",
        "sed -n 1,20p ~/.openclaw/openclaw.json",
        "grep -A3 -i port ~/.openclaw/openclaw.json | cut -d: -f2 | sort -u | wc -l",
        "sed -i s/18789/18790/ ~/.openclaw/openclaw.json",
    ],
)
def test_outside(command: str) -> None:
    assert found(command) == {"outside"}
    assert "outside" not in found(command, trusted=False)


@pytest.mark.parametrize(
    "command",
    [
        "sudo -n true; ./opaque",
        "./sudo ls",
        "bin/crontab -l",
        "crontab -l; ./opaque",
        "crontab -l; opaque",
        "lsof -i; ./opaque",
        "cat ~/.openclaw/openclaw.json; ./opaque",
        "cat ~/.openclaw/openclaw.json | python3 tool.py",
        "find ~/.openclaw -exec ./opaque {} +",
        "find ~/.openclaw -name '*.json' | xargs ./opaque",
        "cd ~/.openclaw && git status",
        "cd ~/.openclaw && make",
        "lsof -ti:3000 | xargs ./opaque",
        "openclaw status; python3 tool.py",
        "PATH=.:$PATH crontab -l",
        "export PATH=.:$PATH; crontab -l",
        "declare -x PATH=.; crontab -l",
        "alias crontab=./opaque; crontab -l",
        "hash -p ./opaque crontab; crontab -l",
        "crontab() { ./opaque; }; crontab -l",
        "enable -f ./opaque.so crontab; crontab -l",
        "sudo apt-get install -y jq && npm ci",
        "mount; node app.js",
        "crontab -l; git commit -m x",
        "sudo -n true; make",
        "crontab -l | bash",
        "echo 'node app.js' | at now",
        "PYTHONPATH=. toolguard status",
        "PYTHONPATH=.; toolguard status",
        "env PYTHONPATH=. toolguard status",
        "OPENCLAW_CONFIG_PATH=./c openclaw status",
        "HOME=. openclaw status",
        "for HOME in .; do openclaw status; done",
        "openclaw --profile other status",
        "openclaw status --config ./c",
        "printf -v 'a[$(./opaque)]' x; crontab -l",
        "test -v 'a[$(./opaque)]'; crontab -l",
        "sshfs -o ssh_command=./opaque host: mnt",
    ],
)
def test_no_code_is_taken_outside(command: str) -> None:
    assert "outside" not in found(command)


def test_no_variable_of_a_call_is_taken_outside() -> None:
    call = Call("exec", {"command": "toolguard status", "env": {"PYTHONPATH": "."}}, cwd="/home/u/.openclaw/workspace")
    assert doors(CallReading(call, HOST), lambda _: True) == frozenset()


@pytest.mark.parametrize("code", ["const fs = require('fs');\nfs[process.argv[2]](process.argv[3]);\n", "console.log(1);\n"])
@pytest.mark.parametrize("command", ["crontab -l; node app.js", "sudo -n true; node app.js", "su -c 'node app.js'"])
def test_a_script_that_was_read_is_not_taken_outside(tmp_path: Path, command: str, code: str) -> None:
    (tmp_path / "app.js").write_text(code)
    reading = CallReading(Call("exec", {"command": command}, cwd=str(tmp_path)), HOST, files=FileReader())
    assert "outside" not in doors(reading, lambda _: True)
    assert doors(reading, lambda _: True, approved=True) == {"outside"}


CHANGES = "echo 'export A=1' >> ~/.bashrc"


def test_start_up_files_are_changed_in_a_room() -> None:
    assert found(CHANGES) == {"startup"}
    assert found(f"{CHANGES}; ./opaque") == set()
    assert found(f"{CHANGES}; ./opaque", approved=True) == {"startup"}
    assert found("cp k ~/.bashrc", approved=True) == {"startup"}
    assert found("cat ~/.bashrc") == set()


def test_what_a_person_approved_reaches_what_it_was_approved_for() -> None:
    assert found("echo x > ~/.openclaw/openclaw.json", approved=True) == {"outside"}
    assert found("sudo -n true; ./opaque", approved=True) == {"outside"}
    assert found("./opaque", approved=True) == set()
