"""What calls of scripting languages do, as far as languages share it. Each function makes an `Act` or is one."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator

from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages import folded_values as folding
from toolguard_engine.effects.languages.code_deeds import Deed
from toolguard_engine.effects.languages.code_values import (
    DECODED,
    FETCHERS,
    FROM_NETWORK,
    NOTHING,
    Library,
    Unknown,
    Value,
    choices,
    feed,
    is_known,
    sourced,
    sources,
    text,
)
from toolguard_engine.effects.languages.outside_values import address, carried, data_headers, logs_in
from toolguard_engine.effects.languages.outside_values import environment as variable
from toolguard_engine.effects.languages.script_run import (
    FROM_INPUT,
    MAX_CHOICES,
    Act,
    Routine,
    ScriptRun,
    distributed,
    element,
    one_of,
    printed,
)


def rows(*listed: tuple[str, Act]) -> dict[str, Act]:
    """One entry for each of the space-separated names of a row."""
    return {name: act for names, act in listed for name in names.split()}


def texts(*values: Value) -> list[str]:
    """The strings that values and the elements of lists may be."""
    names: list[str] = []
    for value in values:
        for choice in choices(value):
            if isinstance(choice, list | tuple):
                names += texts(*choice)
            elif not isinstance(choice, dict | bool | Routine):
                names.append(_word(choice))
    return names[:200]


def _word(value: Value) -> str:
    if isinstance(value, Unknown) and value.text:
        return value.text
    return text(value)


def argument_at(args: list[Value], place: int) -> Value:
    return args[place] if len(args) > place else NOTHING


def option(args: list[Value], name: str) -> Value:
    """A named argument: a member of an object among the arguments."""
    for arg in args:
        for choice in choices(arg):
            if isinstance(choice, dict) and name in choice:
                return choice[name]
    return None


def is_set(args: list[Value], name: str) -> bool:
    value = option(args, name)
    return value is not None and value is not False and text(value) not in ("false", "False", "0")


# --- files ----------------------------------------------------------------------------------------------------------------


def on_paths(make: Callable[[str], Deed], *, every: bool = False) -> Act:
    """A deed on the first argument, or on each of them."""

    def act(run: ScriptRun, args: list[Value], base: Value) -> Value:
        for path in texts(*(args if every else args[:1])):
            run.add(make(path))
        return NOTHING

    return act


def deleting(run: ScriptRun, args: list[Value], base: Value) -> Value:
    for path in texts(*args[:1]):
        run.add(deeds.delete(path, recursive=is_set(args[1:], "recursive")))
    return NOTHING


def tree(path: str) -> Deed:
    return deeds.delete(path, recursive=True)


def on_two(make: Callable[[str, str], Deed]) -> Act:
    def act(run: ScriptRun, args: list[Value], base: Value) -> Value:
        for source in texts(argument_at(args, 0)):
            for target in texts(argument_at(args, 1))[:4]:
                run.add(make(source, target))
        return NOTHING

    return act


def hard_link(source: str, target: str) -> Deed:
    return deeds.link(source, target, symbolic=False)


def writing(*, append: bool = False, data: int = 1) -> Act:
    def act(run: ScriptRun, args: list[Value], base: Value) -> Value:
        content = argument_at(args, data)
        for path in texts(argument_at(args, 0)):
            if not append and content == "":
                run.add(deeds.empty(path))
            else:
                run.add(deeds.write(path, feed(content), append=append))
        return NOTHING

    return act


def reading(run: ScriptRun, args: list[Value], base: Value) -> Value:
    names = texts(argument_at(args, 0))
    if names[:1] and names[0].startswith(("http://", "https://", "ftp://")):
        return requested(run, args[0], "GET", None)
    if names[:1] in (["0"], ["/dev/stdin"], ["php://stdin"], ["-"]):
        return FROM_INPUT
    run.add(*(deeds.read(path) for path in names))
    return Unknown(sources=(*(f"file:{path}" for path in names[:4]), *sources(argument_at(args, 0))))


def opened(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`open(path, "w")`; the mode may also be part of the path (`">x"`, `"cmd |"`)."""
    mode = "".join(texts(argument_at(args, 1))[:1])
    for path in texts(argument_at(args, 0)):
        if any(letter in mode for letter in "wax>+"):
            run.add(deeds.write(path, append="a" in mode or ">>" in mode))
        else:
            run.add(deeds.read(path))
    return Unknown(
        kind="file",
        sources=tuple(f"file:{path}" for path in texts(argument_at(args, 0))[:4]),
        text="".join(texts(argument_at(args, 0))[:1]),
    )


