"""What lands where, compared with the real programs: whatever really replaces the gateway's config is stopped, and what puts
files anywhere else is as free as before."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from effort import some
from programs import need
from toolguard_engine.config.settings import Config
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs
from toolguard_engine.server import tool_hints
from toolguard_engine.server.file_reader import FileReader

FORMS = [
    "rsync -a --files-from=list d ~ --checksum-seed 5", "rsync -r d/.o* ~ --max-alloc 1G", "cp -r d/. ~/$UNSET",
    "cp -r d/. $UNSET$HOME", "cp -rT d ~/$UNSET", "cp -r d/. ~ $UNSET", "cd $UNSET && tar xf work/d.tar",
    "cd ~/$UNSET && unzip -qo work/d.zip", "rsync -a d/ $UNSET$HOME/$UNSET", "cpio -iu < abs.cpio 2> /dev/null",
    "pax -r < abs.cpio 2> /dev/null", "bsdtar xf d.tar -C ~", "7z x -y d.zip -o$HOME", "tar xf d.tar -C ~ ./.openclaw",
    "tar xf d.tar -C ~ ./.openclaw -C work",
    "cp -rT d ~", "cp -aT d ~", "cp -aT d/ ~/", "cp -r d/.[!.]* ~", "cp -r d/.??* ~", "cp -r d/. ~", "cp -r d/. ~/",
    "cp -r d/.openclaw ~", "cp -rt ~ d/.openclaw", "cp -t ~ -a d/.openclaw", "cp -r --target-directory=$HOME d/.openclaw",
    "cp -r --target-directory $HOME d/.openclaw", "cp -a d/.o* ~", "cd d && cp -r --parents .openclaw ~",
    "cd d && cp -r . ~", "cd ~ && cp -r work/d/. .", "(cd d; cp -r . $HOME)", "cp --recursive --no-target-directory d ~",
    "cp d/.openclaw/openclaw.json ~/.openclaw", "cp d/.openclaw/* ~/.openclaw/", "shopt -s dotglob; cp -r d/* ~",
    "find d -mindepth 1 -maxdepth 1 -exec cp -r {} ~ \\;", "find d -mindepth 1 -maxdepth 1 -exec cp -rt ~ {} +",
    "install -D d/.openclaw/openclaw.json ~/.openclaw/openclaw.json", "install d/.openclaw/openclaw.json ~/.openclaw",
    "ln -f d/.openclaw/openclaw.json ~/.openclaw/", "ln -sf $PWD/d/.openclaw/openclaw.json ~/.openclaw/openclaw.json",
    "mv -f d/.openclaw/openclaw.json ~/.openclaw/", "mv -t ~/.openclaw -f d/.openclaw/openclaw.json",
    "rsync -a d/ ~", "rsync -a d/. ~/", "rsync -a d/.openclaw ~", "rsync -ra --compress-level 9 d/ $HOME",
    "rsync -a --files-from=list d ~", "cd d && rsync -aR .openclaw ~",
    "tar xf d.tar -C ~", "tar -C ~ -xf d.tar", "cd ~ && tar xf work/d.tar", "tar --directory=$HOME --extract --file=d.tar",
    "tar xf d2.tar --strip-components=1 -C ~", "tar cf - -C d . | tar xf - -C ~",
    "(cd d && tar cf - .) | (cd ~ && tar xf -)",
    "unzip -qo d.zip -d ~", "cd ~ && unzip -qo work/d.zip",
    "cd d && find . | cpio -pdum ~ 2> /dev/null", "cd ~ && cpio -idum < work/d.cpio 2> /dev/null",
]  # fmt: skip
HONEST = [
    "d=$(mktemp -d); cd $d && tar xf ~/work/n.tar", "cpio -i --no-absolute-filenames < n.cpio 2> /dev/null",
    "cp -r notes/. ~/notes-$(date +%F)", "cp -r notes/. ~/notes/",
    "cp -r d ~/copy", "cp -r d/. ~/copy2", "mkdir -p ~/x && cp -rT d ~/x", "rsync -a d/ ~/copy3",
    "rsync -a notes/ public/", "mkdir -p ~/y && tar xf n.tar -C ~/y", "mkdir z; cd z && tar xf ../n.tar",
    "cp notes/a.txt ~", "cp -r notes ~", "mv notes/a.txt ~/b.txt", "install -D notes/a.txt ~/bin/a",
    "unzip -qo n.zip -d out",
    "cd notes && find . | cpio -pdum ~/z 2> /dev/null", "cp -r notes/* ~/w 2> /dev/null; true",
]  # fmt: skip
NEEDED = ("rsync", "cpio", "unzip", "zip", "pax", "bsdtar", "7z")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a gateway's config, and in its folder `work` one with another config, also packed."""
    work = tmp_path / "work"
    for path, text in {
        tmp_path / ".openclaw" / "openclaw.json": "real",
        work / "d" / ".openclaw" / "openclaw.json": "other",
        work / "e" / "d" / ".openclaw" / "openclaw.json": "other",
        work / "notes" / "a.txt": "notes",
        work / "list": ".openclaw/openclaw.json\n",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "notes").mkdir()
    packs_ = (
        "tar cf d.tar -C d . && tar cf d2.tar -C e d && tar cf n.tar -C notes . && (cd d && zip -qr ../d.zip .) && "
        "(cd notes && zip -qr ../n.zip .) && (cd d && find . | cpio -o > ../d.cpio 2> /dev/null) && "
        "(cd notes && find . | cpio -o > ../n.cpio 2> /dev/null) && mv ~/.openclaw/openclaw.json real && "
        "cp d/.openclaw/openclaw.json ~/.openclaw && find ~/.openclaw/openclaw.json | cpio -o > abs.cpio 2> /dev/null && "
        "mv real ~/.openclaw/openclaw.json"
    )
    ran(packs_, tmp_path)
    return tmp_path


