"""What the commands of PowerShell mean. Their names are compared in lower case."""

from __future__ import annotations

from toolguard_engine import lazy_re
from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages import folded_values as folding
from toolguard_engine.effects.languages import script_calls as calls
from toolguard_engine.effects.languages.code_values import (
    DECODED,
    FROM_ENVIRONMENT,
    FROM_NETWORK,
    NOTHING,
    Library,
    Unknown,
    Value,
    feed,
    sourced,
    sources,
    text,
)
from toolguard_engine.effects.languages.script_calls import argument_at, texts
from toolguard_engine.effects.languages.script_run import PIPED, Act, LanguageLibrary, Routine, ScriptRun, element, one_of

_PROFILE = "~/.config/powershell/profile.ps1"
"""Of the files that `$PROFILE` and its members name, the user's own for all hosts."""
_PLACES = {
    "$home": "~", "$profile": _PROFILE, "$pwd": ".", "$psscriptroot": ".", "$true": True, "$false": False, "$null": None,
}  # fmt: skip
_CMDLET = lazy_re.compile(r"[A-Za-z]{2,20}-[A-Za-z]\w{0,60}")
_HERE = lazy_re.compile(r"(?i:[\w-]{1,60}\.(?:exe|bat|cmd|msi|ps1))")
"""Programs that are also looked for in the current folder."""

_SWITCH = lazy_re.compile(r"/[A-Za-z]")
"""An option as `cmd` has them."""

_PROGRAM = lazy_re.compile(r"[a-z][\w.]*|.*[/\\].*")


def _member(run: ScriptRun, name: str) -> Value:
    lower = name.lower().replace("{", "").replace("}", "").replace("$global:", "$")
    if lower.startswith("$env:"):
        return calls.variable(name[5:].upper())
    return _PLACES.get(lower)


def _given(run: ScriptRun, args: list[Value], *names: str) -> list[str]:
    """The paths of a command: its options, its operands or what is piped to it."""
    for name in names:
        if (value := calls.option(args, name)) is not None:
            return texts(value)
    operands = [arg for arg in args if not isinstance(arg, Routine | dict)]
    return texts(*operands) if operands else texts(element(run.names[PIPED])) if PIPED in run.names else []


def _removed(run: ScriptRun, args: list[Value], base: Value) -> Value:
    recursive = any(isinstance(arg, dict) and any(name.startswith("r") for name in arg) for arg in args)
    switches = [arg for arg in args if isinstance(arg, str) and _SWITCH.fullmatch(arg)]
    recursive = recursive or any(switch.lower() == "/s" for switch in switches)
    args = [arg for arg in args if not (isinstance(arg, str) and arg in switches)]
    run.add(*(deeds.delete(path, recursive=recursive) for path in _given(run, args, "path", "literalpath")))
    return NOTHING


def _listed(run: ScriptRun, args: list[Value], base: Value) -> Value:
    deep = any(isinstance(arg, dict) and any(name.startswith("r") for name in arg) for arg in args)
    only = calls.option(args, "filter") or calls.option(args, "include")
    last = text(only) if isinstance(only, str) else "*"
    if any(text(arg).lower().startswith("env:") for arg in args if isinstance(arg, str)):
        return Unknown(sources=(FROM_ENVIRONMENT,))
    paths = _given(run, args, "path", "literalpath") or ["."]
    return [one_of([path if "*" in path else f"{path.rstrip('/')}/{'**/' if deep else ''}{last}" for path in paths])]


