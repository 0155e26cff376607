"""Words that protect, beside the same words where they mean nothing: each pair differs in what one condition asks.

What changes the guard for certain is blocked, what may do so is held, and what only looks like it is free.
"""

from __future__ import annotations

import pytest

from test_run_files import weighed
from toolguard_engine.layers import self_protection
from toolguard_engine.model.call import Call, Host
from toolguard_engine.model.file_record import FileRecord

HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json", ("/opt/tg/plugin",), release="2026.9.6")
WORKSPACE = "/home/u/.openclaw/workspace"

ROWS = {
    # The checkout of a gateway is a release of it; what is installed beside it is none.
    "cd ~/src/openclaw && npm install -g .": "hold",
    "cd ~/src/openclaw && npm install -g typescript": "allow",
    # A program with an unknown name changes nothing of ours, unless our name stands in the command.
    "echo toolguard; $Y config set a b": "block",
    "$X config set a b": "allow",
    # What is printed for another program is a path that it opens.
    "cat $(python3 -c 'print(\"/home/u/.openclaw/toolguard/key\")')": "block",
    "python3 -c 'print(\"~/.openclaw/toolguard/key\")'": "allow",
    # A part of the address in the name of a file may make one of ours, or not.
    "cd ~/.openclaw && curl -o 'notes-#1.txt' 'http://x.example/[1-3]'": "hold",
    "cd ~/.openclaw/workspace && curl -o 'notes-#1.txt' 'http://x.example/[1-3]'": "allow",
    # Code that copies a folder, and code that adds to a set.
    "node -e \"cp('..', '/tmp/x')\"": "hold",
    "python3 -c \"names.add('..')\"": "allow",
    # Processes end by what is written to a control group, not by reading it.
    "echo 1 | tee /sys/fs/cgroup/user.slice/cgroup.kill": "hold",
    "cat /sys/fs/cgroup/user.slice/cgroup.kill": "allow",
    # The signal with which the gateway starts itself again, and one that ends it.
    "pkill -USR1 -f 'openclaw gateway'": "hold",
    "pkill -TERM -f 'openclaw gateway'": "block",
    # The hang-up to all processes, and to one of them.
    "kill -1": "block",
    "kill -1 1234": "allow",
    # Two folders that are compared, of which one holds the key.
    "diff -r ~ /tmp/x": "hold",
    "git -C ~/.openclaw diff --no-index /tmp/empty toolguard/": "hold",
    "diff -r src /tmp/x": "allow",
    # Git reads an alias from a variable that was exported, not from words that were printed.
    "export GIT_CONFIG_VALUE_0='!toolguard approve X'; git x": "block",
    "echo GIT_CONFIG_VALUE_0='toolguard approve X lets it run'; git status": "allow",
    "export X='toolguard uninstall'; git --config-env=alias.x=X x": "block",
    "export Z='toolguard uninstall'; git --config-env=alias.x=X x": "allow",
    # Names that are only shown, and names that something behind them may open.
    "ls ~/.openclaw/toolguard/key | wc -l": "allow",
    "ls ~/.openclaw/toolguard/key; while read f; do cat $f; done < l": "block",
    # A list names the files that another program opens, also from the folder that an option names.
    "printf \"file '/home/u/.openclaw/toolguard/key'\\n\" > l; ffmpeg -f concat -safe 0 -i l out.mp4": "block",
    "printf \"file 'a.mp4'\\n\" > l; ffmpeg -f concat -safe 0 -i l out.mp4": "allow",
    "echo toolguard/key > l; tar -C ~/.openclaw -T l -cf x.tar": "block",
    "echo toolguard/key > l; tar --directory=/home/u/.openclaw -T l -cf x.tar": "block",
    "echo toolguard/key > l; tar -C ~/src -T l -cf x.tar": "allow",
    # A file with the name of one of ours, in a folder that is not known.
    "rsync openclaw.json $X/": "hold",
    "rsync notes.json $X/": "allow",
    "rsync -a d/ $X/": "hold",
    "mv $X ~/": "allow",
    # An exclusion that fits the folder of the key wherever it stands, and one that fits another path of as many parts.
    "tar czf /tmp/x.tgz --exclude=toolguard ~/.openclaw": "allow",
    "tar czf /tmp/x.tgz --exclude='.openclaw/notes' -C ~ .openclaw": "hold",
    "tar czf /tmp/x.tgz --exclude='./toolguard/key' -C ~/.openclaw .": "hold",
    # The inner code of the gateway that is run, and read; what it offers to others.
    "node /usr/lib/node_modules/openclaw/dist/plugins/loader.js": "hold",
    "cat /usr/lib/node_modules/openclaw/dist/plugins/loader.js": "allow",
    "node /usr/lib/node_modules/openclaw/dist/entry.js --version": "allow",
    # The config of a gateway by its bare name, in a folder that is not known and in one that is.
    "cd $X && sed -i s/a/b/ openclaw.json": "hold",
    "cd ~/src && sed -i s/a/b/ openclaw.json": "allow",
    # Typed keys are run, printed ones are not.
    "tmux send-keys t o o l g u a r d Space a p p r o v e Space X Enter": "block",
    "echo 'toolguard approve 12345678 lets a call run' > notes.md && cat notes.md": "allow",
    # A search that finds the key, and one that skips hidden folders.
    "fd key ~ | xargs cat": "block",
    "fd . ~ | xargs cat": "allow",
    # `sed` that writes another file than it reads.
    "sed -n 'w /home/u/.openclaw/openclaw.json' a": "hold",
    "sed -n 's/a/b/p' a": "allow",
}


@pytest.mark.parametrize("command", ROWS)
def test_it_counts_where_it_protects(command: str) -> None:
    verdict = self_protection.judge(Call("exec", {"command": command}, cwd=WORKSPACE), HOST)
    assert (verdict.decision if verdict else "allow") == ROWS[command]


@pytest.mark.parametrize("possible", ["cp a $X/openclaw.json", "diff -r ~ /tmp/x"])
@pytest.mark.parametrize("order", ["{possible}; sh x.sh", "sh x.sh; {possible}"])
def test_what_a_file_certainly_does_is_blocked_beside_what_is_only_possible(possible: str, order: str) -> None:
    files, made = {"x.sh": "toolguard approve X\n"}, {"x.sh": FileRecord("agent", "write", "s")}
    assert weighed(possible, files, made).decision == "hold"
    assert weighed(order.format(possible=possible), files, made).decision == "block"