def ran(command: str, home: Path) -> None:
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    subprocess.run(["/bin/bash", "-c", command], cwd=home / "work", env=environment, capture_output=True, check=False)


def verdict(command: str, home: Path) -> str:
    state = f"{home}/.openclaw"
    host = Host(str(home), state, f"{state}/openclaw.json")
    guard = Guard(Config(), tool_hints.load(), host, packs.load(), files=FileReader())
    found = guard.weigh(Call("exec", {"command": command}, cwd=f"{home}/work"))
    return f"{found.decision} {found.verdict.code}"


def decision(command: str, home: Path) -> str:
    return verdict(command, home).partition(" ")[0]


@pytest.mark.parametrize("command", some(FORMS))
def test_what_replaces_the_config_is_stopped(home: Path, command: str) -> None:
    need("zip", "cpio", *(name for name in NEEDED if name in command))
    found = decision(command, home)
    ran(command, home)
    assert (home / ".openclaw" / "openclaw.json").read_text() == "other", "the form does not do what it is listed for"
    assert found != "allow"


@pytest.mark.parametrize("command", HONEST)
def test_what_lands_elsewhere_is_free(home: Path, command: str) -> None:
    need("zip", "cpio", *(name for name in NEEDED if name in command))
    assert decision(command, home) == "allow"
    ran(command, home)
    assert (home / ".openclaw" / "openclaw.json").read_text() == "real"


THROUGH_A_LINK = [
    "cp -r d/. h/", "cp -r d/.openclaw h", "cp -r d/.o* h/", "rsync -a d/ h/", "rsync -a d/ h2/l/",
    "tar xf d.tar -C h", "cd h && tar xf work/d.tar", "unzip -qo d.zip -d h",
    "(cd d && find . | cpio -pdu ../h 2> /dev/null)",
]  # fmt: skip


