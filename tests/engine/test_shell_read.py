"""All programs that a command runs, with wrappers and texts unwrapped."""

from __future__ import annotations

from tables import each_row
from toolguard_engine.effects.commands.unwrap import read
from toolguard_engine.effects.facts.command import UNKNOWN

U = UNKNOWN


def ran(command: str) -> list[str]:
    """The programs with their arguments, `?` for what is unknown, without those that only wrap others."""
    return [" ".join(run.argv).replace(U, "?") for run in read(command).runs]


LAST = {
    # quoting and words
    "rm -r 'a b'": "rm -r a b",
    "r\"m\" -r x": "rm -r x",
    "r\\m x": "rm x",
    "$'\\x72\\x6d' x": "rm x",
    "$'r\\155' x": "rm x",
    "rm\\\n -r x": "rm -r x",
    "rm${IFS}-r${IFS}x": "rm -r x",
    "rm$IFS-r$IFS'x'": "rm -r x",
    "{rm,-r,x}": "rm -r x",
    "rm -{r,f} {a..c}": "rm -r -f a b c",
    "echo {}": "echo {}",
    "echo a{b}c": "echo a{b}c",
    "rm !(keep)": "rm !*",
    "echo '$HOME' \"\\$HOME\"": "echo $HOME $HOME",
    "rm $HOME/x": "rm ~/x",
    "rm \"${HOME}\"/x": "rm ~/x",
    "rm x # and y": "rm x",
    "rm a#b": "rm a#b",
    # variables
    "A=rm B=x; $A $B": "rm x",
    "A='rm -r x'; $A": "rm -r x",
    "A='rm -r x'; \"$A\"": "rm -r x",
    "A=r; A+=m; $A x": "rm x",
    "export A=rm; $A x": "rm x",
    "A=xrmx; ${A:1:2} x": "rm x",
    "A=rm.txt; ${A%.txt} x": "rm x",
    "A=RM; ${A,,} x": "rm x",
    "A=B; B=rm; ${!A} x": "rm x",
    "${A:-rm} x": "rm x",
    "read A; rm $A": "rm ?",
    "rm $UNSET/x": "rm ?/x",
    "rm \"$1\"": "rm ?",
    # substitutions
    "$(echo rm) x": "rm x",
    "`echo rm` x": "rm x",
    "$(printf '%s%s' r m) x": "rm x",
    "$(echo cm0= | base64 -d) x": "rm x",
    "$(echo 726d | xxd -r -p) x": "rm x",
    "$(echo mr | rev) x": "rm x",
    "$(which rm) x": "rm x",
    "rm $(cat list)": "rm ?",
    "rm $(basename /a/b)": "rm b",
    "echo ${x:0:$(rm x)}": "echo ?",
    "/bin/r? x": "rm x",
    "r${X}m x": "rm x",
    "$SUDO rm x": "rm x",
    "\"$@\" rm x": "rm x",
    "!(rm x)": "rm x",
    "cat <<$'E'\na\nE\nrm x": "rm x",
    "cat <<E\\\nF\na\nEF\nrm x": "rm x",
    # what is run by others
    "sudo -u root rm x": "rm x",
    "sudo -- rm x": "rm x",
    "sudo A=b rm x": "rm x",
    "env -i -u B A=1 rm x": "rm x",
    "env -S 'rm x'": "rm x",
    "nohup nice -n 19 rm x": "rm x",
    "timeout -s KILL 5m rm x": "rm x",
    "timeout --signal KILL 5m rm x": "rm x",
    "time -p rm x": "rm x",
    "command rm x": "rm x",
    "exec -a y rm x": "rm x",
    "busybox rm x": "rm x",
    "chroot /mnt rm x": "rm x",
    "sh -c 'rm x'": "rm x",
    "bash -lc 'rm x'": "rm x",
    "bash -o pipefail -c 'rm x'": "rm x",
    "sh -c 'rm $0' x": "rm x",
    "sh -c 'rm $1' sh x": "rm x",
    "bash -c \"bash -c 'rm x'\"": "rm x",
    "eval 'rm x'": "rm x",
    "eval rm x": "rm x",
    "trap 'rm x' EXIT": "rm x",
    "su - u -c 'rm x'": "rm x",
    "su -c'rm x' u": "rm x",
    "runuser -u u -- rm x": "rm x",
    "ssh -p 22 u@h rm x": "rm x",
    "ssh h 'cd /; rm x'": "rm x",
    "docker exec -it -u root c rm x": "rm x",
    "docker run --rm -v a:b --name n img rm x": "rm x",
    "docker compose exec db rm x": "rm x",
    "kubectl exec -n ns pod -c c -- rm x": "rm x",
    "find . -name '*.o' -exec rm {} +": "rm ./?",
    "find /a /b -execdir rm {} \\;": "rm /b/?",
    "fd -e o -x rm": "rm ./?",
    "echo x | xargs rm": "rm x",
    "echo x | xargs -I{} rm a/{}": "rm a/x",
    "ls | xargs -0 -n 1 rm": "rm ?",
    "ls | xargs sh -c 'rm $0'": "rm ?",
    "parallel rm ::: x": "rm x",
    "ls | parallel rm {}": "rm ?",
    "watch -n 5 rm x": "rm x",
    "flock /tmp/l rm x": "rm x",
    "flock /tmp/l -c 'rm x'": "rm x",
    "script -qc 'rm x' /dev/null": "rm x",
    "npx rm x": "rm x",
    "uv run rm x": "rm x",
    "poetry run rm x": "rm x",
    "git -c alias.z='!rm x' z": "rm x",
    "git rebase --exec 'rm x' main": "rm x",
    "git submodule foreach 'rm x'": "rm x",
    "git bisect run rm x": "rm x",
    "git difftool --extcmd='rm x' HEAD": "rm x",
    "git filter-branch --index-filter='rm x' HEAD": "rm x",
    "git clone --config core.fsmonitor='rm x' u": "rm x",
    "git rebase --onto a b --exec='rm x' c": "rm x",
    "man -P'rm x' ls": "rm x",
    "gsplit --filter='rm x' f": "rm x",
    "tmux new-session -d 'rm x'": "rm x",
    "tar cf a.tar b --checkpoint-action=exec='rm x'": "rm x",
    "nix-shell -p git --run 'rm x'": "rm x",
    "echo 'rm x' | at now": "rm x",
    "python3 -c 'import os; os.system(\"rm x\")'": "rm x",
    "node -e 'require(\"child_process\").execSync(\"rm x\")'": "rm x",
    # what arrives at a shell
    "echo 'rm x' | sh": "rm x",
    "echo 'rm x' | sudo bash -s": "rm x",
    "printf 'rm %s' x | sh": "rm x",
    "sh <<< 'rm x'": "rm x",
    "sh <<X\nrm x\nX": "rm x",
    "cat <<X | sh\nrm x\nX": "rm x",
    "sh -s <<-X\n\trm x\n\tX": "rm x",
    "A=x; sh <<X\nrm $A\nX": "rm x",
    "source /dev/stdin <<< 'rm x'": "rm x",
    # options of shells
    "bash -euo pipefail -c 'rm x'": "rm x",
    "bash -co pipefail 'rm x'": "rm x",
    "bash -c -o pipefail 'rm x'": "rm x",
    "bash -c +x 'rm x'": "rm x",
    "bash -c -- 'rm x'": "rm x",
    "bash --norc -c 'rm x'": "rm x",
    "bash --rcfile f -c 'rm x'": "rm x",
    "sh -o errexit -c 'rm x'": "rm x",
    "zsh -o x -c 'rm x'": "rm x",
    "fish -C a -c 'rm x'": "rm x",
    "fish --command='rm x'": "rm x",
    "bash -euo pipefail <<< 'rm x'": "rm x",
    "bash -s a <<< 'rm x'": "rm x",
    "bash -s -- x <<< 'rm $1'": "rm x",
    "echo 'rm x' | bash -es -- a": "rm x",
    # text that was known before a program changed it
    "echo 'rm x' | head -1 | sh": "rm x",
    "echo 'rm x' | grep . | sh": "rm x",
    "echo 'rm x' | awk 1 | bash -s a": "rm x",
    "{ echo 'rm x'; date; } | sh": "rm x",
    "if a; then echo 'rm x'; fi | sh": "rm x",
    "cat <(echo 'rm x') | sh": "rm x",
    "bash <(echo 'rm x' | head -1)": "rm x",
    "echo 'rm x' | sh /dev/fd/0": "rm x",
    # files that the same command wrote
    "echo 'rm x' > s; sh s*": "rm x",
    "echo 'rm x' > s; . ./?": "rm x",
    "echo 'rm x' > s; find . -name s -exec sh {} \\;": "rm x",
    "echo 'rm x' > s; ls | xargs -n1 sh": "rm x",
    # outputs, descriptors, and files that are read back
    "echo 'rm x' | tee >(sh)": "rm x",
    "echo 'rm x' > >(sh)": "rm x",
    "echo 'rm x' | tee >(sh) $(true)": "rm x",
    "{ echo 'rm x'; } > >(sh)": "rm x",
    "sh 3<<<'rm x' <&3": "rm x",
    "sh /dev/fd/3 3<<<'rm x'": "rm x",
    "exec 3<<<'rm x'; sh <&3": "rm x",
    "exec <<<'rm x'; sh": "rm x",
    "exec < <(echo 'rm x'); sh": "rm x",
    "sh <<<'rm x' 3<<<'ls'": "rm x",
    "echo 'rm x' > s; eval \"$(<s)\"": "rm x",
    "echo 'rm x' > s; x=$(<s); $x": "rm x",
    "echo 'rm x' > s; $(<s)": "rm x",
    "echo 'rm x' | sponge s; sh s": "rm x",
    "echo 'rm x' | cp /dev/stdin s; sh s": "rm x",
    "exec 3>s; echo 'rm x' >&3; sh s": "rm x",
    "echo 'rm x' > s; chmod +x s; PATH=.:$PATH; s": "rm x",
    "echo 'rm x' > s; chmod +x s; PATH=.:$PATH s": "rm x",
    "echo 'rm x' > s; chmod +x s; export PATH=$PWD:$PATH; s": "rm x",
    "echo 'rm x' > s; $(ls)": "rm x",
    "printf 'all:\\n\\trm x\\n' > Makefile; make": "rm x",
    "printf 'all: ; rm x\\n' > Makefile; make all": "rm x",
    "printf 'A=rm\\nall:\\n\\t@$(A) x\\n' > m; make -f m": "rm x",
    "env -vS'rm x'": "rm x",
    "env -vS 'rm x'": "rm x",
    "env --split='rm x'": "rm x",
    "env --split-string 'rm x'": "rm x",
    "env --s='rm x'": "rm x",
    "env -iS 'rm x'": "rm x",
    "env -u A -S 'rm x'": "rm x",
    "env -S'rm\\_x'": "rm x",
    "env -S 'sh -c \"rm x\"'": "rm x",
    "echo x | xargs --max-lines rm": "rm x",
    "xargs -a <(echo x) rm": "rm x",
    "echo x > l; xargs -a l rm": "rm x",
    "script /dev/null <<< 'rm x'": "rm x",
    "echo 'rm x' | script -q /dev/null": "rm x",
    "echo 'rm x' | su -": "rm x",
    "$(echo 'rm x' | head -1)": "rm x",
    "x=$(echo 'rm x' | head -1); $x": "rm x",
    "sh <<< \"$(echo 'rm x' | head -1)\"": "rm x",
    "echo 'rm x' > s; head -1 s | sh": "rm x",
    "echo 'rm x' > s; head -1 < s | sh": "rm x",
    "echo 'rm x' > s; cat s* | sh": "rm x",
    "echo 'rm x' > s; cp s t; sh t": "rm x",
    "echo 'rm x' > s; cat s | sh": "rm x",
    "echo 'rm x' > s; sh < s": "rm x",
    "echo 'rm x' > s; sh < s*": "rm x",
    "echo 'rm x' > s; bash -c \"$(cat s)\"": "rm x",
    "$(tail -n1 <<< sh) -c 'rm x'": "rm x",
    "$(echo /bin/sh | tail -n1) -c 'rm x'": "rm x",
    "ln -s /bin/sh q; ./q -c 'rm x'": "rm x",
    "cp /bin/bash q; ./q -c 'rm x'": "rm x",
    "make -f - <<< 'a:;rm x'": "rm x",
    "make -f /dev/null --eval 'a:;rm x' a": "rm x",
    "git grep -O'rm x' a": "rm x",
    "mapfile -C 'rm x' -c 1 a <<< x": "rm x",
    "compgen -C 'rm x' a": "rm x",
    "echo 'rm x' | dd of=s; sh s": "rm x",
    "printf '#!/usr/bin/env python3\\nimport os; os.system(\"rm x\")\\n' > p; chmod +x p; ./p": "rm x",
    "printf '#!/bin/bash -e\\nrm x\\n' > p; chmod +x p; ./p": "rm x",
    # compound commands
    "if true; then rm x; fi": "rm x",
    "while true; do rm x; done": "rm x",
    "for f in x; do rm $f; done": "rm x",
    "for ((i=0;i<3;i++)); do rm x; done": "rm x",
    "case $a in b) ls;; *) rm x;; esac": "rm x",
    "{ rm x; }": "rm x",
    "(cd a && rm x)": "rm x",
    "f() { rm \"$1\"; }; f x": "rm x",
    "function f { rm x; }; f": "rm x",
    "f() { rm x; }": "rm x",
    "alias r='rm -r'; r x": "rm -r x",
    "[[ -e x ]] && rm x": "rm x",
    "ls |\n rm x": "rm x",
    "ls |\n\n\t# then\n rm x": "rm x",
    "ls; rm x &": "rm x",
    "! rm x": "rm x",
    "until rm x\ndo :\ndone": ":",
    "select f in x; do rm $f; done": "rm x",
    "time -p -- { rm x; }": "rm x",
    "time -v -o f rm x": "rm x",
    "time '-p' rm x": "rm x",
}  # fmt: skip