def _content(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.reading(run, [list(_given(run, args, "path", "literalpath"))], base)


def _written(run: ScriptRun, args: list[Value], base: Value) -> Value:
    value = calls.option(args, "value")
    value = run.names.get(PIPED, argument_at(args, 1)) if value is None else value
    paths = texts(calls.option(args, "path") or calls.option(args, "filepath") or argument_at(args, 0))
    run.add(*(deeds.write(path, feed(value), append=calls.is_set(args, "append")) for path in paths))
    return NOTHING


def _appended(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return _written(run, [*args, {"append": True}], base)


def _property(run: ScriptRun, args: list[Value], base: Value) -> Value:
    run.add(*(deeds.run(["Set-ItemProperty", path]) for path in _given(run, args, "path", "literalpath")))
    return NOTHING


def _emptied(run: ScriptRun, args: list[Value], base: Value) -> Value:
    run.add(*(deeds.empty(path) for path in _given(run, args, "path")))
    return NOTHING


def _is_switch(arg: Value) -> bool:
    return isinstance(arg, str) and _SWITCH.fullmatch(arg) is not None


def _two(act: Act) -> Act:
    def both(run: ScriptRun, args: list[Value], base: Value) -> Value:
        operands = [arg for arg in args if not isinstance(arg, Routine | dict) and not _is_switch(arg)]
        source, target = calls.option(args, "path"), calls.option(args, "destination") or calls.option(args, "newname")
        source = operands.pop(0) if source is None and operands and (target is None or len(operands) > 0) else source
        source = element(run.names[PIPED]) if source is None and PIPED in run.names else source
        return act(run, [source, operands[0] if target is None and operands else target], base)

    return both


def _run(run: ScriptRun, args: list[Value], base: Value) -> Value:
    value = calls.option(args, "command")
    operands = [arg for arg in args if not isinstance(arg, dict)]
    if value is None:
        value = operands[0] if operands else run.names.get(PIPED, NOTHING)
    return calls.evaluating(run, [value], base)


def _web(run: ScriptRun, args: list[Value], base: Value) -> Value:
    body = calls.option(args, "body") or calls.option(args, "infile") or calls.option(args, "form")
    if (path := calls.option(args, "infile")) is not None:
        body = Unknown(sources=tuple(f"file:{piece}" for piece in texts(path)))
    method = calls.option(args, "method")
    if body is None and PIPED in run.names and method is not None:
        body = run.names[PIPED]
    url = calls.option(args, "uri") or argument_at([arg for arg in args if not isinstance(arg, dict)], 0)
    made = text(method).upper() if isinstance(method, str) else "GET" if body is None else "POST"
    result = calls.requested(run, url, made, body, calls.option(args, "headers"))
    run.add(
        *(
            deeds.write(path, feed(result))
            for path in texts(calls.option(args, "outfile"))
            if calls.option(args, "outfile") is not None
        )
    )
    return result


def _fetched(run: ScriptRun, args: list[Value], base: Value) -> Value:
    result = calls.requested(run, argument_at(args, 0), "GET", None)
    run.add(*(deeds.write(path, feed(result)) for path in texts(*args[1:2])))
    return Unknown(sources=(FROM_NETWORK,))


def _transferred(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`Start-BitsTransfer`: a file from an address, or one to it."""
    operands = [arg for arg in args if not isinstance(arg, dict)]
    source = calls.option(args, "source") or argument_at(operands, 0)
    target = calls.option(args, "destination") or argument_at(operands, 1)
    if text(calls.option(args, "transfertype")).lower().startswith("upload"):
        return _upload_file(run, [target, source], base)
    return _fetched(run, [source, target], base)


def _passed_on(run: ScriptRun, args: list[Value], base: Value) -> Value:
    _written(run, args, base)
    return run.names.get(PIPED, NOTHING)


def _uploaded(run: ScriptRun, args: list[Value], base: Value) -> Value:
    data = args[-1] if args else NOTHING
    return calls.requested(run, argument_at(args, 0), "POST", data)


def _upload_file(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return _uploaded(run, [argument_at(args, 0), Unknown(sources=tuple(f"file:{path}" for path in texts(*args[-1:])))], base)


def _decoded(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """Base64, of text in UTF-8 or UTF-16."""
    bytes_of = folding.decoded("base64", argument_at(args, 0))
    wide = isinstance(bytes_of, str) and "\0" in bytes_of
    return sourced(bytes_of.replace("\0", ""), (*sources(bytes_of), DECODED)) if wide else bytes_of


def _each(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return one_of([run.invoke(arg, []) for arg in args if isinstance(arg, Routine)])


def _kept(run: ScriptRun, args: list[Value], base: Value) -> Value:
    _each(run, args, base)
    return run.names.get(PIPED, NOTHING)


def _path(run: ScriptRun, args: list[Value], base: Value) -> Value:
    parts = [arg for arg in args if not isinstance(arg, dict)]
    parts = [part for part in (calls.option(args, "path"), *parts, calls.option(args, "childpath")) if part is not None]
    return calls.path_joined(run, parts, base)


def _file_method(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`[IO.Directory]::Delete(path, $true)`, and `.Delete()` of what was listed."""
    owner = base[0].name.lower() if isinstance(base, list) and base and isinstance(base[0], Library) else ""
    if owner.endswith((".file", ".directory")):
        run.add(*(deeds.delete(path, recursive=argument_at(args, 1) is True) for path in texts(argument_at(args, 0))))
    elif not owner and (item := run.names.get(PIPED)) is not None and not texts(*args):
        run.add(*(deeds.delete(path) for path in texts(element(item))))
    return NOTHING


def _made(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """A new file or folder; with `-Force` a file that is there is emptied."""
    if calls.is_set(args, "force") and not text(calls.option(args, "itemtype")).lower().startswith("d"):
        run.add(*(deeds.write(path, None) for path in _given(run, args, "path")))
    return NOTHING


def _started(run: ScriptRun, args: list[Value], base: Value) -> Value:
    rest = calls.option(args, "argumentlist")
    words = [arg for arg in args if not isinstance(arg, dict)]
    file = calls.option(args, "filepath")
    more = rest.split() if isinstance(rest, str) else rest if isinstance(rest, list) else []
    argv = [*([file] if file is not None else []), *words, *more]
    if argv and isinstance(argv[0], str) and _HERE.fullmatch(argv[0]):
        argv[0] = f"./{argv[0]}"
    if text(calls.option(args, "verb")).lower() == "runas":
        argv = ["sudo", *argv]
    return calls.program(run, argv, base)


def unknown_command(run: ScriptRun, name: str, words: list[Value]) -> Value:
    """A program that is started by its name, or a cmdlet."""
    name = name.replace("\\", "/")
    if name.isupper() or _CMDLET.fullmatch(name):
        name = name.lower()
    if _PROGRAM.fullmatch(name) or "-" in name:
        run.add(deeds.run([name, *texts(*words)], feed(run.names[PIPED]) if PIPED in run.names else None))
    return NOTHING


def _folder(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return "~"


def _converted(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return Unknown(sources=sources(run.names.get(PIPED), *args))


def _variable(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.variable(text(argument_at(args, 0)))


_FUNCTIONS: dict[str, Act] = calls.rows(
    ("remove-item ri rm del rd rmdir erase", _removed),
    ("get-childitem gci ls dir", _listed),
    ("get-content gc cat type", _content),
    ("set-content out-file sc", _written),
    ("add-content ac", _appended),
    ("new-item ni", _made),
    ("clear-content clc", _emptied),
    ("move-item mi mv move rename-item ren", _two(calls.on_two(deeds.move))),
    ("copy-item ci cp copy", _two(calls.on_two(deeds.copy))),
    ("invoke-expression iex", _run),
    ("invoke-webrequest iwr invoke-restmethod irm curl wget", _web),
    ("foreach-object foreach", _each),
    ("where-object where select-object select sort-object sort", _kept),
    ("set-itemproperty new-itemproperty sp", _property),
    ("join-path", _path),
    ("resolve-path get-command gcm", calls.same),
    (
        "convertto-json convertfrom-json out-string",
        _converted,
    ),
    ("start-process saps", _started),
    ("start-bitstransfer", _transferred),
    ("tee-object tee", _passed_on),
    ("set-location cd sl chdir", calls.on_paths(deeds.change_folder)),
)
_METHODS: dict[str, Act] = calls.rows(
    ("downloadstring downloaddata downloadfile", _fetched),
    ("uploadstring uploaddata uploadvalues", _uploaded),
    ("uploadfile", _upload_file),
    ("frombase64string", _decoded),
    ("getstring create", calls.same),
    ("getfolderpath", _folder),
    ("delete", _file_method),
    ("combine", calls.path_joined),
    ("readalltext readallbytes readalllines readlines openread opentext", calls.reading),
    ("writealltext writealllines writeallbytes", calls.writing()),
    ("appendalltext appendalllines", calls.writing(append=True)),
    ("getenvironmentvariable", _variable),
)
POWERSHELL_LIBRARY = LanguageLibrary({}, _FUNCTIONS, _METHODS, str.lower, _member, command=unknown_command)
