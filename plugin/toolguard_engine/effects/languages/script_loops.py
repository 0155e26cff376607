"""Endless loops of scripts that never pause and start programs, write, ask other machines or use up the memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set

from toolguard_engine.effects.facts.place_names import word_set
from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages.awk.awk_syntax import AWK
from toolguard_engine.effects.languages.code_deeds import Deed
from toolguard_engine.effects.languages.perl.perl_syntax import PERL
from toolguard_engine.effects.languages.ruby.ruby_syntax import RUBY
from toolguard_engine.effects.languages.script_syntax import Syntax
from toolguard_engine.effects.languages.script_tokens import Token, begins_value, is_key

MAX_BODY = 400
_NEVER_ENDING = {"while": (["true"], ["1"]), "until": (["false"], ["0"]), "for": ([";", ";"],)}
_LEAVES = word_set(
    "break return throw die last exit raise yield await abort sleep usleep nanosleep wait waitpid select poll gets"
    " getline readline read recv accept shift pop next setTimeout STDIN Sleep Accept Read Scan Wait ReadString"
)
"""What ends a loop or waits in it, in any language."""

# Methods by their last part, of values that are not known. What the functions of a language do, its page says.
_STARTS = word_set("spawn exec execFile fork system popen shell_exec passthru proc_open execute")
_ASIDE = frozenset({"spawn", "fork"})
"""Starts that the loop does not wait for."""
_WRITES = word_set(
    "write appendFile writeFile syswrite fwrite fputs file_put_contents binwrite outputFile Write WriteString"
)
_ASKS = word_set("fetch request curl_exec axios")
_GROWS = word_set("push unshift")
_SHOWN = frozenset({"Stdout", "Stderr", "stdout", "stderr", "STDOUT", "STDERR", "$stdout", "$stderr"})
_CONDITIONS = frozenset({"if", "unless"})
_LOOPS = frozenset({"while", "until", "for"})
"""Their block is that of the `do` behind them, or none is counted."""

_BOUNDARIES = frozenset({";", "{", "}", "do", "then", "else", "BEGIN"})


Kinds = Callable[[str], Set[str]]
"""What a function does, by its full name: `starts` a program, `writes` a file, `asks` another machine."""


def endless(tokens: list[Token], syntax: Syntax, kinds_of: Kinds) -> Iterator[tuple[int, Deed | None]]:
    """What endless loops in these tokens do: for each, how many tokens its body has, and what it does, if anything."""
    kinds = syntax.keywords.kinds
    words = ((kinds["passed"] | kinds["loops"]) & _NEVER_ENDING.keys()) | kinds["forever"]
    for at, token in enumerate(tokens):
        if token.kind == "name" and token.text in words:
            start = _body_start(tokens, at, kinds["forever"])
            if start:
                body = _body(tokens, at, start, syntax)
                does = _does(body, syntax, kinds_of)
                yield len(body) + 1, deeds.other("load", does) if does else None


def _body_start(tokens: list[Token], at: int, forever: Set[str]) -> int:
    """Where the body of a loop begins whose condition never fails; 0 for any other loop."""
    kind, after = tokens[at].text, tokens[at + 1] if at + 1 < len(tokens) else None
    if after is None:
        return 0
    if kind in forever:
        return at + 1 if after.text in ("do", "{") else 0
    in_brackets = after.text == "(" and after.match > at
    condition = tokens[at + 2 : min(after.match, at + 5)] if in_brackets else [after]
    if [token.text for token in condition] not in _NEVER_ENDING[kind]:
        return 0
    return after.match + 1 if in_brackets else at + 2


def _body(tokens: list[Token], at: int, start: int, syntax: Syntax) -> list[Token]:
    before = tokens[at - 1] if at else None
    if (
        before is not None
        and before.text == "}"
        and (opened := _opening(tokens, at - 1))
        and tokens[opened - 1].text == "do"
    ):
        return tokens[opened:at]
    if syntax in (PERL, RUBY) and before is not None and before.kind != "end" and before.text not in _BOUNDARIES:
        return tokens[_before(tokens, at) : at]  # `print F "x" while 1`
    if start < len(tokens) and tokens[start].text == "{" and tokens[start].match > start:
        return tokens[start : min(tokens[start].match, start + MAX_BODY)]
    return tokens[start : _end(tokens, start, syntax)]


def _opening(tokens: list[Token], close: int) -> int:
    return next((at for at in range(close - 1, max(close - MAX_BODY, 0), -1) if tokens[at].match == close), 0)


def _before(tokens: list[Token], at: int) -> int:
    first = max(at - MAX_BODY, 0)
    while at > first and tokens[at - 1].kind != "end" and tokens[at - 1].text not in _BOUNDARIES:
        at -= 1
    return at


def _opened(tokens: list[Token], at: int, syntax: Syntax) -> int:
    """Says by how much a word changes the depth of blocks."""
    word = tokens[at].text
    if tokens[at].kind != "name" or is_key(tokens, at, syntax):
        return 0
    if word == syntax.closes:
        return -1
    opens = word in syntax.keywords.kinds["blocks"] - _LOOPS
    return int(opens and (word not in _CONDITIONS or begins_value(tokens, at, syntax)))


def _end(tokens: list[Token], start: int, syntax: Syntax) -> int:
    """The end of a single statement, or the word that closes a block."""
    counted = start < len(tokens) and tokens[start].text == "do" and "do" in syntax.keywords.kinds["blocks"]
    depth = 0 if counted else 1
    at = start
    while at < min(len(tokens), start + MAX_BODY):
        token = tokens[at]
        if syntax.closes:
            depth += _opened(tokens, at, syntax)
            if not depth:
                break
        elif token.kind == "end" or token.text == ";":
            break
        at = token.match + 1 if token.match > at and not syntax.closes else at + 1
    return at


def _does(body: list[Token], syntax: Syntax, kinds_of: Kinds) -> str:
    names = {token.text.rpartition(".")[2].removesuffix("Sync") for token in body if token.kind == "name"}
    waits = any("sleep" in token.text and "&" not in token.text for token in body if token.kind != "name")
    if names & (_LEAVES | syntax.keywords.kinds["leaves"]) or (waits and not names & _ASIDE):
        return ""
    kinds = {kind for name in _full_names(body, syntax) for kind in kinds_of(name)}
    if names & _STARTS or "starts" in kinds or any(token.kind == "command" for token in body):
        return "starts programs endlessly"
    if ((names & _WRITES or "writes" in kinds) and not names & _SHOWN) or _prints_to_file(body, syntax):
        return "writes endlessly"
    if names & _ASKS or "asks" in kinds:
        return "sends requests to another machine endlessly"
    return "uses up all memory" if names & _GROWS else ""


def _full_names(body: list[Token], syntax: Syntax) -> set[str]:
    """The names in a body, with a dot between their parts."""
    names, last = set(), ""
    for at, token in enumerate(body):
        if token.kind == "name":
            is_member = at > 1 and body[at - 1].text in syntax.members and body[at - 2].kind == "name"
            last = f"{last}.{token.text}" if is_member else token.text
            names.add(last.replace("::", "."))
    return names


def _prints_to_file(body: list[Token], syntax: Syntax) -> bool:
    """`print F "x"`, `f.puts "x"`, `print "x" > "file"`."""
    for at, token in enumerate(body[:-1]):
        if syntax is PERL and token.text in ("print", "printf", "say") and body[at + 1].kind == "name":
            handle = body[at + 1].text
            if handle not in _SHOWN and handle.isidentifier() and handle.isupper():
                return True
        if syntax is RUBY and token.text == "." and body[at + 1].text in ("puts", "print", "<<"):
            return True
        if syntax is AWK and token.text in (">", ">>") and any(printed.text in ("print", "printf") for printed in body[:at]):
            return True
    return False