def listing(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """Names in a folder."""
    return ["**" if is_set(args[1:], "recursive") else "*"]


def listing_paths(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return [one_of([f"{path.rstrip('/')}/*" for path in texts(argument_at(args, 0))])]


def matching(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`glob(pattern)`."""
    return [one_of([word for path in texts(argument_at(args, 0)) for word in path.split()][:MAX_CHOICES])]


# --- paths and texts ------------------------------------------------------------------------------------------------------


def path_joined(run: ScriptRun, args: list[Value], base: Value) -> Value:
    joined: Value = args[0] if args else "."
    for part in args[1:20]:
        joined = distributed(lambda one, other: folding.path_join([one, _plain(other)]), joined, part)
    return joined


def _plain(part: Value) -> Value:
    """A part that is joined to a folder cannot lead to the home folder."""
    return part.lstrip("/") if isinstance(part, str) and not sources(part) and part[:1] == "/" else part


def resolved(run: ScriptRun, args: list[Value], base: Value) -> Value:
    joined: Value = args[0] if args else "."
    for part in args[1:20]:
        joined = distributed(lambda one, other: folding.path_join([one, other]), joined, part)
    return joined


def folded(fold: Callable[[Value], Value]) -> Act:
    def act(run: ScriptRun, args: list[Value], base: Value) -> Value:
        folded = [fold(choice) for choice in choices(argument_at(args, 0))]
        return one_of(folded)

    return act


def same(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """The first argument, in another form."""
    return argument_at(args, 0)


def itself(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """What the method belongs to, in another form; functions among the arguments get its elements."""
    for arg in args:
        if isinstance(arg, Routine):
            run.invoke(arg, [element(base), NOTHING])
    return base


def constant(value: Value) -> Act:
    return lambda *_: value


def encoded(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return Unknown(sources=sources(base, *args))


def as_json(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return folding.as_json(argument_at(args, 0))


def decoding(form: str) -> Act:
    def act(run: ScriptRun, args: list[Value], base: Value) -> Value:
        return folding.decoded(form, argument_at(args, 0))

    return act


def characters(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`fromCharCode(114, 109)`."""
    codes = [code for arg in args for code in (arg if isinstance(arg, list) else [arg])]
    if codes and all(isinstance(code, int) and 0 <= code < 0x110000 for code in codes):  # noqa: PLR2004 - Unicode
        return sourced("".join(map(chr, codes)), (DECODED,) if len(codes) > 1 else ())
    return Unknown(sources=(DECODED, *sources(*args)))


def mapped(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """A list of what a function returns for each element."""
    routine = next((arg for arg in args if isinstance(arg, Routine | Library)), None)
    if routine is None:
        return base
    values = base if isinstance(base, list) else [element(base)]
    return [run.call(routine, [value]) for value in values[:MAX_CHOICES]]


def for_each_text(run: ScriptRun, args: list[Value], base: Value) -> Value:
    mapped(run, args, base)
    return base


def then(run: ScriptRun, args: list[Value], base: Value) -> Value:
    routine = argument_at(args, 0)
    return run.call(routine, [base]) if isinstance(routine, Routine | Library) else base


def joined_by(run: ScriptRun, args: list[Value], base: Value) -> Value:
    sign = texts(argument_at(args, 0))[0] if args else ","
    if not isinstance(base, list):
        return path_joined(run, [base, *args], None) if isinstance(base, str) else Unknown(sources=sources(base))
    value: Value = ""
    for count, part in enumerate(base):
        value = run.concatenated(run.concatenated(value, sign if count else ""), part)
    return sourced(text(value), sources(value, base)) if isinstance(value, str) else value


def split_by(run: ScriptRun, args: list[Value], base: Value) -> Value:
    if not is_known(base):
        return [Unknown(sources=sources(base))] if not isinstance(base, str) else [base]
    sign = text(argument_at(args, 0)) if args else ""
    if sign[:1] == "/":
        sign = " "
    parts = str(base).split(sign) if sign and UNKNOWN not in sign else list(str(base)) if sign == "" else str(base).split()
    return [sourced(part, sources(base)) for part in parts[:200]]


def backwards(run: ScriptRun, args: list[Value], base: Value) -> Value:
    if isinstance(base, list):
        letters = len(base) > 1 and all(isinstance(one, str) and len(one) == 1 for one in base)
        return [sourced(one, (DECODED,)) for one in base[::-1]] if letters else base[::-1]
    return sourced(text(base)[::-1], (*sources(base), DECODED)) if is_known(base) else base


def replaced(run: ScriptRun, args: list[Value], base: Value) -> Value:
    old, new = argument_at(args, 0), argument_at(args, 1)
    if is_known(base) and is_known(old) and is_known(new) and text(old)[:1] != "/":
        if text(old) and len(base) * max(len(new), 1) < 1_000_000:  # noqa: PLR2004 - characters
            return sourced(str(base).replace(text(old), text(new)), sources(base, new))
        return base
    if isinstance(base, str) and text(old)[:1] == "/" and text(new)[:1] in (UNKNOWN, ""):
        return base
    return Unknown(sources=sources(base)) if base is not None else NOTHING


# --- programs -------------------------------------------------------------------------------------------------------------


def shell(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """A text that a shell runs."""
    folder = option(args[1:], "cwd")
    if "input" in sources(argument_at(args, 0)) and not texts(argument_at(args, 0))[0].strip(UNKNOWN + " "):
        run.add(deeds.run(["sh"], deeds.INPUT))
    if any(command.lstrip().startswith(UNKNOWN) for command in texts(argument_at(args, 0))):
        hidden(run, argument_at(args, 0))
    for command in texts(argument_at(args, 0)):
        if command.strip(UNKNOWN + " "):
            run.add(
                deeds.shell(
                    command, cwd=text(folder) if isinstance(folder, str) else "", within=sources(argument_at(args, 0))
                )
            )
        else:
            run.runs_unknown()
    shown = printed("".join(texts(argument_at(args, 0))[:1]))
    _back(run, args, shown)
    return shown


def _back(run: ScriptRun, args: list[Value], shown: Value) -> None:
    for arg in args:
        if isinstance(arg, Routine):
            run.invoke(arg, [NOTHING, shown, NOTHING])


def program(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """A program and its words: a list, or arguments. A single text goes to a shell."""
    words = list(_words(args))
    if is_set(args[1:], "shell"):
        return shell(run, [" ".join("".join(texts(word)[:1]) for word in words), *args[2:]], base)
    folder = option(args[1:], "cwd")
    for argv in _variants(words):
        if argv and argv[0].strip(UNKNOWN):
            run.add(deeds.run(argv, cwd=text(folder) if isinstance(folder, str) else "", within=sources(*words)))
        elif argv:
            run.runs_unknown()
    shown = printed(shlex.join("".join(texts(word)[:1]) for word in words)) if words else NOTHING
    _back(run, args, shown)
    return shown


def command_or_program(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`system("a b")` is for a shell, `system("a", "b")` and `system(["a", "b"])` are a program."""
    words = [arg for arg in args if not isinstance(arg, Routine | dict)]
    if len(words) == 1 and not isinstance(words[0], list):
        return shell(run, [*words, *args[1:]], base)
    return program(run, args, base)


def _words(args: list[Value]) -> Iterator[Value]:
    for arg in args:
        if isinstance(arg, list):
            yield from _words(arg[:200])
        elif not isinstance(arg, Routine | dict) and arg is not None and arg is not NOTHING:
            yield arg


def _variants(words: list[Value]) -> list[list[str]]:
    """The words of a program, once for each value of the one that has several."""
    variants: list[list[str]] = [[]]
    for word in words:
        values = texts(word) or [UNKNOWN]
        if len(values) > 1 and len(variants) * len(values) <= MAX_CHOICES:
            variants = [[*argv, value] for argv in variants for value in values]
        else:
            variants = [[*argv, values[0]] for argv in variants]
    return variants


def evaluating(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """Runs a text as code of the same language."""
    code = args[-1] if args and not isinstance(args[-1], dict) else argument_at(args, 0)
    if isinstance(code, Routine):
        return run.invoke(code, [])
    hidden(run, code)
    for each_text in choices(code):
        if is_known(each_text):
            return run.text(text(each_text))
    run.runs_unknown()
    return NOTHING


def hidden(run: ScriptRun, code: Value) -> None:
    """Text that runs but is not visible."""
    origin = sources(code)
    for source in origin:
        if source.startswith("file:"):
            run.load("", source.partition(":")[2])
    if deeds.FED in origin:
        run.add(deeds.run([run.library.program or "sh"], deeds.INPUT))
    if not FETCHERS.isdisjoint(origin):
        run.add(deeds.run_text("an address in the code", "fetched", "code"))
    elif DECODED in origin:
        run.add(deeds.run_text("decoded text in the code", "decoded", "code"))


# --- other machines -------------------------------------------------------------------------------------------------------


def requested(run: ScriptRun, url: Value, method: str, body: Value, headers: Value = None) -> Value:
    """A request. `body`: None if it has none."""
    make = deeds.request if body is None else deeds.send
    for one in choices(url):
        to = address(one)
        if to and logs_in(one, body, headers):
            run.add(deeds.log_in(to))
        run.add(make(to, method.upper() or "POST", carried(to, one, body, *data_headers(headers))))
    return Unknown("response", (FROM_NETWORK,))


__all__ = ["variable"]
