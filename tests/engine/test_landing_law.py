"""The law of landings: forms that a real program treats alike get one verdict.

Hundreds of spellings of copying, moving, linking, unpacking and checking out are generated and run with the real programs in
a temporary home. One that replaced the gateway's config is not allowed, and those of one template get the same decision. One
that puts the same files into a folder of their own is free.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from effort import some
from programs import need
from tables import each_row
from toolguard_engine.config.settings import Config
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs
from toolguard_engine.server import tool_hints

HOMES = [
    "~", "~/", "$HOME", '"$HOME"/.', "${HOME}/", "{home}", "..", "../.", "~/notes/..", "{home}/./", "{home}//",
    "~/../{base}",
]  # fmt: skip
"""Spellings of the home folder, for a command that runs in a folder of it. They are certain; these hang on a variable:"""

PERHAPS = ["~/$UNSET", "$HOME/$UNSET", "$UNSET{home}", "~/${UNSET}/", '"$UNSET$HOME"']

ELSEWHERE = ["~/copy", "~/copy/", "$HOME/copy", "out", "./out/", "../copy", "{home}/copy/x", '"$PWD"/out', "~/notes/../copy"]
"""A folder in which there is nothing yet but what honest work puts there."""

OPTIONS = {
    "cp": ["", "-v", "-f", "-S .b", "--suffix=.b", "--no-preserve mode", "--sparse never", "--reflink=auto", "-bS .b"],
    "mv": ["", "-f", "-v", "-S .b", "--suffix .b", "-fv"],
    "ln": ["", "-v", "-S .b", "--suffix .b", "-n"],
    "install": ["", "-m 600", "-m600", "--mode 600", "-p", "-v", "--mode=600 -S .b"],
    "rsync": [
        "", "--checksum-seed 5", "--max-alloc 1G", "--stop-at 2099-01-01", "--compress-level 9", "--chmod D755", "-e ssh",
        "--bwlimit 9999", "--timeout=9", "--exclude zz", "--out-format %n", "--skip-compress gz", "-B 800", "--iconv .",
        "--info flist0", "--modify-window 1", "-@ 1", "--protocol 30", "-f '- zz'", "--max-size 1g", "-zz --zl 3",
    ],
    "tar": [
        "", "-b 20", "--blocking-factor 20", "--exclude zz", "--owner 0", "--strip-components 0", "--warning none", "-p",
        "--overwrite", "--transform s/zz/yy/", "--checkpoint=1000", "-X /dev/null", "--group 0 -m",
    ],
    "unzip": ["", "-X", "-qq", "-K"],
    "cpio": ["", "-v", "--block-size 2", "-C 512", "--quiet", "-R 0:0"],
    "bsdtar": ["", "-v", "--exclude zz", "--strip-components 0", "-p", "--no-xattrs", "--uname a"],
    "pax": ["", "-v", "-p e", "-pe", "-T 2000/01/01"],
    "7z": ["", "-bd", "-mmt=1", "-bb0", "-x!zz"],
    "git": ["", "-c a.b=c", "--no-pager"],
    "patch": ["", "-N", "-F 2", "--fuzz 2", "-s"],
}  # fmt: skip
"""Options that change nothing about where files land. `{o}` of a template is one of them."""

TEMPLATES = {
    "cp": r"""
