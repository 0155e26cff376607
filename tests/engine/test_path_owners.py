"""Whose files a call touches: behind moves and links of the same command, of earlier calls and on disk."""

from __future__ import annotations

import pytest

from tables import each_row
from toolguard_engine.config.settings import Config
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.model.file_memory import FileMemory
from toolguard_engine.model.file_record import FileRecord, Origin
from toolguard_engine.model.files import FileText, NoFiles, Unread
from toolguard_engine.rules import packs

HOME, WORK = "/home/ada", "/home/ada/work"
HOST = Host(home=HOME)
GUARD = Guard(Config(), {}, HOST, packs.load())


class Disk(NoFiles):
    """`links`: path -> target, as `os.path.realpath` would follow them."""

    def __init__(self, **links: str) -> None:
        self.links = {f"{WORK}/{name}": target for name, target in links.items()}

    def resolve(self, path: str) -> str:
        for link, target in self.links.items():
            if path == link or path.startswith(f"{link}/"):
                return target + path[len(link) :]
        return path


def touched(command: str, files: NoFiles | None = None, made: FileMemory | None = None) -> set[tuple[str, str]]:
    """What is deleted, emptied or written, and where that is."""
    call = Call("exec", {"command": command}, cwd=WORK)
    (found,) = CallReading(call, HOST, files=files or NoFiles(), made=made).command_effects
    return {(effect.kind, effect.place) for effect in found if effect.kind in ("delete", "empty", "write")}


@each_row(
    ("command", "place"),
    [
        ("mv ~/photos x && rm -rf x", "in-home"),
        ("mv ~/photos /tmp/t/x && rm -rf /tmp/t", "in-home"),
        ("mv ~/photos /tmp/x; mv /tmp/x /tmp/y; rm -r /tmp/y", "in-home"),
        ("cd /tmp && mv ~/photos . && rm -rf photos", "in-home"),
        ("ln -s ~/photos out; rm -rf out/", "in-home"),
        ("ln -s ~/photos out; rm -rf out/*", "in-home"),
        ("ln -s ~/photos out; find out/ -delete", "in-home"),
        ("ln -s ~ h && rm -rf h/photos", "in-home"),
        ("cp -rl ~/photos x; shred -u x/a.jpg", "in-home"),
        ("ln ~/.bashrc x; : > x", "startup"),
        ("ln -s ~/photos dist; rm -rf dist", "artefact"),  # the link alone
        ("mv src /tmp/x && rm -rf /tmp/x", "in-workspace"),
        ("cp -r ~/photos /tmp/x && rm -rf /tmp/x", "temp"),  # a copy
        ("mv dist old && rm -rf dist", "artefact"),
        ("mv a b; mv b a; rm -rf a", "in-workspace"),  # in a circle
    ],
)
def test_the_same_command_moves_or_links(command: str, place: str) -> None:
    found = {where for kind, where in touched(command) if kind in ("delete", "empty")}
    assert place in found
    assert place in ("in-home", "startup") or not found & {"in-home", "startup"}


@each_row(
    ("command", "expected"),
    [
        ("rm -rf build/", ("delete", "in-home")),
        ("rm -rf build/*", ("delete", "in-home")),
        ("rm -rf build/2019", ("delete", "in-home")),
        ("rm -rf build", ("delete", "artefact")),
        ("echo x > rc", ("write", "startup")),
        ("rm rc", ("delete", "in-workspace")),
        ("echo x > notes.md", ("write", "in-workspace")),
    ],
)
def test_links_on_disk(command: str, expected: tuple[str, str]) -> None:
    assert expected in touched(command, Disk(build=f"{HOME}/photos", rc=f"{HOME}/.bashrc"))


@each_row(
    ("command", "target"),
    [
        ("sudo chown jellyfin:jellyfin /var/lib/jellyfin/x", "/etc/shadow"),
        ("sudo chown -R grafana:grafana /var/lib/grafana", "/etc"),
        ("sudo chown grafana:grafana /var/lib/grafana/passwd", "/etc/passwd"),
        ("echo x >> /opt/home/x.yaml", "/opt/home/x.yaml"),
    ],
)
def test_what_is_a_services_is_not_so_behind_a_link(command: str, target: str) -> None:
    disk = Disk()
    disk.links = {
        "/var/lib/jellyfin/x": "/etc/shadow", "/var/lib/grafana": "/etc", "/opt/home/x.yaml": "/etc/hosts",
    }  # fmt: skip
    call = Call("exec", {"command": command}, cwd=WORK)

    def of_services(files: NoFiles) -> set[tuple[str, bool]]:
        (found,) = CallReading(call, HOST, files=files).command_effects
        return {(effect.target, "service-data" in effect.flags) for effect in found if effect.kind in ("owner", "write")}

    assert {is_so for _, is_so in of_services(NoFiles())} == {True}
    assert of_services(disk) == {(target, False)}


