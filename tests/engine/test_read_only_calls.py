"""Read-only calls, and calls that may change something."""

from __future__ import annotations

from typing import Any

from tables import each_row
from toolguard_engine.effects.calls.plain import plain
from toolguard_engine.effects.calls.read_only import MAX_COMMAND, is_read_only
from toolguard_engine.effects.commands.unwrap import read

LOOKS = [
    "ls -la /srv", "cat a b | head -3", "grep -rn foo src 2>/dev/null | wc -l", "rg foo -g '*.py'",
    "find . -name '*.md' -type f", "git status", "git --no-pager log --oneline -5",
    "git branch -a", "git branch --list 'x*'", "git remote -v", "git stash list", "git config --get user.name",
    "git show HEAD:a.txt", "cd /srv && ls", "test -f x && echo yes || echo no", "[ -d x ]", "[[ -f x ]]",
    "timeout 5 cat x",
    "LC_ALL=C sort -u x", "date +%s", "date -Iseconds", "sed -n '10,20p' f",
    "sed 's/a/b/g' f", "jq .a f.json", "ps aux | grep node", "df -h", "du -sh .", "id", "uname -a", "/bin/ls",
    "/usr/bin/git status", "cat < f", "ls > /dev/null 2>&1",
    "find . -name x | xargs grep foo", "which node", "command -v node", "tail -n 3 log", "uniq -c x", "printf '%s' x",
    "git diff HEAD~1 -- src/*.py", "git show 'stash@{0}'", "git log --author=ada -5 -p",
    "git log --format='%h %s' main..HEAD",
    "git status -sb", "git rev-parse --abbrev-ref HEAD", "git blame -L 1,9 f", "git branch --contains HEAD", "git tag",
    "git tag -l 'v1*'", "git tag --sort=-creatordate", "git remote get-url origin", "git config --global --get user.name",
    "git reflog -5", "git ls-files -mo --exclude-standard", "git grep -nw foo -- '*.py'", "GIT_PAGER=cat git log -1",
    "git stash show -p stash@{0}", "git worktree list", "git merge-base main HEAD", "git --version", "git diff main...HEAD",
    "ls *", "cat *.md", "wc -l src/*.py", "grep -n 'a\\|b' *", "echo $HOME", 'ls "$HOME/x"', 'echo "exit: $?"',
    'grep "foo$" f',
    "find . -type f -size +10k -mtime -7", "find ~ -name '*.md' -print0 | xargs -0 -n 1 wc -l", "ls | xargs -I{} stat {}",
    "ls | xargs --null --max-args=1 wc",
    "find . \\( -name '*.a' -o -name b \\) -not -path './x/*'", "find src -perm -u+x", "rg -n --hidden -tpy 'foo.*' src/*",
    "rg --files -g '!x'", "fd -e py -H foo src", "sort -t, -k2,2nr f | uniq -c | sort -rn | head", "tail -n +5 f",
    "tail -5 f",
    "date -u +%Y", "date -d '1 day ago' +%F", "date", "sed -n '/a/,/b/p' f", "[ -n \"$x\" ] && ls", "[ \"$x\" = y ]",
    "[ ! -f x ]",
    "ps -ef", "ps -o pid,comm -p 3", "ps -e", "pgrep -fl node", "lsof -i :3000", "lsof -nP -iTCP:80 -sTCP:LISTEN",
    "ss -tlnp",
    "netstat -tlnp", "ip -br addr", "ip route", "free -h", "file -b x", "seq 1 5", "hostname", "time ls", "ls\npwd", "ls;",
    "jq -r '.a[] | .b' f g", "TZ=Europe/Berlin date", "cat /dev/null", "cat dev/x src/dev/y", "ls -1 {}",
    "printf '%-5s\\n' $x",
    "cat /proc/cpuinfo", "od -c f", "git diff > /dev/null", "git cat-file -p HEAD", "which -a node",
    "pwd", "true", "cat x >&2", "tree -L 2", "stat -c %s f", "sort -k2 -n f",
]  # fmt: skip
MAY_CHANGE = [
    "", "   ", "rm x", "ls > f", "ls >> f", "echo x >| f", "ls &> f", "ls | tee f", "sleep 5", "ls; sleep 1", "wait",
    "find . -delete", "find . -exec cat {} \\;", "find . -fprint f", "find . | xargs rm", "xargs", "sudo cat x",
    "ssh host ls", "docker exec c ls", "sh -c 'rm x'", "python x.py", "./ls", "~/bin/ls", "/opt/ls", "$x", "$(cat x)",
    "git commit -m x", "git branch foo", "git branch -v foo", "git branch -D foo", "git -c core.pager=x log",
    "git log --output=f", "git remote add x y", "git stash", "git remote -v update", "git fetch", "git config a b",
    "git tag v1", "git grep -Ovi x", "sort -o f x", "sort x -of", "uniq a b", "date -s 2020-01-01", "date 010100002026",
    "hostname new", "sed -i s/a/b/ f", "sed -n 'w f' x", "sed 's/a/b/e' f", "sed p f -i", "sed -f s f", "echo `rm x`",
    "cat <(rm x)", "f(){ rm x; }; f", "alias ls=rm; ls", "trap 'rm x' EXIT; ls", "PATH=/x ls", "LD_PRELOAD=x ls",
    "env GIT_EXTERNAL_DIFF=x git diff", "env -i ls", "env -S 'rm x'", "export A=1", "curl x", "exec 3>f; ls",
    "rg --pre x y", "fd -x rm", "time -o f ls; /usr/bin/time -o f ls", "tail -f log", "timeout 5 rm x", "ls (",
    "cat < /dev/tcp/a/80", "ss -K", "file -C x", "tree -o f", "nohup ls", "npm test", "kill 1", "mkdir x",
    "eval ls x; eval rm y", "while ! test -f x; do sleep 1; done", "cat <> f", "ls > >(tee f)", "ls " + "x" * MAX_COMMAND,
]  # fmt: skip

