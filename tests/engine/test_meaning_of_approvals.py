"""A yes covers what it was given for: the same words that mean more are held again and say what is new; the same or less
runs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from changing_world import ChangingWorld
from effort import some

Step = Callable[[ChangingWorld], Any]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ChangingWorld:
    made = ChangingWorld(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    return made


def nothing(_: ChangingWorld) -> None: ...


def repo(world: ChangingWorld) -> None:
    world.put("w/.git/config", "[remote]\n url = git@github.com:me/site.git\n")


MORE: dict[str, tuple[Step, str, dict[str, Any], Step, str]] = {
    "a link behind a wildcard": (
        lambda w: w.link("w/cache", "Pictures/old"), "rm -rf cache/*", {},
        lambda w: w.link("w/cache", "Documents"), "~/w/cache now points to ~/Documents",
    ),
    "a folder becomes a link": (
        lambda w: w.put("w/out/a"), "rm -rf out/", {},
        lambda w: (shutil.rmtree(w.work / "out"), w.link("w/out", "Documents")), "~/w/out now points to ~/Documents",
    ),
    "a link above the target": (
        lambda w: w.link("w/data", "Scratch"), "rm -rf data/old/logs", {},
        lambda w: w.link("w/data", "Documents"), "now also: delete ~/Documents/old/logs",
    ),
    "a link in a folder that a wildcard enters": (
        lambda w: w.put("w/sites/a/cache/x"), "rm -rf sites/*/cache", {},
        lambda w: w.link("w/sites/b", "Documents"), "now also: delete ~/Documents",
    ),
    "a link that a wildcard follows": (
        lambda w: w.put("w/pub/a.txt"), "chmod 777 pub/*", {},
        lambda w: w.link("w/pub/b", "Documents"), "now also: permissions ~/Documents",
    ),
    "a write through a link": (
        lambda w: w.put("w/out.txt"), "sort names > out.txt", {},
        lambda w: ((w.work / "out.txt").unlink(), w.put(".bashrc"), w.link("w/out.txt", ".bashrc")),
        "now also: write ~/.bashrc",
    ),
    "the script": (
        lambda w: w.put("w/deploy.sh", "rm -rf build\n"), "sh deploy.sh", {},
        lambda w: w.put("w/deploy.sh", "rm -rf ~/Documents\n"), "~/w/deploy.sh has changed since",
    ),
    "a script that the script runs": (
        lambda w: (w.put("w/deploy.sh", "sh ./clean.sh\n"), w.put("w/clean.sh", "rm -rf build\n")), "sh deploy.sh", {},
        lambda w: w.put("w/clean.sh", "rm -rf ~/Documents\n"), "~/w/clean.sh has changed since",
    ),
    "a program that the guard cannot read": (
        lambda w: w.put("w/tool", "\0one").chmod(0o755), "./tool --delete all", {},
        lambda w: w.put("w/tool", "\0two"), "~/w/tool has changed since",
    ),
    "the file of settings that is sourced": (
        lambda w: w.put("w/.env", "DIR=build\n"), '. ./.env; rm -rf "$DIR"', {},
        lambda w: w.put("w/.env", "DIR=~/Documents\n"), "~/w/.env has changed since",
    ),
    "the settings are gone": (
        lambda w: w.put("w/.env", "DIR=build\n"), '. ./.env; rm -rf "$DIR"/*', {},
        lambda w: (w.work / ".env").unlink(), "~/w/.env is gone",
    ),
    "a file that names what is copied": (
        lambda w: w.put("w/list", "a\n"), "rsync -a --files-from=list . me@host:/srv", {},
        lambda w: w.put("w/list", "a\n.ssh\n"), "~/w/list has changed since",
    ),
    "a list for xargs": (
        lambda w: w.put("w/list", "a\n"), "xargs -a list rm -rf", {},
        lambda w: w.put("w/list", "a\n../Documents\n"), "now also: delete ~/Documents",
    ),
    "a list that is piped": (
        lambda w: w.put("w/list", "a\n"), "cat list | xargs rm -rf", {},
        lambda w: w.put("w/list", "/\n"), "~/w/list has changed since",
    ),
    "a list that a loop reads": (
        lambda w: w.put("w/list", "a\n"), 'while read f; do rm -rf "$f"; done < list', {},
        lambda w: w.put("w/list", "/\n"), "~/w/list has changed since",
    ),
    "a list in a substitution": (
        lambda w: w.put("w/names.log", "a\n"), "rm -rf $(cat names.log)", {},
        lambda w: w.put("w/names.log", "a\nb\n"), "~/w/names.log has changed since",
    ),
    "a payload": (
        lambda w: w.put("w/body.json", '{"drop": false}'), "curl -X POST -d @body.json https://api.example.com/db", {},
        lambda w: w.put("w/body.json", '{"drop": true}'), "~/w/body.json has changed since",
    ),
    "the config of a program": (
        lambda w: w.put("w/prod.yml", "a: 1\n"), "docker compose -f prod.yml down -v", {},
        lambda w: w.put("w/prod.yml", "a: 2\n"), "~/w/prod.yml has changed since",
    ),
    "where git pushes": (
        repo, "git push --force origin main", {},
        lambda w: w.put("w/.git/config", "[remote]\n url = https://evil.test/x\n"), "~/w/.git/config has changed since",
    ),
    "a hook that a push runs": (
        repo, "git push --force origin main", {},
        lambda w: w.put("w/.git/hooks/pre-push", "rm -rf ~\n"), "now also runs ~/w/.git/hooks/pre-push",
    ),
    "the folder is a link": (
        lambda w: w.link("proj", "Scratch"), "rm -rf build", {"workdir": "~/proj"},
        lambda w: w.link("proj", "Documents"), "it would now run in ~/Documents",
    ),
    "a folder that is copied": (
        lambda w: w.link("w/shots", "Pictures"), "scp -r shots me@host:/srv/public", {},
        lambda w: w.link("w/shots", "Documents"), "~/w/shots now points to ~/Documents",
    ),
    "a hard link at the target": (
        lambda w: w.put(".bashrc"), "sort names > out.txt", {}, lambda w: os.link(w.home / ".bashrc", w.work / "out.txt"),
        "now also, for write ~/w/out.txt: the file has another name as well (a hard link)",
    ),
    "a document at the target": (
        lambda w: w.put("w/a.pdf"), "cp a.pdf ~/Documents/b.pdf", {}, lambda w: w.put("Documents/b.pdf"),
        "now also, for write ~/Documents/b.pdf: it replaces what is there",
    ),
    "the settings in the folder": (
        lambda w: w.put("w/main.tf", "a\n"), "terraform destroy -auto-approve", {},
        lambda w: w.put("w/main.tf", "b\n"), "~/w/main.tf has changed since",
    ),
    "more settings in the folder": (
        lambda w: w.put("w/docker-compose.yml", "a\n"), "docker compose down -v", {},
        lambda w: w.put("w/docker-compose.override.yml", "b\n"), "now also runs ~/w/docker-compose.override.yml",
    ),
    "a folder of descriptions": (
        lambda w: w.put("w/k8s/a.yaml", "a\n"), "kubectl delete -f k8s/", {},
        lambda w: w.put("w/k8s/a.yaml", "b\n"), "~/w/k8s/a.yaml has changed since",
    ),
    "one of two folders": (
        lambda w: w.link("w/mnt", "Scratch"), "rm -rf mnt/x /data/old", {},
        lambda w: w.link("w/mnt", "Documents"), "now also: delete ~/Documents/x",
    ),
    "settings that a program is given": (
        lambda w: w.put("w/.env", "D=build\n"), 'env $(cat .env) sh -c \'rm -rf "$D"\'', {},
        lambda w: w.put("w/.env", "D=/\n"), "~/w/.env has changed since",
    ),
    "settings in the folder that the call enters": (
        lambda w: w.put("w/conf/serverless.yml", "a\n"), "cd conf && serverless remove", {},
        lambda w: w.put("w/conf/serverless.yml", "b\n"), "~/w/conf/serverless.yml has changed since",
    ),
    "settings in JSON that a person writes": (
        lambda w: w.put("w/main.tf.json", "a\n"), "terraform destroy -auto-approve", {},
        lambda w: w.put("w/main.tf.json", "b\n"), "~/w/main.tf.json has changed since",
    ),
    "where another repository is pushed to": (
        lambda w: w.put("r/.git/config", "a\n"), "git -C ~/r push --force", {},
        lambda w: w.put("r/.git/config", "b\n"), "~/r/.git/config has changed since",
    ),
    "an option of the same name behind the subcommand": (
        repo, "git -c a=b commit -C HEAD && git push --force", {},
        lambda w: w.put("w/.git/hooks/pre-commit", "rm -rf ~/Documents\n"), "now also runs ~/w/.git/hooks/pre-commit",
    ),
    "a repository that an option names": (
        lambda w: w.put("r/config", "a\n"), "git --git-dir=../r push --force", {},
        lambda w: w.put("r/config", "b\n"), "~/r/config has changed since",
    ),
    "the repository of a working tree": (
        lambda w: w.put("w/.git", "gitdir: ../one\n"), "git push --force", {},
        lambda w: w.put("w/.git", "gitdir: ../two\n"), "~/w/.git has changed since",
    ),
    "a hook behind the commit": (
        repo, "git commit -am x && git push --force", {},
        lambda w: w.put("w/.git/hooks/post-commit", "rm -rf ~/Documents\n"), "now also runs ~/w/.git/hooks/post-commit",
    ),
    "the folder that the call enters": (
        lambda w: w.link("w/a", "Pictures"), "cd a && git clean -fdx", {},
        lambda w: w.link("w/a", "Documents"), "~/w/a now points to ~/Documents",
    ),
    "a wildcard that leaves a sign out": (
        lambda w: w.put("w/a1/x"), "rm -rf a[^x]/*", {},
        lambda w: w.link("w/a2", "Documents"), "now also: delete ~/Documents",
    ),
    "a link that find follows": (
        lambda w: w.link("w/d", "Pictures"), "find -L d -delete", {},
        lambda w: w.link("w/d", "Documents"), "d now points to ~/Documents",
    ),
    "what a script reads": (
        lambda w: (w.put("w/clean.py", "for n in open('names.txt'):\n    drop(n)\n"), w.put("w/names.txt")),
        "python3 clean.py", {}, lambda w: w.put("w/names.txt", "y\n"), "~/w/names.txt has changed since",
    ),
    "what a script reads beside itself": (
        lambda w: (w.put("w/bin/send.js", "load(__dirname, 'to.json')\n"), w.put("w/bin/to.json")),
        "node bin/send.js", {}, lambda w: w.put("w/bin/to.json", "y\n"), "~/w/bin/to.json has changed since",
    ),
    "what code in the call reads": (
        lambda w: w.put("w/names"), """ruby -e 'File.foreach("names") { |n| drop(n) }'""", {},
        lambda w: w.put("w/names", "y\n"), "~/w/names has changed since",
    ),
    "what code in another folder reads": (
        lambda w: (w.put("w/a/clean.py", "import shop\n"), w.put("w/a/shop.py", "open('../l')\n"), w.put("w/l")),
        "cd a && python3 clean.py", {}, lambda w: w.put("w/l", "y\n"), "~/w/l has changed since",
    ),
    "what a script reads, with a blank and behind an apostrophe": (
        lambda w: (w.put("w/clean.py", "# don't ask\ndrop(open('my names'))\n"), w.put("w/my names")),
        "python3 clean.py", {},
        lambda w: w.put("w/my names", "y\n"), "~/w/my names has changed since",
    ),
    "a file that a script reads is new": (
        lambda w: w.put("w/clean.php", "<?php include_once $f; drop(file('names')); ?>\n"), "php clean.php", {},
        lambda w: w.put("w/names", "y\n"), "now also reads ~/w/names",
    ),
    "a recipe": (
        lambda w: w.put("w/Makefile", "clean:\n\trm -rf build\n"), "make clean", {},
        lambda w: w.put("w/Makefile", "clean:\n\trm -rf ~/Documents\n"), "~/w/Makefile has changed since",
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", some([*MORE]))
def test_a_call_that_means_more_is_held_again_and_says_what_is_new(world: ChangingWorld, shape: str) -> None:
    before, command, params, change, line = MORE[shape]
    before(world)
    call = world.call(command, **params)
    nonce = world.approved(call)
    change(world)
    again = world.ask(call)
    assert (again.verdict.decision, again.verdict.code, again.fresh) == ("hold", "approval.pending", True)
    assert again.entry is not None
    assert again.entry.nonce != nonce
    assert line in again.entry.changes
    assert f"Not as it was shown under {nonce}: " in again.entry.reason
    assert "Not as it was shown under" in again.verdict.text


def grown(world: ChangingWorld) -> None:
    with (world.work / "app.log").open("a") as log:
        log.write("more\n")


SAME: dict[str, tuple[Step, str, dict[str, Any], Step]] = {
    "nothing changed": (lambda w: w.put("w/build/a"), "rm -rf build", {}, nothing),
    "a folder that is filled": (lambda w: w.put("w/build/a"), "rm -rf build", {}, lambda w: w.put("w/build/b")),
    "a folder that is made again": (
        lambda w: w.put("w/build/a"), "rm -rf build", {}, lambda w: (shutil.rmtree(w.work / "build"), w.put("w/build/c")),
    ),
    "a folder that is gone": (
        lambda w: w.put("w/build/a"), "rm -rf build dist", {}, lambda w: shutil.rmtree(w.work / "build"),
    ),
    "a folder that appears": (nothing, "rm -rf build", {}, lambda w: w.put("w/build/c")),
    "new files that a wildcard means": (
        lambda w: w.put("w/cache/a"), "rm -rf cache/*", {}, lambda w: (w.put("w/cache/b"), (w.work / "cache/a").unlink()),
    ),
    "a link among what is deleted itself": (
        lambda w: w.put("w/cache/a"), "rm -rf cache/*", {}, lambda w: w.link("w/cache/docs", "Documents"),
    ),
    "a link that leads on inside": (
        lambda w: w.put("w/pub/a"), "chmod 644 pub/*", {}, lambda w: w.link("w/pub/latest", "w/pub/a"),
    ),
    "the same link again": (
        lambda w: w.link("w/cache", "Pictures/old"), "rm -rf cache/*", {}, lambda w: w.link("w/cache", "Pictures/old"),
    ),
    "a link somewhere else": (lambda w: w.put("w/build/a"), "rm -rf build", {}, lambda w: w.link("w/other", "Documents")),
    "a log that is written to": (
        lambda w: w.put("w/app.log"), "rm -rf build && tail -n 3 app.log > ~/state.txt", {}, grown,
    ),
    "a log that is sent": (
        lambda w: w.put("w/app.log"), "tail -n 50 app.log | curl -d @- https://example.com/x", {}, grown,
    ),
    "a log that is sent as a file": (lambda w: w.put("w/app.log"), "scp app.log me@host:/srv/logs/", {}, grown),
    "a file that is only printed": (
        lambda w: w.put("w/notes"), "cat notes && rm -rf build", {}, lambda w: w.put("w/notes", "other\n"),
    ),
    "commits since": (
        repo, "git push --force origin main", {},
        lambda w: (w.put("w/.git/refs/heads/main", "1" * 40), w.put("w/.git/index", "DIRC"), w.put("w/src/new.py")),
    ),
    "the script was only touched": (
        lambda w: w.put("w/deploy.sh", "rm -rf build\n"), "sh deploy.sh", {},
        lambda w: w.put("w/deploy.sh", "rm -rf build\n"),
    ),
    "a file beside the script": (
        lambda w: w.put("w/deploy.sh", "rm -rf build\n"), "sh deploy.sh", {}, lambda w: w.put("w/other.sh", "ls\n"),
    ),
    "what the call writes itself": (
        lambda w: w.put("w/out.txt"), "sort list.txt > out.txt; rm -rf build", {}, lambda w: w.put("w/out.txt", "2\n"),
    ),
    "a database that others write to": (
        lambda w: (w.work / "app.db").write_bytes(b"SQLite format 3\0one"), "sqlite3 app.db 'DELETE FROM users'", {},
        lambda w: (w.work / "app.db").write_bytes(b"SQLite format 3\0two"),
    ),
    "the list is the same": (
        lambda w: w.put("w/list", "a\nb\n"), "xargs -a list rm -rf", {}, lambda w: w.put("w/list", "a\nb\n"),
    ),
    "what was listed is gone": (
        lambda w: (w.put("w/list", "a\n"), w.put("w/a")), "xargs -a list rm -rf", {}, lambda w: (w.work / "a").unlink(),
    ),
    "the folder has more in it": (
        lambda w: w.put("proj/a"), "rm -rf build", {"workdir": "~/proj"}, lambda w: w.put("proj/b"),
    ),
    "settings of another program": (
        lambda w: w.put("w/main.tf", "a\n"), "rm -rf build && git push --force", {}, lambda w: w.put("w/main.tf", "b\n"),
    ),
    "state beside the settings": (
        lambda w: w.put("w/main.tf", "a\n"), "terraform destroy -auto-approve", {},
        lambda w: (w.put("w/terraform.tfstate", "1"), w.put("w/state.json", "{}"), w.put("w/.terraform.lock", "x")),
    ),
    "a file with two names is deleted": (
        lambda w: w.put("w/a"), "rm -f a b", {}, lambda w: os.link(w.work / "a", w.work / "b"),
    ),
    "packages were installed": (
        lambda w: w.put("w/package.json", '{"scripts": {"clean": "rm -rf build"}}'), "npm run clean", {},
        lambda w: w.put("w/node_modules/x/index.js"),
    ),
    "what a script only mentions": (
        lambda w: (w.put("w/clean.py", "drop('the names in names.txt')\n"), w.put("w/names.txt")), "python3 clean.py", {},
        lambda w: w.put("w/names.txt", "y\n"),
    ),
    "what a script writes": (
        lambda w: (w.put("w/clean.py", "open('out.txt', 'w').write('x')\n"), w.put("w/out.txt")), "python3 clean.py", {},
        lambda w: w.put("w/out.txt", "y\n"),
    ),
    "a log of a script": (
        lambda w: (w.put("w/clean.py", "note('clean.log')\n"), w.put("w/clean.log")), "python3 clean.py", {},
        lambda w: w.put("w/clean.log", "y\n"),
    ),
    "no file at all": (nothing, "curl -X DELETE https://api.example.com/items/4", {}, lambda w: w.put("w/unrelated")),
}  # fmt: skip


@pytest.mark.parametrize("shape", some([*SAME]))
def test_a_call_that_means_the_same_or_less_runs(world: ChangingWorld, shape: str) -> None:
    before, command, params, change = SAME[shape]
    before(world)
    call = world.call(command, **params)
    world.approved(call)
    world.now += 20
    change(world)
    world.restart()
    again = world.ask(call)
    assert (again.verdict.code, again.entry and again.entry.changes) == ("approval.consumed", ())
    assert world.ask(call).verdict.decision == "hold"