@each_row(
    ("content", "exists", "kind"), [("", True, "empty"), (" \n", True, "empty"), ("", False, "write"), ("x", True, "write")]
)
def test_a_tool_that_writes_nothing_empties_what_exists(content: str, exists: bool, kind: str) -> None:  # noqa: FBT001
    class Written(NoFiles):
        def read(self, path: str) -> FileText | Unread:
            return FileText(path, "x", "", (0, 0, 0, 0)) if exists else Unread("absent")

    call = Call("write", {"path": "~/Documents/plan.md", "content": content}, cwd=WORK)
    assert [effect.kind for effect in CallReading(call, HOST, files=Written()).tool_effects] == [kind]


def test_moves_and_links_of_earlier_calls() -> None:
    made = FileMemory()
    made.wrote(f"{WORK}/x", FileRecord("agent", was=f"{HOME}/photos"))
    made.wrote(f"{WORK}/l", FileRecord("agent", created=True, link=f"{HOME}/photos"))
    assert touched("rm -rf x", made=made) == touched("rm -rf l/", made=made) == {("delete", "in-home")}
    assert touched("rm -rf l", made=made) == {("delete", "in-workspace")}


@each_row(
    ("command", "place"),
    [
        ("cd l && find . -delete", "in-home"),
        ("cd l && find -type f -exec rm {} +", "in-home"),
        ("env -C l find . -delete", "in-home"),
        ("cd l && rsync -a --delete e/ .", "in-home"),
        ("rsync -a --delete e/ l", "in-home"),
        ("cd l && python3 -c \"import shutil; shutil.rmtree('.')\"", "in-home"),
        ("find -L l -delete", "in-home"),
        ("find -H l -type f -exec rm {} +", "in-home"),
        ("fd . l -x rm", "in-home"),
        ("rm -rf l/../docs", "in-home"),
        ("cd l && rm -rf ../docs", "in-home"),
        ("find l/.. -delete", "in-home"),
        ("rm -rf a/../l/../docs", "in-home"),
        ("rm -rf l/../..", "home"),
        # neighbours: the link itself, what is beside it, and folders that are no links
        ("rm -rf l", "in-workspace"),
        ("find l -delete", "in-workspace"),
        ("cd a && find . -delete", "in-workspace"),
        ("cd a && rm -rf ../docs", "in-workspace"),
        ("rm -rf a/../docs", "in-workspace"),
        ("find -L a -delete", "in-workspace"),
        ("cd l/.. && rm -rf docs", "in-workspace"),  # `cd` goes by names
    ],
)
def test_the_folder_behind_a_link(command: str, place: str) -> None:
    reached = {where for kind, where in touched(command, Disk(l=f"{HOME}/photos/old")) if kind == "delete"}
    assert reached == {place}


def test_a_file_that_the_agent_made_is_marked() -> None:
    made = FileMemory()
    made.wrote(f"{HOME}/Documents/draft.md", FileRecord("agent", "write", created=True))
    made.wrote(f"{HOME}/Documents/fetched.pdf", FileRecord("outside", "example.org"))
    made.wrote(f"{HOME}/Documents/changed.md", FileRecord("agent", "write"))

    def flags(path: str) -> frozenset[str]:
        call = Call("exec", {"command": f"rm {path}"}, cwd=WORK)
        return CallReading(call, HOST, made=made).command_effects[0][0].flags

    assert {"personal-file", "agent-made"} <= flags("~/Documents/draft.md")
    for path in ("~/Documents/fetched.pdf", "~/Documents/changed.md", "~/Documents/tax.pdf"):
        assert "personal-file" in flags(path)
        assert "agent-made" not in flags(path)