GIT_CHANGES = [
    "git grep --ope=x y", "git grep --open=x y", "git grep -Ox y", "git grep -nO y", "git diff --outp=f",
    "git log --outpu=f",
    "git log --output f", "git diff --no-index --outp=f a b", "git diff --ex", "git diff --ext-dif", "git diff --textc",
    "git log -p --ext-d", "git cat-file --textc HEAD:f", "git cat-file --filt HEAD:f", "git cat-file --batch --filt",
    "git show HEAD:f --outp=f", "git stash show --outp=f", "git shortlog --outp=f", "git log --show-signature",
    "git log --format=%G?", "git log --pretty=format:%GK", "git for-each-ref --format='%(signature)'",
    "git branch --format=%G?",
    "git -C evil status", "cd x && git status", "cd x; ls; timeout 5 git diff", "git --git-dir=x status",
    "git --work-tree=x status", "git --exec-path=x status", "git -p log", "git --paginate log", "git -ccore.pager=x log",
    "git --config-env=core.pager=X log", "git remote show URL", "git remote show origin", "git ls-remote URL",
    "git remote prune x",
    "git remote -v update", "git branch --sort=x foo", "git branch -a foo", "git branch -l foo", "git branch --list -d foo",
    "git branch --unset-upstream", "git branch --edit-description", "git branch --show-current foo", "git tag -l -d x",
    "git tag --sort=x v1", "git tag -m x", "git tag -f --list x", "git config --list --ed", "git config --get-regexp . --ed",
    "git config --get x --unset", "git config user.name", "git config -f x --list", "git config --blob x --list",
    "git reflog expire", "git reflog delete x", "git reflog -5 expire", "git stash list drop --output=f", "git stash drop",
    "git stash pop", "git worktree prune", "git worktree add x", "git diff *", "git log $x", 'git log "$x"', "git $x",
    "git 'x'",
    "git log -O*", "git log --*", "git diff ?-output=f", "git diff {a,--output=f}", "git diff a{,--output=f}",
    "git log $(cat x)",
    "git rev-parse --parseopt", "git blame --contents f g", "git submodule status", "git describe --dirt", "git",
    "git status?",
    "cat x | xargs git diff", "ls | xargs -0p wc", "ls | xargs --open-tty wc", "ls | xargs -I {} {}",
    "ls -- -x | sort -- -o",
    "GIT_PAGER=x git log", "git_pager=x git log", "GIT_DIR=x git status", "LANG=C", "git fsck",
]  # fmt: skip
PROGRAMS_CHANGE = [
    "find . -dele*", "find . ?delete", "find . -name a{,' -delete'}", "find {.,-delete}", "find . -name a$MY", "find . $x",
    "find . -name *.md", "find . -name $(cat x)", "find . -name `cat x`", "find . -okdir rm x", "find . -fls f",
    "find . \"$@\"",
    "find . -fprint0 f", "find . -files0-from f", "find . '-delete'", "find . -'delete'", "find . \\-delete",
    'find . "-dele"te',
    "x=$(cat ev); find e -name q$x", "x=-delete; find . $x", "for x in -delete; do find . $x; done",
    "set -- -delete; find . \"$@\"",
    "sed -n 1p a$MY", "sed -n 1p *", "sed -n '1w f' x", "sed 's/a/b/w f' x", "sed $x f", "sed -n 1p -s --in-pl f", "sed p*",
    "sed '/[/w f/p' x", "sed 's/a/b/;w f' x", "sed --expr=p f", "sed 1e f", "sed -nf s", "sed 'r /dev/stdin' x",
    "sort *", "sort -*", "sort a$MY", "sort --outp=f x", "sort --comp=x f", "sort --compress-program=x f", "sort -k1 -ox f",
    "sort -rof f", "sort -k1 -o f x", "sort -T d f", "sort -to -of x", "sort 'a' -o'b'",
    "rg foo *", "rg --pre=x y", "rg --pr x y", "rg --hostname-bin=x y", "rg -z y", "rg -nz y", "rg --search-zip y",
    "rg 'x' $y",
    "fd -X rm", "fd . -x rm", "fd -Hx rm", "fd --exec rm", "fd --exec-batch rm", "fd -l", "fd *",
    "uniq -- f -out", "uniq -- f -c", "uniq - f", "uniq -c a b", "uniq *", "uniq src/*", "uniq $x", "uniq -f 1 a",
    "uniq --co a",
    "tree --output=f", "tree -ao f", "tree -aR -H x", "tree -R", "tree -of", "file -bC", "file -Cm x", "file --comp",
    "file -z x",
    "date -us 2020-01-01", "date --se x", "date --set=x", "date -d x 01010000", "date 0101", "date *", "date $x",
    "date -d x -s y",
    "date -d -s x", "date -f f x", "hostname -F f", "hostname -b x", "hostname $x", "ip link set x up", "ip a add x",
    "ip l a",
    "ip route a link", "ip netns exec x ls", "ip -b f", "ip addr flush", "ifconfig eth0 down", "ifconfig eth0",
    "arch -x86_64 rm x",
    "ss -D f", "ss -tE", "ss -tK", "lsof -r", "lsof +r", "lsof -Db", "lsof -i@evil.example", "netstat -c", "netstat -tc",
    "netstat 5", "free -s 1", "free -c 3", "tail -F x", "tail -fn 3 x", "tail -n3f x", "tail --follow x", "tail --pid=3 x",
    "tail *", "seq 1 99999999999", "seq 99999", "seq $x", "ps e", "ps eww", "ps auxe", "ps -o environ", "env", "printenv",
    "cat /proc/self/environ", "cat /proc/1/environ", "cat /dev/zero", "cat //dev/zero", "cat /./dev/zero",
    "cat ../../dev/zero",
    "cat < /dev/zero", "cat /dev/tty", "head /proc/self/root/dev/zero", "/usr/bin/../../tmp/ls", "/bin/../tmp/ls",
    "getent hosts x",
    "awk 1 f", "less f", "more f", "man ls", "tar -tf x", "xxd -r a b", "xxd a b", "zgrep x f", "yes", "top", "watch ls",
    "nslookup x", "ping x", "host x", "base64 -o f x", "yq -i . f", "perl -v", "vim x", "tee f", "nc x 1", "openssl version",
]  # fmt: skip
SHELL_CHANGES = [
    "test -v 'a[$(x)]'", "[ -v 'a[$(x)]' ]", "[[ -v a[0] ]]", "[[ 'a[$(x)]' -eq 0 ]]", "[ 'a[$(x)]' -eq 0 ]",
    "[[ $x -eq 0 ]]",
    "[ -n x -a 'a' ]", "[ a -o b ]", "test -t 'a[$(x)]'", "test -R x", "[ -o x ]", "[ $x = y ]", "[ -n $x ]", "[[ x =~ y ]]",
    '[ "$x" "$y" ]', "[ -f x", "[[ -f x ]", "[ a '<' b ]", "test ! -v x", "test -n a -v b", 'test "$x" y',
    "printf -v 'a[$(x)]' y", "printf -v PATH %s /tmp/b; ls", "printf -- -v", "printf '-v' x y", "printf $x", 'printf "$x" y',
    "printf '%d' 'a[$(x)]'", "printf %n PATH", "printf '%*s' x y", "printf '%1$d' x", "builtin printf -v PATH x; ls",
    "printf",
    "x='a[$(y)]'; echo $((x))", "echo $((1))", "echo $[1]", "((x=1))", "let x=1", "echo ${y:x}", 'echo "${x@P}"',
    "echo ${!x}",
    'echo "${x:=y}"', "echo ${a[x]}", "echo $x[y]", 'echo "$x[y]"', ": ${x:=1}", "echo ${x/a/b}", "echo ${#x}", "echo $'a'",
    'echo "$(rm x)"', "echo $(ls)", "echo `ls`", 'echo "`ls`"', "cat <(ls)", "cat <<E\nhi\nE", "cat <<<x", "(ls)", "{ ls; }",
    "while true; do ls; done", "for f in a b; do cat $f; done", "if ls; then ls; fi", "case x in x) ls;; esac",
    "until ls; do :; done",
    "f() { ls; }; f", "function f { ls; }", "ls() { rm x; }; ls", "alias ls=rm", "unalias ls", "ls &", "ls & rm x",
    "ls |& rm x",
    "! ls", "coproc ls", "exec ls", "eval ls", "source x", ". x", "set -x", "shopt -s x", "read x", "read PATH < f; ls",
    "unset x",
    "PATH=/x; ls", "path=/x ls", "x=1 ls", "A=1 ls", "L=/x ls", "LANG=$x ls", "LC_ALL=../../x ls", "TERM=x ls", "PAGER=x ls",
    "BASH_ENV=x ls", "LANG=C PATH=/x ls", "LD_PRELOAD=x cat f", "time LD_PRELOAD=x ls", "RIPGREP_CONFIG_PATH=x rg y",
    "export LANG=C", "env LANG=C ls", "env A=b -S 'rm x'", "nice ls", "builtin ls", "command ls", "command -p ls",
    "command -pv x",
    "timeout ls", "timeout -s KILL 5 ls", "timeout 5 git -C x status", "timeout 5", "time -o f ls", "time -a ls",
    "time", "timeout $x ls", "timeout 5 timeout 5 rm x", "ls > $x", "ls > /dev/nullx", "ls > /dev/null/../x", "ls 2> f",
    "ls 3> f", "ls >& f", "ls > /dev/sda", "ls >'/dev/null'x", "ls <> f", "cat < $x", "cat < $(ls)", "cat <&3", "exec 3<f",
    "l?", "l*", "[l]s", "{ls,x}", "$x y", '"$x" y', "~/ls", "ls 'x", 'ls "x', "ls \\", "ls x\\\nrm", "ls #x", "ls\rrm x",
    "ls \x0b x",
    "cat opts | xargs uniq", "cat names | xargs git diff", "cat x | xargs sed -n 1p", "cat x | xargs rg foo",
    "cat x | xargs find",
    "echo -delete | xargs find . -name x", "cat x | xargs sort", "cat x | xargs env", "cat x | xargs timeout 5",
    "cat x | xargs time",
    "cat x | xargs command", "cat x | xargs xargs", "cat x | xargs nice", "cat x | xargs printf", "cat x | xargs test -n",
    "cat x | xargs tail", "cat x | xargs date", "cat x | xargs hostname", "cat x | xargs file", "cat x | xargs tree",
    "xargs -a f rm", "xargs -I{} {} x", "xargs -I cat cat", "xargs -I % % x", "xargs -Icat cat x", "xargs -I{} sh -c {}",
    "xargs $x",
    "xargs -0", "xargs -n", "xargs --arg-file=f ls", "xargs -p ls", "xargs -n $x ls", "xargs -i{} ls", "xargs -e ls",
]  # fmt: skip
MAY_CHANGE += GIT_CHANGES + PROGRAMS_CHANGE + SHELL_CHANGES


