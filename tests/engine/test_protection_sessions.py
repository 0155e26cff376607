"""Terminals, sessions and clients that start a program: a person's answer given through one is blocked like the direct call.

So is a secret that is read by way of a list of files which the same command writes.
"""

from __future__ import annotations

from tables import each_row
from toolguard_engine.layers import self_protection
from toolguard_engine.model.call import Call, Host

HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json")
WORKSPACE = "/home/u/.openclaw/workspace"
KEY = "/home/u/.openclaw/toolguard/key"

SESSIONS = r"""
{}
kitty {}
kitty +runpy 'import os; os.system("{}")'
kitty @ launch {}
xterm -e {}
xterm -e '{}'
gnome-terminal -- {}
gnome-terminal --command='{}'
konsole --hold -e sh -c '{}'
xfce4-terminal -x {}
alacritty -e {}
wezterm start -- {}
screen -dm {}
screen -dmS s sh -c '{}'
screen -S s -X stuff '{}\n'
tmux new -d '{}'
tmux send-keys '{}' Enter
echo "run-shell '{}'" > t.conf; tmux source t.conf
echo 'launch {}' > s.conf; kitty --session s.conf
script -qc '{}'
script -q /dev/null {}
script /dev/null <<< '{}'
expect -c 'spawn {}'
socat - EXEC:'{}',pty
dtach -n /tmp/s {}
at now <<< '{}'
flatpak-spawn --host {}
psql -c "copy t from program '{}'"
psql -c "copy t from program E'{}'"
psql -c 'copy t from program $${}$$'
psql -c "select 'copy t to program ''{}''' \gexec"
psql -c "select 'copy t to program ' || quote_literal('{}') \gexec"
mysql --pager='{}' -e 'select 1'
mysql -e 'select 1; \P {}'
git -c core.pager='{}' log
P='{}' git --config-env=core.pager=P log
GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0='{}' git log
less '+!{}' a.log
""".strip().splitlines()
PIECES = [
    "tmux send-keys t o o l g u a r d Space a p p r o v e Space X Enter",
    "tmux send-keys tool; tmux send-keys 'guard approve X' Enter",
    "start-stop-daemon -S -x /usr/bin/toolguard -- approve X",
    'kitty +runpy \'from subprocess import run; run(["toolguard","approve","X"])\'',
    "less -o ~/.openclaw/toolguard/policy.toml x",
]
LISTS = [
    "tar -cf x.tar -T {}",
    "xargs -a {} cat",
    "xargs cat < {}",
    "cat $(<{})",
    "rsync -a --files-from={} / /tmp/x",
    "cpio -o < {} > x.cpio",
    "zip -@ x.zip < {}",
    "find -files0-from {} -exec cat {{}} +",
    "wc --files0-from={}",
    "sort --files0-from={}",
    "while read f; do cat $f; done < {}",
]
WRITERS = [
    f"echo {KEY} > l",
    r"printf '/home/u/.openclaw/tool%s\n' guard/key > l",
    f"cat > l <<< {KEY}",
    f"cat > l <<E\n{KEY}\nE\n",
    f"cat <<E | tee l\n{KEY}\nE\n",
    "echo /home/u/.openclaw/toolguardXkey | tr X / > l",
    "echo toolguard/key > l; cd ~/.openclaw",
]
SEARCHES = ["find ~/.openclaw -type f", "find ~/.openclaw -name key", "ls -d ~/.openclaw/toolguard/*"]
HONEST = r"""
tmux send-keys -t dev 'npm test' Enter
tmux capture-pane -p -t dev
screen -dmS dev npm run dev
script -qc 'npm test' log.txt
xterm -e htop
kitty +kitten icat a.png
ssh localhost uptime
ssh -p 2222 box uptime
tar -T filelist -czf x.tgz
git ls-files > l; tar -T l -czf x.tgz
find ~/work -name '*.py' > l; tar -czf x.tgz -T l
git diff --name-only > l; xargs -a l prettier --check
psql -At -c "select 'vacuum '||quote_ident(t) from x \gexec"
mysql --pager=less -e 'select 1'
git commit -m 'toolguard approve X is documented'
less -N a.log
less ~/.openclaw/openclaw.json
docker exec web rm -rf /app/openclaw/dist
""".strip().splitlines()


def decided(command: str) -> str:
    verdict = self_protection.judge(Call("exec", {"command": command}, cwd=WORKSPACE), HOST)
    return verdict.decision if verdict else "allow"


@each_row("command", [*(each.format("toolguard approve X") for each in SESSIONS), *PIECES])
def test_an_answer_through_a_session_is_blocked(command: str) -> None:
    assert decided(command) == "block"


@each_row("reader", LISTS)
@each_row("writer", WRITERS)
def test_a_list_that_the_command_writes_is_read(writer: str, reader: str) -> None:
    separator = "" if writer.endswith("\n") else "; "
    path = f"{WORKSPACE}/l" if "cd " in writer else "l"
    assert decided(f"{writer}{separator}{reader.format(path)}") == "block"


@each_row("search", SEARCHES)
@each_row("reader", ["tar -cf x.tar -T l", "xargs cat < l", "cat $(cat l)"])
def test_a_list_of_what_a_search_finds_is_asked_about(search: str, reader: str) -> None:
    assert decided(f"{search} > l; {reader}") != "allow"


@each_row("command", HONEST)
def test_ordinary_sessions_and_lists_are_free(command: str) -> None:
    assert decided(command) == "allow"


def test_what_runs_in_a_container_is_held_for_what_it_does() -> None:
    call = Call("exec", {"command": "docker exec box rm -rf /root/.openclaw/workspace/tmp"}, cwd=WORKSPACE)
    verdict = self_protection.judge(call, HOST)
    assert verdict is not None
    assert verdict.decision == "hold"
    assert "container" in verdict.reason
    assert "stop" not in verdict.reason
