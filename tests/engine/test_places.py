"""What a path is: the table follows the order of `facts.places`."""

from __future__ import annotations

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from tables import each_row
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.facts.places import MAX_PATH, Where, marks, normal, place

HOME: Final = Where(home="/home/ada", cwd="/home/ada/work", workspace="/home/ada/work", state_dir="/home/ada/.openclaw")
NOWHERE: Final = Where()

PLACES = [
    # the whole machine
    ("/", "root"), ("//", "root"), ("/*", "root"), ("/.", "root"), ("/../..", "root"), ("/tmp/../", "root"), ("/home",
    "root"),
    ("/home/*", "root"), ("/Users", "root"), ("/etc", "root"), ("/etc/*", "root"), ("/usr/lib/", "root"), ("/var", "root"),
    ("file:///", "root"), ("/proc/self/root", "root"), ("/private/etc", "root"), ("C:\\", "root"), ("C:\\Windows", "root"),
    ("../../..", "root"), ("/h*", "root"), ("/{,.}*", "root"),
    # hardware, and what stands for nothing
    ("/dev/sda", "device"), ("/dev/nvme0n1p2", "device"), ("/dev/mapper/x", "device"), ("/dev/mem", "device"),
    ("\\\\.\\PhysicalDrive0", "device"), ("/dev/null", "null"), ("/dev/stderr", "null"), ("/dev/tty", "null"),
    ("/dev/fd/3", "null"),
    # homes
    ("~", "home"), ("~/", "home"), ("~/*", "home"), ("~/.*", "home"), ("$HOME", "home"), ("${HOME}/", "home"), ("$HOME/*",
    "home"),
    ("/home/ada", "home"), ("/home/eve/*", "home"), ("/Users/eve", "home"), ("/root", "home"), ("~eve", "home"), ("~root",
    "home"),
    ("..", "home"), ("../*", "home"), ("~/Documents", "in-home"), ("../other", "in-home"), ("$HOME/x/y", "in-home"),
    ("~/.nanorc", "in-home"), ("~/.vimrc", "startup"), ("~/.local/bin/git", "startup"), ("~/.cache/pip", "artefact"),
    ("~/dist", "in-home"), ("%USERPROFILE%\\x", "in-home"),
    # the system
    ("/etc/hosts", "system"), ("/usr/local/bin/x", "system"), ("/var/log/syslog", "system"), ("/System/x", "system"),
    ("/opt/x", "system"), ("/run/x", "system"), ("/private/var/db/x", "system"), ("/boot/grub/x", "system"),
    # what lets somebody in
    ("~/.ssh", "credentials"), ("~/.ssh/id_ed25519", "credentials"), ("/home/eve/.ssh/work_key", "credentials"),
    ("~/.ssh/id_rsa.pub", "in-home"), ("~/.ssh/known_hosts", "in-home"), ("~/.aws/credentials", "credentials"),
    ("~/.aws/config", "in-home"), ("~/.netrc", "credentials"), ("~/.kube/config", "credentials"), ("~/.gnupg/x",
    "credentials"),
    ("~/.config/gcloud/x.db", "credentials"), ("~/.config/app.toml", "in-home"), ("/etc/shadow", "credentials"),
    ("/proc/1/root/etc/shadow", "credentials"), ("/proc/4242/environ", "credentials"), ("/proc/self/environ", "credentials"),
    ("~/Library/Keychains/login.keychain-db", "credentials"), ("~/.openclaw/agents/main/agent/auth-profiles.json",
    "credentials"),
    (".env", "credentials"), ("deploy.key", "credentials"), (".env.example", "in-workspace"), ("cert.pem", "in-workspace"),
    ("/etc/ssl/certs/ca.pem", "system"), ("~/.s?h/id_*", "credentials"), ("/e*c/shad?w", "credentials"),
    # what runs again later
    ("~/.bashrc", "startup"), ("~/.ssh/authorized_keys", "startup"), ("/root/.ssh/authorized_keys", "startup"),
    ("~/.ssh/config", "startup"), ("~/.config/autostart/x.desktop", "startup"), ("~/Library/LaunchAgents/x.plist",
    "startup"),
    ("/etc/cron.d/x", "startup"), ("/etc/systemd/system/x.service", "startup"), ("/etc/ld.so.preload", "startup"),
    ("/etc/sudoers.d/x", "startup"), ("/etc/pam.d/su", "startup"), ("/etc/passwd", "startup"), (".git/hooks/pre-push",
    "startup"),
    ("/usr/lib/python3/dist-packages/x.pth", "startup"), (".bashrc", "in-workspace"),
    # the workspace
    (".", "workspace"), ("*", "workspace"), ("./*", "workspace"), ("$PWD", "workspace"), ("./src/..", "workspace"),
    ("src", "in-workspace"), ("./src/app.py", "in-workspace"), ("src/*", "in-workspace"), ("*.txt", "in-workspace"),
    ("/home/ada/work/x", "in-workspace"), ("~/work/x", "in-workspace"), (".git", "repository"), (".git/index.lock",
    "repository"),
    ("node_modules", "artefact"), ("./dist/*", "artefact"), ("a/__pycache__", "artefact"), ("x.egg-info", "artefact"),
    ("~/code/app/node_modules", "artefact"),
    # elsewhere
    ("/tmp/x", "temp"), ("/private/tmp/x", "temp"), ("/var/folders/a/b", "temp"), ("$TMPDIR/x", "temp"), ("/dev/shm/x",
    "temp"),
    ("/data/x", ""), ("/some/path", ""), ("-", ""), ("", ""), ("host:/etc/x", "remote"), ("me@h:x", "remote"),
    ("https://x/y", "remote"),
    # unknown parts
    (UNKNOWN, "unknown"), (f"{UNKNOWN}/x", "unknown"), (f"/{UNKNOWN}", "unknown"), (f"~/{UNKNOWN}", "unknown"),
    ("$NOBODY/x", "unknown"),
    (f"/tmp/{UNKNOWN}", "temp"), (f"/home/{UNKNOWN}", "home"), (f"/home/{UNKNOWN}/.bashrc", "startup"),
    (f"/etc/{UNKNOWN}", "system"),
    (f"./{UNKNOWN}", "in-workspace"), (f"{UNKNOWN}/node_modules", "artefact"), (f"{UNKNOWN}/.ssh/id_rsa", "credentials"),
]  # fmt: skip