def test_the_last_program_that_runs() -> None:
    found = {command: (ran(command)[-1], bool(read(command).flaws)) for command in LAST}
    assert found == {command: (last, False) for command, last in LAST.items()}


@each_row("between", ["\n", "\n\n", " # a\n", "\n # a\n\n  ", "\\\n\n", "&\n\n"])
def test_a_pipeline_continues_behind_lines_without_a_command(between: str) -> None:
    runs = read(f"ls |{between}sh").runs
    assert [run.piped for run in runs] == [True, False]
    assert runs[0].pipeline == runs[1].pipeline


@each_row("ends", ["\n", "\n\n", " # |\n", " \\|\n", " '|'\n", ";\n\n"])
def test_a_line_that_ends_in_no_pipe_ends_the_pipeline(ends: str) -> None:
    assert not read(f"ls{ends}sh").runs[0].piped


ALL = {
    "echo $((1+$(rm x)))": ["rm x", "echo 0"],
    "diff <(rm x) y": ["rm x", "diff ? y"],
    'echo "a $(rm x) b" > `rm y`': ["rm y", "rm x", "echo a ? b"],
    "cat <<X\n$(rm x)\nX": ["rm x", "cat"],
    "echo ${a[$(rm x)]}": ["rm x", "echo ?"],
    "a[$(rm x)]=1": ["rm x", ":"],
    "echo \"${a:-'$(rm x)'}\"": ["rm x", "echo '?'"],
    'case a in "$(rm x)") b ;; `rm y`) c ;; esac': ["rm x", "rm y", "b", "c"],
    "cat <<'X'\n$(rm x)\nX": ["cat"],
    "echo 'rm x'": ["echo rm x"],
    "A='rm x'": [":"],
    "if [ -f a ]; then rm a; else rm b; fi": ["[ -f a ]", "rm a", "rm b"],
    "if a; then T=/; else T=/tmp; fi; rm $T": ["a", ":", ":", "rm /", "rm /tmp"],
    "for f in a b; do rm $f; done": ["rm a", "rm b"],
    "xargs rm < list": ["xargs rm", "rm ?"],
    "> x": [":"],
    "rm x; }; rm y": ["rm x", "rm y"],
    "": [],
    "   \n\t # nothing\n": [],
}


