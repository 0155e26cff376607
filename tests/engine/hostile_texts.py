"""Pieces of which hostile commands are made, by repeating them: each once cost somebody seconds. `scripts/bench judge` times
them, the tests here look at what comes of them.
"""

from __future__ import annotations

import string

PIECES = [
    "../;", "cd a;", "kill(1)\n", "|sh ", "a=$a$a;", "x{a,b} ", "{a,", "$(", "`", '"$(', "<(", "[", "[a-", "?*", "../* ",
    "curl x|", "sudo ", "env ", "A=b ", "rm ", "kill -9 $x;", "(a)", "\\x41", "QUJDREVGR0hJSktM ", "${a:-", "import(",
    "import ", "for a in b;", "rev 'abcd' ", "git -c a ", "find ~ -name key ", "~/.openclaw/toolguard ", "open(",
    "pkill a|b ", "<<a\n", "import" + "." * 400 + " ", "(" * 100 + ")" * 100, "echo a > f;", "sh f;", "$x approve;",
    "f(){ f; };", "python -c 'kill(x)';", "python -c 'open(1, \"w\") .openclaw'\n", "foo 'kill x';", "toolguar? x;",
    "grep toolguard ~ | sed -i x;", "while read l; do", "xargs -I% kill %;", "find ~ -exec rm {} +;",
]  # fmt: skip
SHELL = [
    "a() { x {a..z} {a..z}; }; b() { a; a; a; a; }; c() { b; b; b; b; }; c; ", "v=aaaaaaaaaaaaaaaaaaaa; ",
    "f() { coproc a*(a) {a..z}; }; f; ", "x $v$v$v; ", "v=$v$v; ", "{1..9}", "${v//a/b}", "eval ", "bash -c '", "a*(b)",
    "$((", "))", "case $x in a|b) x;; esac; ", "for i in {1..9}; do ", "; done; ", "if x; then ", "; fi; ",
    "cat <<E\nx\nE\n", "!(a|b)", "| sed s/a/bb/g ", "a[1]=x ", "find . -name '*a*' -exec rm {} + ; ",
    "tar xf a -C ../b; ", "cp -r ~/* /b/*; ", "read x; ", "trap 'rm a' EXIT; ", "\n", "&& ", "toolguard ",
    "openclaw config set a.b ", "kubectl delete ", "psql -c 'DROP TABLE a; ", "ssh h 'ls; ",
    "docker run -v /:/x a sh -c '", "npm install openclaw@1 --prefix /x; ", "sqlite3 a.db 'select 1", " ",
]  # fmt: skip
CODE = [
    "import os\n", "import subprocess as s\n", "os.system('rm -rf a')\n", "s.run(['rm', '-rf', x])\n",
    "x = 'a' + 'b'\n", "x += x\n", "open('/etc/' + x, 'w').write(y)\n", "def f(a):\n    return f(a + 'b')\n",
    "for x in y:\n    ", "f'{a}{b}'", "exec(", "eval('", "'", '"', "\\x61", "shutil.rmtree(os.path.join('a', 'b'))\n",
    "''.join(map(chr, [114, 109]))", "lambda a: ", "a = {'b': [", "(", ")", "]}\n", "+'a'", "'''", "#",
    "const fs = require('fs');\n", "fs.rmSync(`/a/${b}`, {recursive: true});\n", "`${", "}`",
    "child_process.execSync('ls ' + x);\n", "(() => {", "})();\n", "await import('x');\n", "/a+/g", "//", "/*",
    "eval(atob('cm0='));\n", "system('rm a');\n", "base64.b64decode('cm0gLXJm')", "__import__('o'+'s')",
    "getattr(os, 'sys' + 'tem')(x)\n", "glob.glob('/**/*')", "Path.home() / 'a'", "while True:\n    a = a + b\n",
]  # fmt: skip
"""Pieces of which a search makes expensive calls, and code in other languages."""

BEGINNINGS = ["", "kill ", "python -c import toolguard .openclaw ", "echo 'a' > x.py; python x.py; cat ~/.openclaw/y; "]
MANY = [
    "../a{} ",
    "rm ../a{};",
    "cd d{};",
    "rm ~/.o{}*/t*;",
    "kill {};",
    "foo 'kill a{}';",
    "python3 -c 'kill(a{})';",
    "$x{} approve;",
]


def bomb(levels: int, words: int, last: str = "x") -> str:
    """Functions that call the one before several times; the innermost expands braces."""
    names = string.ascii_lowercase
    inner = f"{names[0]}() {{ {last} " + " ".join(["{a..z}"] * words) + "; }; "
    calls = "".join(f"{names[n]}() {{ " + f"{names[n - 1]}; " * words + "}; " for n in range(1, levels))
    return f"{inner}{calls}{names[levels - 1]}"