def test_read_only_commands() -> None:
    assert [command for command in LOOKS if not is_read_only("exec", {"command": command})] == []


def test_commands_that_may_change_something() -> None:
    assert [command for command in MAY_CHANGE if is_read_only("exec", {"command": command})] == []


def test_plain_words_equal_those_of_the_parser() -> None:
    for command in LOOKS:
        found = plain(command)
        assert found is not None, command
        words = [word for program in found[0] for word in program]
        if all(word.kind in ("sure", "below") for word in words):
            runs = [run for run in read(command).runs if not run.via]
            known = [word for run in runs for word in (*(f"{name}={value}" for name, value in run.assigns), *run.argv)]
            assert [word.text for word in words if word.text != "time"] == known, command


@each_row(
    ("text", "kinds"),
    [
        ("a", ["sure"]),
        ("'a*' \"b?\" \\*", ["sure", "sure", "sure"]),
        ("a* ./* /*/x ~/*", ["below", "below", "below", "below"]),
        ("* ?a [a] -* '-'* ''*", ["open", "open", "open", "open", "open", "open"]),
        ('$x "$x" a"$x"b a$x ${x}', ["open", "one", "one", "open", "open"]),
        ('a*$x a*"$x" "$x"*', ["open", "open", "open"]),
        ('"a$" "\\$x" "\\\\$x" \\$x \'$x\'', ["sure", "sure", "one", "sure", "sure"]),
        ("[ ] '' ! x", ["sure", "sure", "sure", "sure", "sure"]),
    ],
)
def test_kinds_of_words(text: str, kinds: list[str]) -> None:
    found = plain(text)
    assert found is not None
    assert [word.kind for word in found[0][0]] == kinds