@each_row(
    ("command", "is_own"),
    [
        ("rm -rf ~/src/tool", True),
        ("rm -rf ~/src/tool/docs ~/src/copy", True),
        ("rm ~/.config/app.toml.bak", True),
        ("sudo rm /opt/app/compose.yml.bak", True),
        ("rm -rf ~/src", False),  # more than the clone
        ("rm -rf ~/src/tool-2", False),
        ("rm -rf ~/src/tool/*", True),
        ("rm -rf ~/src/tool/*/", False),  # through a link in it
        ("rm -rf ~/src/tool/*/docs", False),
        ("rm -rf ~/src/tool/a*/*", False),
        ("rm -rf ~/src/tool/$X", False),  # it may lead out of the folder
        ("rm -rf ~/src/old", False),  # made in another session
        ("rm -rf ~/src/theirs", False),  # there was something before
        ("rm -rf ~/src/moved", False),  # it is still what was moved there
        ("rm ~/.config/app.toml", False),
        ("rm ~/.config/old.bak", False),
        ("sudo rm /opt/app/compose.yml", False),
    ],
)
def test_what_the_agent_made_in_its_session_it_may_delete(command: str, is_own: bool) -> None:  # noqa: FBT001
    made = FileMemory()
    for path, record in {
        f"{HOME}/src/tool": FileRecord("outside", "git.example.net", "s", created=True),
        f"{HOME}/src/copy": FileRecord("agent", f"{HOME}/src/tool", "s", created=True),
        f"{HOME}/src/old": FileRecord("outside", "git.example.net", "earlier", created=True),
        f"{HOME}/src/theirs": FileRecord("agent", f"{HOME}/src/tool", "s"),
        f"{HOME}/src/moved": FileRecord("agent", "exec", "s", created=True, was=f"{HOME}/photos"),
        f"{HOME}/.config/app.toml": FileRecord("agent", "tee", "s"),
        f"{HOME}/.config/app.toml.bak": FileRecord("agent", "cp", "s", created=True),
        f"{HOME}/.config/old.bak": FileRecord("agent", "cp", "earlier", created=True),
        "/opt/app/compose.yml.bak": FileRecord("agent", "cp", "s", created=True),
    }.items():
        made.wrote(path, record)
    reading = CallReading(Call("exec", {"command": command}, session="s", cwd=WORK), HOST, made=made)
    assert all(("agent-made" in each.flags) == is_own for each in reading.command_effects[0] if each.kind == "delete")
    rules = "" if is_own else "rule.filesystem"
    assert (GUARD.weigh_reading(reading).verdict.code.startswith("rule.filesystem.delete")) == bool(rules)


@each_row(
    ("command", "is_own"),
    [
        ("echo a > ~/Videos/list.txt; rm ~/Videos/list.txt", True),
        ("cd ~/Videos && printf a > list.txt && ffmpeg -i list.txt x.mp4 && rm list.txt", True),
        ("rm ~/Videos/list.txt; echo a > ~/Videos/list.txt", False),
        ("echo a >> ~/Videos/list.txt; rm ~/Videos/list.txt", False),
        ("echo a > ~/Videos/known.txt; rm ~/Videos/known.txt", False),
        ("ln -s ~/Videos/known.txt ~/Videos/l; echo a > ~/Videos/l; rm ~/Videos/known.txt", False),
        ("mv ~/Videos/known.txt ~/Videos/b.txt; echo a > ~/Videos/b.txt; rm ~/Videos/b.txt", False),
        ("echo a > ~/Videos/list.txt; rm ~/Videos/*.txt", False),
        ("mv ~/Videos/x.doc ~/Videos/list.txt; echo a > ~/Videos/list.txt; rm ~/Videos/list.txt", False),
        ("echo a > ~/Videos/a.txt; mv --exchange ~/Videos/a.txt ~/Videos/x.doc; rm ~/Videos/a.txt", False),
        ("echo a > ~/Videos/a.7z; 7z a -sdel ~/Videos/a.7z ~/Videos/x.doc; rm ~/Videos/a.7z", False),
        ("ssh host 'echo a > ~/Videos/list.txt; rm ~/Videos/list.txt'", False),
    ],
)
def test_a_file_that_the_same_command_makes(command: str, is_own: bool) -> None:  # noqa: FBT001 - a parameter
    class Disk(NoFiles):
        def read(self, path: str) -> FileText | Unread:
            return Unread("binary" if path.endswith("known.txt") else "absent")

    (found,) = CallReading(Call("exec", {"command": command}, cwd=WORK), HOST, files=Disk()).command_effects
    (deleted,) = [effect for effect in found if effect.kind == "delete" and effect.program and effect.program.name == "rm"]
    assert ("agent-made" in deleted.flags) == is_own