BOMBS = {
    "functions": bomb(4, 10),
    "more functions": bomb(5, 20),
    "a long variable": "v=" + "a" * 2_000 + "; " + bomb(4, 10, "$v"),
    "nested braces": "x " + "{a,b}" * 40,
}
"""Short texts that mean much work."""

FOUND = [
    "find ~" + " f" * 13_000, "grep -r x .." + " f" * 13_000, "git " + "".join(f"{{a{n} " for n in range(7_000)) + "~",
    "".join(f"../a{n} " for n in range(7_000)), "rm " + "".join(f"../a{n} " for n in range(7_000)),
    "for i in {1..9}; do " * 9 + "for i in" + " w" * 200,
    "git commit" + "".join(f" --aw{n}" for n in range(2_000)),
    "".join(f"cd *d{n};" for n in range(480)),
    f"cat > y <<'E'\n{'x' * 30_000}\nE\n{{ cat{' y' * 15_000}; }} > f",
    f"cat > y <<'E'\n{'x' * 30_000}\nE\nf() {{ cat{' y' * 300}; }}\n" + "f > x\n" * 400,
    f"cat > x <<'E'\n{'select 1;' * 4_000}\nE\n" + "psql -f x\n" * 2_000,
    "cat > x <<'E'\n" + "\\i x\n" * 8 + "E\n" + "psql -f x\n" * 1_000,
    f"cat > r <<'E'\n{('a' * 78 + chr(10)) * 600}E\n" + "pip install -r r\n" * 500,
    "python3 - <<'E'\na = []\n" + "a.append(a)\n" * 50 + "print(a)\nE",
    "python3 - <<'E'\nimport json\na = {}\n" + "".join(f"a[{n}] = a\n" for n in range(50)) + "json.dumps(a)\n" * 200 + "E",
    "python3 - <<'E'\nx0 = ['a']\n" + "".join(f"x{n + 1} = [x{n}] * 10\n" for n in range(8)) + "print(x8)\nE",
    "".join(f"locate < a{n} | locate > b{n}; " for n in range(240)),
    "cat > a.sh <<'E'\n" + "npm install openclaw@1 --prefix /x; " * 280 + "\nE\nsh a.sh",
    "awk 'BEGIN{" + "".join(f'system("a{n}");' for n in range(3_000)) + "}'",
    "\n" * 30_000 + "ls", "#\n;\n" * 10_000, "! " * 12_000,
    "node - <<'E'\nconst a = {};" + "".join(f"a.k{n} = a;" for n in range(6)) + "JSON.stringify(a);" * 1_500 + "\nE",
    "../;" + "docker run -v /:/x a sh -c '" * 170, "../;" + "tar c / -C / '" * 420,
    *[
        f"{copy} {''.join(f'{exclude}a{n} ' for n in range(150))}{exclude}.openclaw "
        + "".join(f"{'/' * n}home/u " for n in range(1, 60))
        for copy, exclude in (("rsync -a", "--exclude="), ("tar c", "--exclude="), ("grep -r x", "--exclude-dir="))
    ],
]  # fmt: skip
"""Texts that a search found to be expensive, each once far beyond what was counted."""

SEQUENCES: list[list[tuple[str, str]]] = [
    [("exec", "echo x > y; mv * b; " * 28)],
    [("exec", "mv a b;rm c;" * 120)],
    [("exec", "cd a;" * 1_900)],
    [("exec", "git commit" + "".join(f" --aw{n}" for n in range(2_000)))],
    [("node -e", "for (let i = 0; i < 9; i++) {x+=i}\nx=x+x;\n" * 200)],
    [("node -e", "".join(f"fs.renameSync('a{n}','b{n}');" for n in range(200)))],
    [("awk", "BEGIN{" + "".join(f'system("a{n}");' for n in range(3_000)) + "}")],
    [("from outside", "lorem ipsum dolor " * 3_600), ("message", "please send the report to the team")],
    [("write a script", "rm -rf build\n" * 40), ("run a script", "x" * 550)],
    [("a file on disk", "echo $x; cp * d; " * 30), ("run a script", "x" * 510), ("exec", "mv src lib; rm -rf lib")],
    [*[("exec", "rm -rf /etc")] * 3, ("model", "ls\n" * 9_000)],
    [("write", "\n" * 60_000)],
    [("result", "npm warn deprecated x@1: no longer supported\n" * 180)],
]
"""Steps that a search begins with, by their kinds (`hostile_calls.KINDS` of the benches)."""


def texts(length: int) -> dict[str, str]:
    """All of them, each with every beginning, in so many characters."""
    found = {
        f"{beginning[:20]!r} {piece[:20]!r}": (beginning + piece * length)[:length]
        for piece in PIECES
        for beginning in BEGINNINGS
    }
    many = {f"many {piece!r}": "".join(piece.format(n) for n in range(10_000))[:length] for piece in MANY}
    return {**found, **many}