@each_row(("command", "expected"), ALL.items(), ids=list(ALL))
def test_all_programs_that_run(command: str, expected: list[str]) -> None:
    assert ran(command) == expected


@each_row(
    ("command", "via"),
    [
        ("sudo env A=1 nice rm x", ("sudo", "env", "nice")),
        ("ssh h 'sudo rm x'", ("ssh", "sudo")),
        ("bash -c 'echo $(rm x)'", ("bash", "$()")),
        ("f() { rm x; }; f", ("()",)),
        ("rm x", ()),
    ],
)
def test_wrappers(command: str, via: tuple[str, ...]) -> None:
    assert next(run.via for run in read(command).runs if run.name == "rm") == via


@each_row(
    ("command", "cwd"),
    [
        ("rm x", ""), ("cd a; rm x", "a"), ("cd /a && cd b && rm x", "/a/b"), ("(cd /a); rm x", ""), ("cd; rm x", "~"),
        ("cd $X && rm x", U), ("cd -; rm x", U), ("pushd /a; rm x", "/a"), ("bash -c 'cd /a; rm x'", "/a"),
        ("cd /a; ssh h rm x", ""),
    ],
)  # fmt: skip
def test_working_directory(command: str, cwd: str) -> None:
    assert next(run.cwd for run in read(command).runs if run.name == "rm") == cwd


