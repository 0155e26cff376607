"""What the names of Perl mean."""

from __future__ import annotations

import re

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages import folded_values as folding
from toolguard_engine.effects.languages import script_calls as calls
from toolguard_engine.effects.languages.code_values import (
    NOTHING,
    Unknown,
    Value,
    feed,
    text,
)
from toolguard_engine.effects.languages.common_calls import (
    NAMED,
    backwards,
    chmod,
    fetched,
    formatted,
    joined,
    mapped_by_name,
    name_of,
    posted,
    unpacked,
)
from toolguard_engine.effects.languages.script_calls import argument_at, texts
from toolguard_engine.effects.languages.script_run import (
    FROM_INPUT,
    Act,
    LanguageLibrary,
    Routine,
    ScriptRun,
    one_of,
)


def _downloaded(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`getstore(url, path)`."""
    result = fetched(run, args, base)
    run.add(*(deeds.write(path, feed(result)) for path in texts(argument_at(args, 1))))
    return result


def _filtered(run: ScriptRun, args: list[Value], base: Value) -> Value:
    mapped_by_name(run, args, base)
    return [
        arg_part for arg in args if not isinstance(arg, Routine) for arg_part in (arg if isinstance(arg, list) else [arg])
    ]


_MODE = lazy_re.compile(r"\s*(\+?[<>]{1,2}|\|)?\s*(.*?)\s*(\|?)\s*\Z", re.DOTALL)


def _mode_and_path(word: str) -> tuple[str, str]:
    """The two parts of `">$path"`, `"cmd |"`."""
    match = _MODE.match(word)
    sign, path, after = (match[1] or "", match[2], match[3]) if match else ("", word, "")
    return "|" if sign == "|" or after else sign or "<", path


def _perl_open(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`open(my $f, ">", $path)`, `open(F, ">$path")`, `open(P, "cmd |")`."""
    mode, given = text(argument_at(args, 1)), argument_at(args, 2) if len(args) > 2 else None  # noqa: PLR2004 - handle, mode, path
    if given is None:
        mode, given = _mode_and_path(mode)
    if "|" in mode or "-" in mode:
        return calls.command_or_program(run, [given, *args[3:]], base)
    paths = texts(given)
    for path in paths:
        run.add(deeds.write(path, append=">>" in mode) if ">" in mode or "+" in mode else deeds.read(path))
    value = Unknown(sources=tuple(f"file:{path}" for path in paths[:4]) if ">" not in mode else ())
    if name_of(argument_at(args, 0)):
        run.names[name_of(args[0])] = value
    return value


def _perl_opendir(run: ScriptRun, args: list[Value], base: Value) -> Value:
    if name_of(argument_at(args, 0)):
        run.names[name_of(args[0])] = ["*"]
    return NOTHING


def _perl_find(run: ScriptRun, args: list[Value], base: Value) -> Value:
    wanted = calls.option(args, "wanted")
    routine = next((arg for arg in [wanted, *args] if isinstance(arg, Routine)), None)
    paths = [f"{path.rstrip('/')}/**" for arg in args if not isinstance(arg, Routine | dict) for path in texts(arg)]
    run.names["$_"] = run.names["$File::Find::name"] = one_of(list(paths))
    return run.invoke(routine, []) if routine else NOTHING


def _shifted(run: ScriptRun, args: list[Value], base: Value) -> Value:
    held = args[0] if args and isinstance(args[0], list) else run.names.get("@_")
    return held.pop(0) if isinstance(held, list) and held else NOTHING


def _perl_member(run: ScriptRun, name: str) -> Value:
    return calls.variable(name[5:]) if name.startswith("%ENV.") else None


def _unlinked(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.on_paths(deeds.delete, every=True)(run, args or [run.names.get("$_", NOTHING)], base)


def _evaluated(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.evaluating(run, args or [run.names.get("$_", FROM_INPUT)], base)


_PERL: dict[str, Act] = calls.rows(
    ("unlink", _unlinked),
    ("rmdir", calls.on_paths(deeds.delete)),
    ("truncate", calls.on_paths(deeds.empty)),
    (
        "rmtree remove_tree File::Path::rmtree File::Path::remove_tree pathrmdir pathrm",
        calls.on_paths(calls.tree, every=True),
    ),
    ("system exec", calls.command_or_program),
    ("readpipe", calls.shell),
    ("open", _perl_open),
    ("opendir", _perl_opendir),
    ("readdir", calls.constant("*")),
    ("find finddepth File::Find::find", _perl_find),
    ("glob bsd_glob", calls.matching),
    ("rename move", calls.on_two(deeds.move)),
    ("copy", calls.on_two(deeds.copy)),
    ("symlink", calls.on_two(deeds.link)),
    ("link", calls.on_two(calls.hard_link)),
    ("chmod", chmod),
    ("chdir", calls.on_paths(deeds.change_folder)),
    ("eval", _evaluated),
    ("decode_base64 MIME::Base64::decode_base64 MIME::Base64::decode", calls.decoding("base64")),
    ("pack unpack", unpacked),
    ("join", joined),
    ("sprintf", formatted),
    ("reverse", backwards),
    ("lc uc scalar sort path", calls.same),
    ("chr", calls.characters),
    ("keys values encode_base64 encode_json", calls.encoded),
    ("get LWP::Simple::get", fetched),
    ("getstore", _downloaded),
    ("shift", _shifted),
    ("map", mapped_by_name),
    ("grep", _filtered),
    ("dirname", calls.folded(folding.parent)),
    ("basename", calls.folded(folding.base)),
    ("File::Spec.catfile File::Spec.catdir catfile catdir", calls.path_joined),
    ("File::HomeDir.my_home", calls.constant("~")),
    ("getcwd cwd", calls.constant(".")),
    ("getpwuid getpwnam", calls.constant([*[UNKNOWN] * 7, "~", "/bin/sh"])),
    ("tempdir tempfile", calls.constant(deeds.TEMPORARY)),
)
_PERL_METHODS: dict[str, Act] = calls.rows(
    ("get", fetched),
    ("post put post_form request", posted),
    ("remove_tree decoded_content content new close print", calls.itself),
)
PERL_LIBRARY = LanguageLibrary(
    {**NAMED, "@ARGV": [NOTHING], "$0": "script.pl", "STDIN": FROM_INPUT, "$_": FROM_INPUT},
    _PERL,
    _PERL_METHODS,
    member=_perl_member,
    environment=frozenset({"%ENV"}),
    program="perl",
    alone=frozenset({"unlink", "eval"}),
)
