"""What names of Perl, Ruby, PHP, awk and Lua mean alike."""

from __future__ import annotations

from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages import folded_values as folding
from toolguard_engine.effects.languages import script_calls as calls
from toolguard_engine.effects.languages.code_values import (
    DECODED,
    NOTHING,
    Library,
    Unknown,
    Value,
    is_known,
    sources,
    text,
)
from toolguard_engine.effects.languages.script_calls import argument_at, texts
from toolguard_engine.effects.languages.script_run import (
    Routine,
    ScriptRun,
)

NAMED: dict[str, Value] = {
    "true": True, "false": False, "nil": None, "null": None, "undef": None, "TRUE": True, "FALSE": False, "NULL": None,
}  # fmt: skip


def fetched(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`get("https://...")`; nothing that is no address."""
    url = "".join(texts(argument_at(args, 0))[:1])
    return calls.requested(run, argument_at(args, 0), "GET", None) if "://" in url[:12] else run.unknown("get", args, base)


def posted(run: ScriptRun, args: list[Value], base: Value) -> Value:
    url = "".join(texts(argument_at(args, 0))[:1])
    body = args[1:] if len(args) > 2 else argument_at(args, 1)  # noqa: PLR2004 - the address and the data
    return calls.requested(run, argument_at(args, 0), "POST", body) if "://" in url[:12] else run.unknown("post", args, base)


def chmod(run: ScriptRun, args: list[Value], base: Value) -> Value:
    mode = text(argument_at(args, 0)).removeprefix("0o").removeprefix("0")
    run.add(*(deeds.permit(path, mode if mode.isdigit() else "u+rw") for path in texts(*args[1:])))
    return NOTHING


def formatted(run: ScriptRun, args: list[Value], base: Value) -> Value:
    first = argument_at(args, 0)
    return folding.formatted(first, tuple(args[1:])) if isinstance(first, str) else Unknown(sources=sources(*args))


def joined(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`join(",", list)`, `implode`."""
    parts = args[1] if len(args) == 2 and isinstance(args[1], list) else args[1:]  # noqa: PLR2004 - sign and list
    return calls.joined_by(run, args[:1], parts)


def backwards(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.backwards(run, [], args[0] if len(args) == 1 else args or base)


def unpacked(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`unpack("u", x)`, `"x".unpack1("m")`, `pack("H*", x)`."""
    words = [base, *args] if base is not None and not isinstance(base, Library) else args
    forms = [text(word) for word in words if isinstance(word, str) and len(word) <= 3]  # noqa: PLR2004 - letters of a format
    data = next((word for word in words if isinstance(word, str) and len(word) > 3), NOTHING)  # noqa: PLR2004 - as above
    form = "base64" if any(one[:1] in "mu" for one in forms) else "hex" if any(one[:1] in "Hh" for one in forms) else ""
    return folding.decoded(form, data) if form and is_known(data) else Unknown(sources=(DECODED, *sources(*words)))


def mapped_by_name(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`array_map("unlink", $list)`, `map { } @list`."""
    listed = next((arg for arg in args if isinstance(arg, list)), None)
    values = listed if listed is not None else [arg for arg in args if not isinstance(arg, Routine)][:16]
    routine = next((arg for arg in args if isinstance(arg, Routine | Library)), None)
    if routine is None and args and isinstance(args[0], str):
        routine, values = Library(args[0]), values if listed is not None else args[1:]
    if routine is None:
        return values
    mapped = []
    for value in values:
        run.names["$_"] = value
        mapped.append(run.call(routine, [value], base))
    return mapped


def name_of(value: Value) -> str:
    return value.name if isinstance(value, Library) else ""


TREE = calls.on_paths(calls.tree, every=True)