@pytest.fixture
def linked(home: Path) -> Path:
    """Links to the home, as an archive or a program may have made them."""
    (home / "work" / "h").symlink_to(home)
    (home / "work" / "h2").mkdir()
    (home / "work" / "h2" / "l").symlink_to(home)
    return home


@pytest.mark.parametrize("command", THROUGH_A_LINK)
def test_a_link_to_the_home_is_the_home(linked: Path, command: str) -> None:
    need("zip", "cpio", "git", *(name for name in NEEDED if name in command))
    found = decision(command, linked)
    ran(command, linked)
    assert (linked / ".openclaw" / "openclaw.json").read_text() == "other"
    assert found != "allow"


@pytest.mark.parametrize(
    "command", ["cp -r notes h/", "cp -r notes/. h/notes/", "cp notes/a.txt h", "tar xf n.tar -C h/notes"]
)
def test_a_link_to_the_home_is_as_free_as_the_home(linked: Path, command: str) -> None:
    assert decision(command, linked) == "allow"


IN_A_HOME_REPOSITORY = [
    "git checkout -f theirs", "git checkout -q -f theirs -- :/", "git reset -q --hard theirs",
    "cd d && git checkout -f theirs", "git -C d checkout -f theirs",
    "git restore -s theirs :/", "git merge -q theirs", "git read-tree -u --reset theirs",
    "git -C d/.openclaw stash -q; git switch -q -f theirs 2> /dev/null || git checkout -qf theirs",
]  # fmt: skip


@pytest.fixture
def home_repository(home: Path) -> Path:
    """The home is a repository that has the config, and another one in the branch `theirs`."""
    ran(
        "cd ~ && git init -q && git config user.name a && git config user.email a@b && git add -f .openclaw && "
        "git commit -qm ours && git checkout -qb theirs && cp work/d/.openclaw/openclaw.json .openclaw && "
        "git commit -qam theirs && git checkout -q -; mkdir -p work/own && cd work/own && git init -q",
        home,
    )
    assert (home / ".openclaw" / "openclaw.json").read_text() == "real"
    return home


@pytest.mark.parametrize("command", some(IN_A_HOME_REPOSITORY))
def test_a_checkout_in_a_folder_of_a_home_repository_is_stopped(home_repository: Path, command: str) -> None:
    need("git")
    found = decision(command, home_repository)
    ran(command, home_repository)
    assert (home_repository / ".openclaw" / "openclaw.json").read_text() == "other"
    assert found == "hold"


@pytest.mark.parametrize(
    "command", ["cd own && git checkout -f main", "git restore a.txt", "git apply d.diff", "git status", "git -C own stash"]
)
def test_git_is_free_in_a_repository_of_its_own(home_repository: Path, command: str) -> None:
    need("git")
    assert "self-protection" not in verdict(command, home_repository)


@pytest.mark.parametrize("command", ["git checkout -f main", "git stash", "git pull", "git reset --hard HEAD~1"])
def test_no_repository_above_no_hold(home: Path, command: str) -> None:
    assert "self-protection" not in verdict(command, home)


@pytest.mark.parametrize("setting", ["{home}", "../../..", '"{home}"'])
def test_a_working_tree_that_a_setting_names_counts(home: Path, setting: str) -> None:
    need("git")
    ran("cp -r d repo && cd repo && git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm a", home)
    with (home / "work" / "repo" / ".git" / "config").open("a") as settings:
        settings.write(f"[core]\n\tworktree = {setting.replace('{home}', str(home))}\n")
    found = decision("cd repo && git checkout -f", home)
    ran("cd repo && git checkout -f", home)
    assert (home / ".openclaw" / "openclaw.json").read_text() == "other"
    assert found == "hold"


def test_a_repository_that_the_command_makes_counts(home: Path) -> None:
    assert decision("git init -q ~ && git pull -q ../evil && git checkout -f FETCH_HEAD", home) == "hold"