def test_place() -> None:
    assert [(path, expected, found) for path, expected in PLACES if (found := place(path, HOME)) != expected] == []


@each_row(
    ("path", "expected"),
    [
        ("*", "workspace"),
        ("src", "in-workspace"),
        ("~", "home"),
        ("~/.ssh/id_rsa", "credentials"),
        ("/home/x", "home"),
        (".env", "credentials"),
    ],
)
def test_without_surroundings_a_relative_path_is_in_the_workspace(path: str, expected: str) -> None:
    assert place(path, NOWHERE) == expected


@each_row(
    ("path", "cwd", "expected"),
    [
        ("*", "/", "root"), ("*", "~", "home"), (".", "..", "home"), ("x", "/etc", "system"), ("*", UNKNOWN, "unknown"),
        ("node_modules", UNKNOWN, "artefact"), ("*", "build", "artefact"), ("/tmp/x", "/etc", "temp"), ("..", "src",
        "workspace"),
        ("id_rsa", "~/.ssh", "credentials"), ("x", "/tmp", "temp"),
    ],
)  # fmt: skip
def test_cd_within_the_command(path: str, cwd: str, expected: str) -> None:
    assert place(path, HOME, cwd) == expected


@each_row(
    ("path", "expected"),
    [
        ("src", []), ("~", ["whole"]), ("src/*", ["glob", "whole"]), ("src/*.py", ["glob"]), (".env", ["project"]),
        ("~/code/app/.env", ["project"]), ("~/.netrc", []), ("~/.bash_history", ["dotfile", "history"]), ("/var/log/x",
        ["log"]),
    ],
)  # fmt: skip
def test_marks(path: str, expected: list[str]) -> None:
    assert sorted(marks(path, HOME)) == expected


@each_row(
    ("path", "expected"),
    [
        ("a//b/./c/../d/", "/home/ada/work/a/b/d"), ("~/x", "/home/ada/x"), ("${HOME}/x", "/home/ada/x"), ("//etc", "/etc"),
        ("file:///a", "/a"), ("/private/var/x", "/var/x"), ("/proc/self/root/etc", "/etc"), ("~eve/x", "/home/eve/x"),
        ("", "/home/ada/work"),
    ],
)  # fmt: skip
def test_normal(path: str, expected: str) -> None:
    assert normal(path, HOME) == expected


@given(st.text(alphabet="/~.*?[]{}$%\\:@-ahome\0 \n", max_size=60), st.sampled_from(["", "/", "..", UNKNOWN, "~/x", "src"]))
def test_any_text_has_a_place(path: str, cwd: str) -> None:
    for where in (HOME, NOWHERE):
        assert isinstance(place(path, where, cwd), str)
        assert place(f"{path}/", where, cwd) == place(f"{path}//", where, cwd)


def test_a_hostile_path_is_read_to_a_limit() -> None:
    for part in ("/", "../", "*/", "a" * 50 + "/", "[", "$", "@", "~"):
        assert isinstance(place(part * MAX_PATH, HOME), str)