@each_row("command", ["a" * MAX_COMMAND, "time " * 799 + "ls", '"$x' * 1300, "\\x" * 1999, "[" * MAX_COMMAND])
def test_long_commands(command: str) -> None:
    assert is_read_only("exec", {"command": command}) is command.endswith(" ls")


@each_row(
    ("tool", "params", "looks"),
    [
        ("read", {"path": "x"}, True),
        ("openclaw:core:Read", {}, True),
        ("memory_search", {"query": "x"}, True),
        ("web_fetch", {"url": "https://example.org"}, True),
        ("process", {"action": "poll", "sessionId": "x"}, True),
        ("process", {"action": "list"}, True),
        ("process", {"action": "kill"}, False),
        ("process", {"action": ["poll"]}, False),
        ("process", None, False),
        ("bash", {"command": "ls"}, True),
        ("exec", {"command": "ls", "workdir": "/srv"}, True),
        ("exec", {"command": "git status", "workdir": "/srv"}, False),
        ("exec", {"command": "ls && git status", "cwd": "/srv"}, False),
        ("exec", {"command": "git status", "workdir": "", "timeout": 30, "background": True}, True),
        ("exec", {"command": "ls", "loader": "/x"}, False),
        ("session_status", {"model": "x"}, False),
        ("session_status", {}, True),
        ("exec", {"command": "ls", "env": {"PATH": "/x"}}, False),
        ("exec", {"command": "ls", "elevated": True}, False),
        ("exec", {"command": 3}, False),
        ("exec", None, False),
        ("write", {"path": "x", "content": ""}, False),
        ("edit", {}, False),
        ("message", {"action": "read"}, False),
        ("sessions_send", {}, False),
        ("get_weather", {}, False),
        ("", {}, False),
    ],
)
def test_tools(tool: str, params: Any, looks: bool) -> None:  # noqa: FBT001 - a column of the table
    assert is_read_only(tool, params) is looks