@pytest.mark.parametrize("command", ["sed -i '1,$d' F", "sed -i d F", "gsed -i -e '1,$ d' F"])
def test_sed_that_deletes_every_line_empties(command: str) -> None:
    assert touched(command.replace("F", "~/Documents/plan.md")) == {("empty", "in-home")}
    assert ("empty", "in-home") not in touched(command.replace("d'", "s/a/b/'").replace(" d ", " p ").replace("F", "~/a.md"))


def test_a_document_that_exists_is_overwritten() -> None:
    class Written(NoFiles):
        def read(self, path: str) -> FileText | Unread:
            return Unread("binary" if path.endswith("tax.pdf") else "absent")

    def flags(command: str) -> frozenset[str]:
        call = Call("exec", {"command": command}, cwd=WORK)
        return CallReading(call, HOST, files=Written()).command_effects[0][-1].flags

    assert "overwrites" in flags("cp x ~/Documents/tax.pdf")
    assert "overwrites" in flags("mv x ~/Documents/tax.pdf")
    assert "overwrites" not in flags("cp x ~/Documents/new.pdf") | flags("echo x >> ~/Documents/tax.pdf")


def test_a_program_that_an_earlier_call_copied() -> None:
    made = FileMemory()
    made.wrote(f"{WORK}/t", FileRecord("agent", "/bin/rm"))
    assert touched("./t -rf ~/photos", made=made) == {("delete", "in-home")}
    assert touched("cp /bin/rm t; ./t -rf ~/photos") >= {("delete", "in-home")}


@each_row(
    "command",
    [
        "cat /bin/rm > t; ./t -rf ~/photos",
        "dd if=/bin/rm of=t; ./t -rf ~/photos",
        "cp /bin/rm t; PATH=. t -rf ~/photos",
        "hash -p /bin/rm ls; ls -rf ~/photos",
        "/lib64/ld-linux-x86-64.so.2 /bin/rm -rf ~/photos",
    ],
)
def test_programs_under_another_name(command: str) -> None:
    assert ("delete", "in-home") in touched(command)


@each_row(
    ("command", "code"),
    [
        ("cd /tmp/clone && git clean -fdx", ""),
        ("git -C /tmp/clone clean -ffdx", ""),
        ("git clone https://example.org/a.git /tmp/clone && cd /tmp/clone && git clean -fdx", ""),
        ("d=$(mktemp -d); git clone https://example.org/a.git $d/a; git -C $d/a clean -fdX", ""),
        ("git worktree add /tmp/tree && cd /tmp/tree && git clean -fd", ""),
        ("git clean -fdn", ""),
        ("git clean -fdx node_modules", ""),
        ("git clean -fdx", "rule.vcs.clean"),
        ("cd ~/other && git clean -fdX", "rule.vcs.clean"),
        ("cd /tmp/clone && cd - && git clean -fd", "rule.vcs.clean"),
        ("git -C /tmp/../home/ada/work clean -fd", "rule.vcs.clean"),
        ("git -C /tmp/clone -C ~/work clean -fd", "rule.vcs.clean"),
        ('git -C "$TARGET" clean -fd', "rule.vcs.clean"),
        ("cd /tmp/clone && git clean -fd ../../home/ada/work", "rule.vcs.clean"),
        ("cd /tmp/clone && git --work-tree=/home/ada/work clean -fd", "rule.vcs.clean"),
        ("cd /tmp/clone && GIT_WORK_TREE=~/work git clean -fd", "rule.vcs.clean"),
        ("export GIT_DIR=~/work/.git; cd /tmp/clone && git clean -fd", "rule.vcs.clean"),
        ("ln -s ~/work /tmp/w; cd /tmp/w && git clean -fd", "rule.vcs.clean"),
        ("mv notes /tmp/clone/; git -C /tmp/clone clean -fd", "rule.vcs.clean"),
        ("git submodule foreach git clean -fd", "rule.vcs.clean"),
    ],
)
def test_untracked_files_of_temporary_folders_are_free(command: str, code: str) -> None:
    guard = Guard(Config(), {}, HOST, packs.load())
    found = guard.weigh_reading(guard.read(Call("exec", {"command": command}, cwd=WORK)))
    assert found.decision == ("hold" if code else "allow")
    assert found.verdict.code == (code or "allow")


