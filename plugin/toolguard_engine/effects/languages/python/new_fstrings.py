"""f-strings as Python 3.12 takes them, with any quotes and backslashes in their braces, for an engine on Python 3.11.

Each becomes a sum of its parts, `("a" + str(x) + "b")`, which every Python reads.
"""

from __future__ import annotations

from toolguard_engine import lazy_re

MAX_DEPTH = 3
MAX_CODE = 8_000
"""Characters: what is nested is gone through twice at each level."""
_LITERAL = lazy_re.compile(r"#[^\n]*|(?<!\w)([A-Za-z]{0,2})(\"\"\"|'''|\"|')")
_OPEN, _CLOSE = "([{", ")]}"


def as_sums(code: str, depth: int = 0) -> str:
    """The code with each f-string as a sum. One that does not end, or is too deep in others, is left as it is."""
    parts, at = [], 0
    while start := _LITERAL.search(code, at):
        parts.append(code[at : start.start()])
        text, end = _literal(code, start.start(), depth)
        parts.append(text)
        at = end
    return "".join((*parts, code[at:]))


def _literal(code: str, at: int, depth: int) -> tuple[str, int]:
    """The comment or the literal that begins here, and where it ends."""
    start = _LITERAL.match(code, at)
    if start is None:
        return code[at : at + 1], at + 1
    prefix, quote = start[1], start[2]
    if quote is None:
        return start[0], start.end()
    if "f" in prefix.lower() and depth < MAX_DEPTH:
        return _sum(code, start.end(), quote, depth, is_raw="r" in prefix.lower())
    end = start.end()
    while end < len(code) and not code.startswith(quote, end):
        end += 1 + (code[end] == "\\")
    end = min(end + len(quote), len(code))
    return code[at:end], end


def _sum(code: str, at: int, quote: str, depth: int, *, is_raw: bool) -> tuple[str, int]:
    opening = f"r{quote}" if is_raw else quote
    terms, text = [], ""
    while at < len(code) and not code.startswith(quote, at):
        pair = code[at : at + 2]
        if code[at] == "{" and pair != "{{":
            terms.append(f"{opening}{text}{quote}")
            expression, at = _expression(code, at + 1, depth)
            terms.append(f"str({as_sums(expression, depth + 1)}\n)")
            text = ""
        elif pair in ("{{", "}}") or pair[0] == "\\":
            text += pair if pair[0] == "\\" else pair[0]
            at += 2
        else:
            text += code[at]
            at += 1
    terms.append(f"{opening}{text}{quote}")
    return f"({' + '.join(terms)})", min(at + len(quote), len(code))


def _expression(code: str, at: int, depth: int) -> tuple[str, int]:
    """What stands in the braces, without `!r` and a format, and where they end."""
    start, end, level = at, -1, 0
    while at < len(code) and not (code[at] == "}" and level == 0):
        sign = code[at]
        if level == 0 and end < 0 and (sign == ":" or (sign == "!" and code[at + 1 : at + 2] != "=")):
            end = at
        level += (sign in _OPEN) - (sign in _CLOSE)
        at = _literal(code, at, depth + 1)[1] if end < 0 and _LITERAL.match(code, at) else at + 1
    expression = code[start : end if end >= 0 else at].rstrip()
    return expression.removesuffix("=") if not expression.endswith("==") else expression, at + 1