def test_pipelines_and_feeds() -> None:
    curl, sed, shell = read("curl -s https://a.test/x | sed s/a/b/ | sh; true").runs[:3]
    assert (curl.piped, sed.piped, shell.piped) == (True, True, False)
    assert curl.pipeline == sed.pipeline == shell.pipeline
    assert shell.stdin is not None
    assert shell.stdin.programs == ("curl", "sed")


def test_sources_of_words() -> None:
    run = next(run for run in read('sh -c "$(curl -s https://a.test)"').runs if run.name == "sh")
    assert [(at, feed.programs) for at, feed in run.given] == [(2, ("curl",))]


@each_row(
    ("command", "flaw"),
    [
        ("echo 'a", "broken"), ('echo "a', "broken"), ("echo $(a", "broken"), ("(a", "broken"), ("if a; then b", "broken"),
        ("a )", "broken"), ("cat <<X\na", "broken"), ("f('x')", "broken"), ("echo " + "$(" * 60, "deep"),
        ("eval " * 60, "deep"), ("sudo " * 60 + "ls", "deep"), ("a;" * 900, "long"),
        ("rm {a..z}{a..z}", "long"), ("rm {1..9}{1..9}{1..9}", "long"), ("rm {1..6500}", ""),
        ("A=ab;" + "A=$A$A;" * 40 + "$A", ""),
    ],
    ids=range(16),
)  # fmt: skip
def test_flaws(command: str, flaw: str) -> None:
    assert read(command).flaws == ({flaw} if flaw else set())


def test_fork_bombs() -> None:
    for text in (":(){ :|:& };:", "bomb() { bomb | bomb & }; bomb", "f(){ f & f; };f"):
        assert "fork-bomb" in [run.name for run in read(text).runs]
    assert "fork-bomb" not in [run.name for run in read('walk() { for d in a; do walk "$d"; done; }; walk .').runs]


@each_row(
    "command",
    [
        "echo './s' > s; ./s", "printf '#!s\\n' > s; PATH=. s", "printf '#!/a/?\\n' > s; ./s; s*", "echo '. s' > s; . s",
        "echo a | " + "tee >(" * 12 + "sh" + ")" * 12, "f() { f > >(f); }; f > >(f)", "exec 3<&3; sh <&3",
    ],
    ids=range(7),
)  # fmt: skip
def test_recursion_ends(command: str) -> None:
    assert len(read(command).runs) <= 2_000


def test_variables_of_the_call_itself() -> None:
    assert [run.argv for run in read("$T x", (("T", "rm"),)).runs] == [("rm", "x")]


def test_a_sentinel_in_the_text_is_not_a_sentinel() -> None:
    assert ran(f"rm a{U}b") == ["rm a?b"]