def test_untracked_files_behind_a_link_on_disk_are_not_those_of_the_temporary_folder() -> None:
    class Linked(NoFiles):
        def resolve(self, path: str) -> str:
            return path.replace("/tmp/w", f"{HOME}/photos")

    call = Call("exec", {"command": "cd /tmp/w && git clean -fd"}, cwd=WORK)
    (found,) = CallReading(call, HOST, files=Linked()).command_effects
    assert [(effect.kind, effect.place) for effect in found] == [("discard", "in-home")]


def _enabled(command: str, made: FileMemory, session: str = "s") -> list[tuple[str, bool]]:
    """The files of what a command enables, and whether the agent has made them."""
    call = Call("exec", {"command": command}, cwd=WORK, session=session)
    (effects,) = CallReading(call, HOST, files=NoFiles(), made=made).command_effects
    return [(effect.target, "agent-made" in effect.flags) for effect in effects if effect.kind == "enable"]


@each_row(
    ("command", "unit"),
    [
        ("systemctl --user enable --now sensors", "~/.config/systemd/user/sensors.service"),
        ("systemctl --user reenable sensors.timer", "~/.config/systemd/user/sensors.timer"),
        ("systemctl enable at@home", "/etc/systemd/system/at@.service"),
        ("launchctl load -w ~/Library/LaunchAgents/x.plist", "~/Library/LaunchAgents/x.plist"),
    ],
)
def test_a_unit_is_the_agents_in_the_session_that_made_it(command: str, unit: str) -> None:
    path, made = unit.replace("~", HOME), FileMemory()
    assert _enabled(command, made) == [(unit, False)]
    made.wrote(path, FileRecord("agent", "write", "s", created=True))
    assert _enabled(command, made) == [(unit, True)]
    assert _enabled(command, made, "another") == [(unit, False)]
    made.wrote(path, FileRecord("agent", "write", "s", created=False))
    assert _enabled(command, made) == [(unit, False)]


@each_row(
    "command",
    [
        "systemctl --user enable --now a", "systemctl --user enable a $X", "ssh far systemctl --user enable a",
        "loginctl enable-linger",
        "XDG_CONFIG_HOME=/tmp/c systemctl --user enable a", "SYSTEMD_UNIT_PATH=/tmp systemctl --user reenable a",
        "launchctl load ~/Library/LaunchAgents/a.plist", "launchctl load ~/Library/LaunchAgents/a.plist $X",
        "launchctl load ~/Library/LaunchAgents/a.plist /tmp/evil",
        "launchctl bootstrap system ~/Library/LaunchAgents/a.plist",
        "launchctl load x.plist", "launchctl bootstrap gui/501 x.plist", "loginctl -H far enable-linger ada",
    ],
)  # fmt: skip
@pytest.mark.parametrize("origin", ["agent", "outside"])
@pytest.mark.parametrize("folders", [True, False])
def test_what_starts_by_itself_is_asked_about_whoever_made_its_file(command: str, origin: Origin, *, folders: bool) -> None:
    guard = Guard(Config(), {}, HOST, packs.load())
    names = (".config/systemd/user/a.service", "Library/LaunchAgents/a.plist", "work/x.plist")
    for path in (f"{HOME}/{name}" for name in names):
        if folders:
            guard.files.made_folder(path.rpartition("/")[0], "s")
        else:
            guard.files.wrote(path, FileRecord(origin, "write", "s", created=True))
    call = Call("exec", {"command": command}, cwd=WORK, session="s")
    assert guard.weigh_reading(guard.read(call)).decision == "hold"


@pytest.mark.parametrize("options", ["--root=/mnt", "--global", "-H far", "-M box"])
def test_a_unit_elsewhere_is_not_the_one_that_the_agent_made(options: str) -> None:
    made = FileMemory()
    made.wrote(f"{HOME}/.config/systemd/user/a.service", FileRecord("agent", "write", "s", created=True))
    made.wrote("/etc/systemd/system/a.service", FileRecord("agent", "write", "s", created=True))
    assert [own for _, own in _enabled(f"systemctl {options} enable a", made)] == [False]