cp {o} -r d/. {t}
cp -r d/. {t} {o}
cp -a {o} d/. {t}
cp -R d/. {o} {t}
cp --recursive {o} d/. {t}
cp -rT d {t} {o}
cp -aT {o} d/ {t}
cp {o} -r --no-target-directory d {t}
cp -r -T {t} {o} 2> /dev/null; cp -rT d {t}
cp -r {o} d/.[!.]* {t}
cp -r d/.o* {t} {o}
cp -r d/.??* {o} {t}
cp -r {o} d/.openclaw {t}
cp -r d/.openclaw/ {t} {o}
cp -rt {t} {o} d/.openclaw
cp -r d/.openclaw {o} -t {t}
cp -r {o} --target-directory={t} d/.openclaw
cp -r {o} --target {t} d/.openclaw
cd d && cp -r {o} --parents .openclaw {t}
cd d && cp -r . {t} {o}
(cd d; cp {o} -a . {t})
shopt -s dotglob; cp -r {o} d/* {t}
cp -r {o} -- d/. {t}
cp -r {o} $UNSET d/. {t}
cp -r d/. $UNSET {o} {t}
cp -r {o} d/{.openclaw,notes} {t}
for x in d/.[a-z]*; do cp -r {o} $x {t}; done
find d -mindepth 1 -maxdepth 1 -exec cp -r {o} {} {t} \;
find d -name .openclaw -exec cp -rt {t} {o} {} +
find d -name .openclaw -print0 | xargs -0 cp -r {o} -t {t}
ls -A d | xargs -I% cp {o} -r d/% {t}
X=d/.; cp -r {o} $X {t}
T={t}; cp -r {o} d/. $T
command cp {o} -r d/. {t}
env A=1 cp -r {o} d/. {t}
cp -r {o} "d/." {t}
cp -r $(echo d)/. {t} {o}
bash -c 'cp -r {o} d/. {t}'
""",
    "rsync": r"""
rsync -a {o} d/ {t}
rsync -a d/ {t} {o}
rsync {o} -r d/. {t}
rsync -a {o} d/.openclaw {t}
rsync -r d/.o* {t} {o}
rsync -a --files-from=list {o} d {t}
rsync -a --files-from list d {t} {o}
echo {c} | rsync -a {o} --files-from=- d {t}
cd d && rsync -aR {o} .openclaw {t}
rsync -aR {o} d/./.openclaw {t}
rsync --archive {o} d/ {t}
rsync --recursive d/ {t} {o}
rsync -a d/ -- {t}
rsync -a --inplace {o} d/ {t}
rsync -aI {o} --delay-updates d/ {t}
rsync -av --stats {o} d/.[!.]* {t}
rsync -a -- d/ {t}
rsync -ad --no-i-r {o} d/ {t}
rsync -rltz d/ {t} {o}
rsync -a {o} $UNSET d/ {t}
""",
    "tar": r"""
tar xf d.tar -C {t} {o}
tar -C {t} {o} -xf d.tar
tar {o} --directory={t} --extract --file=d.tar
tar --extract {o} --directory {t} --file d.tar
tar xfC d.tar {t} {o}
tar xCf {t} d.tar {o}
tar {o} -x -f d.tar --cd {t} 2> /dev/null || tar -x -f d.tar -C {t} {o}
tar xf d2.tar --strip-components=1 -C {t}
tar xf d2.tar --strip-components 1 -C {t}
tar xf d2.tar --transform 's,^d/,,' -C {t}
tar cf - -C d . | tar xf - -C {t} {o}
(cd d && tar cf - .) | (cd {t} && tar xf - {o})
cd {t} && tar {o} -xf {work}/d.tar
tar x {o} -C {t} < d.tar
cat d.tar | tar x -C {t} {o}
tar xf d.tar {o} -C {t} ./.openclaw
echo .openclaw | tar cf - -C d -T - | tar {o} -xC {t}
tar xf d.tar -C / -C {t} {o}
tar --get {o} -f d.tar -C{t}
pushd {t} > /dev/null; tar xf {work}/d.tar {o}
tar xzf d.tgz {o} -C {t}
tar -xf d.tar --one-top-level={t} {o}
(cd {t}; tar -x {o} -f {work}/d.tar)
tar xf d.tar -C $HOME/notes -C {t}
""",
    "unzip": r"""
unzip -o {o} d.zip -d {t}
unzip -o d.zip -d {t} {o}
unzip {o} -o -d {t} d.zip
unzip -oq {o} d.zip -d{t}
cd {t} && unzip -o {o} {work}/d.zip
unzip -o {o} d.zip '.openclaw/*' -d {t}
unzip -o {o} d.zip -x zz -d {t}
unzip {o} -uo d.zip -d {t}
(cd {t}; unzip -o {work}/d.zip {o})
""",
    "cpio": r"""
cd d && find . | cpio {o} -pdum {t}
cd d && find . -print0 | cpio -0 {o} -pdu {t}
cd d; find . | cpio -pdumv {t}
(cd d && find . -type f | cpio --pass-through {o} -du {t})
cd {t} && cpio {o} -idum < {work}/d.cpio
cd {t} && cat {work}/d.cpio | cpio --extract {o} -du
cd {t} && cpio -iduF {work}/d.cpio {o}
cd d && printf '%s\n' {c} | cpio {o} -pdu {t}
cpio -D {t} {o} -idu < d.cpio
cd d && cpio {o} -pdu {t} <<< {c}
cd d && ls -A | cpio -pdu {o} {t}; find .openclaw | cpio -pdu {t}
""",
    "bsdtar": r"""
bsdtar {o} -xf d.tar -C {t}
bsdtar -x {o} -f d.tar -C {t}
cd {t} && bsdtar {o} -xf {work}/d.tar
bsdtar xf d.zip {o} -C {t}
bsdtar -cf - -C d . | bsdtar {o} -xf - -C {t}
""",
    "pax": r"""
cd d && pax -rw {o} . {t}
cd d && pax {o} -rw .openclaw {t}
cd d && find . | pax -rwd {o} {t}
cd {t} && pax -r {o} < {work}/d.tar
cd {t} && pax -r {o} -f {work}/d.tar
""",
    "7z": r"""
cd {t} && 7z x {o} -y {work}/d.zip
cd {t} && 7z -y {o} x {work}/d.zip
7z x -y {o} d.zip -o$HOME; 7z x -y d.zip -o{t}
(cd {t}; 7z x {work}/d.zip -aoa {o})
""",
    "install": r"""
install {o} d/{c} {t}/.openclaw
install -D {o} d/{c} {t}/{c}
install {o} -t {t}/.openclaw d/{c}
install d/{c} {o} {t}/.openclaw/
install -T {o} d/{c} {t}/{c}
cd d/.openclaw; install {o} *.json {t}/.openclaw
install {o} -Dt {t}/.openclaw d/.openclaw/*
""",
    "mv": r"""
mv {o} d/{c} {t}/.openclaw
mv {o} -t {t}/.openclaw d/{c}
mv d/.openclaw/* {t}/.openclaw/ {o}
mv -T {o} d/{c} {t}/{c}
mv {o} --backup=numbered d/.openclaw {t}
mv -b d/.openclaw {o} {t}
cd d/.openclaw && mv {o} *.json {t}/.openclaw
mv {o} --target-directory={t}/.openclaw d/{c}
mv {o} d/.openclaw/openclaw.{json,x} {t}/.openclaw
""",
    "ln": r"""
ln -f {o} d/{c} {t}/.openclaw
ln -sf {o} $PWD/d/{c} {t}/.openclaw
ln {o} -sf $PWD/d/{c} {t}/{c}
ln -srf d/{c} {o} {t}/.openclaw
ln --symbolic --force {o} $PWD/d/{c} -t {t}/.openclaw
ln -sfT {o} $PWD/d/{c} {t}/{c}
cd {t}/.openclaw && ln -sf {o} {work}/d/{c}
cp -rlf d/.openclaw {t} {o}
cp -rsf $PWD/d/.openclaw {t} {o}
""",
    "git": r"""
git {o} --git-dir=repo/.git --work-tree={t} checkout -f
git {o} --work-tree {t} --git-dir repo/.git checkout -- .
git --git-dir=$PWD/repo/.git {o} --work-tree={t} reset -q --hard
GIT_DIR=repo/.git GIT_WORK_TREE={t} git {o} checkout -f
git {o} -C repo --work-tree={t} restore .
git {o} -C repo checkout-index -af --prefix={t}/
git -C repo {o} archive HEAD | tar xf - -C {t}
cd repo && git {o} --work-tree={t} checkout HEAD -- .openclaw
git {o} -C {t} apply {work}/d.diff
cd {t} && git {o} apply -p1 {work}/d.diff
git -C {t} {o} apply -C 1 {work}/d.diff
git -c core.worktree={t} {o} -C repo checkout -f
""",
    "patch": r"""
patch {o} -p1 -d {t} < d.diff
patch -p1 -i {work}/d.diff -d {t} {o}
cd {t} && patch {o} -p1 < {work}/d.diff
patch {o} -p1 --directory={t} --input={work}/d.diff
patch {o} {t}/{c} d.diff
patch -p 1 {o} --directory {t} < d.diff
""",
}  # fmt: skip
"""Commands that put `d`, a home with another config, over `{t}`, one in each line. `{c}`: the config's path in a home."""

NEEDED = {name: name for name in ("rsync", "unzip", "cpio", "bsdtar", "pax", "7z")}
NOT_EVERYWHERE = {"git", "patch", "install", "mv", "ln"}
"""Programs whose templates need what is in a home."""

IN_DOUBT = ("-C /", "-o$HOME", "pax -r {o}", "cpio -i", "cpio {o} -i", "cpio --extract", "cpio -D")
"""Templates that are held wherever they unpack: another folder is named first, or absolute names would be used."""


class Home:
    """A home that is made anew for each form."""

    def __init__(self, root: Path) -> None:
        self.path, self.pristine, self.config = root / "u", root / "pristine", root / "u" / ".openclaw" / "openclaw.json"
        work = self.path / "work"
        for path, text in {
            self.config: "real\n",
            work / "d" / ".openclaw" / "openclaw.json": "other\n",
            work / "d" / ".openclaw" / "openclaw.x": "other\n",
            work / "d" / "notes" / "a.md": "notes\n",
            work / "e" / "d" / ".openclaw" / "openclaw.json": "other\n",
            work / "list": ".openclaw/openclaw.json\n",
            work / "d.diff": "--- a/.openclaw/openclaw.json\n+++ b/.openclaw/openclaw.json\n@@ -1 +1 @@\n-real\n+other\n",
            self.path / "notes" / "b.md": "notes\n",
        }.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.run(
            "tar cf d.tar -C d . && tar czf d.tgz -C d . && tar cf d2.tar -C e d; (cd d && zip -qr ../d.zip .);"
            "(cd d && find . | cpio -o > ../d.cpio); cp -r d repo; cd repo; git init -q; git add -A;"
            "git -c user.name=a -c user.email=a@b commit -qm a"
        )
        shutil.copytree(self.path, self.pristine, symlinks=True)
        state = str(self.config.parent)
        self.guard = Guard(Config(), tool_hints.load(), Host(str(self.path), state, str(self.config)), packs.load())

    def run(self, command: str) -> None:
        environment = {"HOME": str(self.path), "PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1"}
        work = self.path / "work"
        subprocess.run(["/bin/bash", "-c", command], cwd=work, env=environment, capture_output=True, check=False, timeout=60)

    def replaces(self, command: str) -> bool:
        """Whether the command really replaces the config. The home is as before afterwards."""
        self.run(command)
        try:
            return "other" in self.config.read_text()
        except FileNotFoundError:
            return False
        finally:
            shutil.rmtree(self.path)
            shutil.copytree(self.pristine, self.path, symlinks=True)

    def decision(self, command: str) -> str:
        return self.guard.weigh(Call("exec", {"command": command}, cwd=f"{self.path}/work")).decision


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    if sys.platform != "linux":
        pytest.skip("the forms are those of GNU programs")
    need("zip", "cpio", "git", "patch")
    return Home(tmp_path_factory.mktemp("law"))


def forms(program: str, targets: list[str], home: Home) -> Iterator[tuple[str, str]]:
    """Each template with several of its options and targets in turn, so that all of them occur."""
    number = 0
    for template in TEMPLATES[program].split("\n")[1:-1]:
        options = OPTIONS.get(program, [""])
        for round_ in range(4):
            number += 1
            option = options[(number * 5 + round_) % len(options)] if "{o}" in template else ""
            target = targets[(number * 7 + round_) % len(targets)]
            target = target.replace("{home}", str(home.path)).replace("{base}", home.path.name)
            words = {"{o}": option, "{t}": target, "{work}": f"{home.path}/work", "{c}": ".openclaw/openclaw.json"}
            command = template
            for sign, word in words.items():
                command = command.replace(sign, word)
            yield template, command


@each_row("program", TEMPLATES)
def test_what_really_replaces_the_config_gets_one_verdict(home: Home, program: str) -> None:
    need(NEEDED.get(program, "bash"))
    allowed, decisions, tried = [], defaultdict[str, dict[str, str]](dict), 0
    for template, command in some(list(forms(program, HOMES, home))):
        if home.replaces(command):
            tried += 1
            found = home.decision(command)
            decisions[template].setdefault(found, command)
            if found == "allow":
                allowed.append(command)
    assert tried > TEMPLATES[program].count("\n") // 2, "the forms do not do what they are listed for"
    assert allowed == []
    assert [found for found in decisions.values() if len(found) > 1] == []


@each_row("program", TEMPLATES)
def test_what_replaces_it_if_a_variable_is_empty_is_stopped(home: Home, program: str) -> None:
    need(NEEDED.get(program, "bash"))
    found = [command for _, command in some(list(forms(program, PERHAPS, home))) if home.decision(command) == "allow"]
    assert [command for command in found if home.replaces(command)] == []


@each_row("program", sorted(TEMPLATES.keys() - NOT_EVERYWHERE))
def test_what_lands_in_a_folder_of_its_own_is_free(home: Home, program: str) -> None:
    need(NEEDED.get(program, "bash"))
    made = [command for template, command in some(list(forms(program, ELSEWHERE, home))) if not _is_in_doubt(template)]
    honest = [command.replace("/openclaw.json", "/a.md").replace(".openclaw", "notes") for command in made]
    assert [command for command in honest if home.decision(command) != "allow"] == []
    assert not any(map(home.replaces, honest[::8]))


def _is_in_doubt(template: str) -> bool:
    return any(each in template for each in IN_DOUBT)
