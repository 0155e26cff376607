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


def texts(length: int) -> dict[str, str]:
    """All of them, each with every beginning, in so many characters."""
    found = {
        f"{beginning[:20]!r} {piece[:20]!r}": (beginning + piece * length)[:length]
        for piece in PIECES
        for beginning in BEGINNINGS
    }
    many = {f"many {piece!r}": "".join(piece.format(n) for n in range(10_000))[:length] for piece in MANY}
    return {**found, **many}
