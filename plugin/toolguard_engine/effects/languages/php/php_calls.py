"""What the names of PHP mean."""

from __future__ import annotations

from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages import folded_values as folding
from toolguard_engine.effects.languages import script_calls as calls
from toolguard_engine.effects.languages.code_values import (
    NOTHING,
    Unknown,
    Value,
    text,
)
from toolguard_engine.effects.languages.common_calls import (
    NAMED,
    TREE,
    backwards,
    chmod,
    formatted,
    joined,
    mapped_by_name,
    name_of,
)
from toolguard_engine.effects.languages.script_calls import argument_at, texts
from toolguard_engine.effects.languages.script_run import (
    ENVIRONMENT,
    FROM_INPUT,
    Act,
    LanguageLibrary,
    ScriptRun,
    one_of,
)


def _php_name(name: str) -> str:
    return name.lstrip("\\")


def _php_getenv(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.variable(text(args[0])) if args else ENVIRONMENT


def _php_member(run: ScriptRun, name: str) -> Value:
    owner, _, last = name.partition(".")
    return calls.variable(last) if owner in ("$_ENV", "$_SERVER") and last else None


def _php_contents(run: ScriptRun, args: list[Value], base: Value) -> Value:
    for arg in args[2:]:
        http = calls.option([arg], "http") or calls.option([arg], "https")
        if isinstance(http, dict) and "content" in http:
            return calls.requested(run, argument_at(args, 0), text(http.get("method", "POST")), http["content"])
    return calls.reading(run, args, base)


def _php_put(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.writing(append=name_of(argument_at(args, 2)) == "FILE_APPEND")(run, args, base)


def _curl_set(run: ScriptRun, args: list[Value], base: Value) -> Value:
    handle, name, value = argument_at(args, 0), name_of(argument_at(args, 1)), argument_at(args, 2)
    if isinstance(handle, dict):
        handle[name] = value
    return NOTHING


def _curl_set_all(run: ScriptRun, args: list[Value], base: Value) -> Value:
    if isinstance(argument_at(args, 0), dict) and isinstance(argument_at(args, 1), dict):
        args[0].update(args[1])
    return NOTHING


def _curl_done(run: ScriptRun, args: list[Value], base: Value) -> Value:
    handle = argument_at(args, 0)
    if not isinstance(handle, dict):
        return Unknown(sources=("program:curl",))
    method = text(handle.get("CURLOPT_CUSTOMREQUEST", "")) or "POST"
    body = handle.get("CURLOPT_POSTFIELDS")
    return calls.requested(run, handle.get("CURLOPT_URL", NOTHING), method if body is not None else "GET", body)


def _php_included(run: ScriptRun, args: list[Value], base: Value) -> Value:
    calls.hidden(run, calls.reading(run, args, base))
    return NOTHING


def _php_chmod(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return chmod(run, [argument_at(args, 1), argument_at(args, 0)], base)


def _curl_begun(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return {"CURLOPT_URL": argument_at(args, 0)}


def _php_tree(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return [one_of([f"{path.rstrip('/')}/**" for path in texts(argument_at(args, 0))])]


_PHP: dict[str, Act] = calls.rows(
    ("unlink rmdir", calls.on_paths(deeds.delete)),
    ("File.deleteDirectory", TREE),
    ("rename", calls.on_two(deeds.move)),
    ("copy", calls.on_two(deeds.copy)),
    ("symlink", calls.on_two(deeds.link)),
    ("chmod", _php_chmod),
    ("system exec shell_exec passthru popen proc_open", calls.command_or_program),
    ("pcntl_exec", calls.program),
    ("include include_once require require_once", _php_included),
    ("file_put_contents", _php_put),
    ("fopen", calls.opened),
    ("file_get_contents", _php_contents),
    ("file readfile", calls.reading),
    ("glob", calls.matching),
    ("scandir", calls.listing),
    ("getenv", _php_getenv),
    ("base64_decode", calls.decoding("base64")),
    ("hex2bin", calls.decoding("hex")),
    ("gzinflate gzuncompress", calls.decoding("zlib")),
    ("str_rot13", calls.decoding("rot13")),
    ("strrev", backwards),
    ("eval assert create_function", calls.evaluating),
    ("curl_init", _curl_begun),
    ("CURLFile curl_file_create", calls.reading),
    ("curl_setopt", _curl_set),
    ("curl_setopt_array", _curl_set_all),
    ("curl_exec", _curl_done),
    ("http_build_query json_encode base64_encode serialize print_r var_export", calls.encoded),
    ("RecursiveDirectoryIterator", _php_tree),
    ("DirectoryIterator FilesystemIterator", calls.listing_paths),
    (
        (
            "RecursiveIteratorIterator stream_context_create array_filter array_diff array_slice realpath rtrim"
            " trim escapeshellarg"
        ),
        calls.same,
    ),
    ("array_map array_walk call_user_func", mapped_by_name),
    ("implode join", joined),
    ("sprintf", formatted),
    ("dirname", calls.folded(folding.parent)),
    ("basename", calls.folded(folding.base)),
    ("sys_get_temp_dir", calls.constant("/tmp")),  # noqa: S108 - a name
    ("posix_getpwuid", calls.constant({"dir": "~"})),
    ("getcwd", calls.constant(".")),
    ("chr", calls.characters),
    ("chdir", calls.on_paths(deeds.change_folder)),
)
_PHP_METHODS: dict[str, Act] = calls.rows(("getPathname getRealPath getFilename __toString", calls.itself))
PHP_LIBRARY = LanguageLibrary(
    {**NAMED, "__DIR__": ".", "PHP_EOL": "\n", "DIRECTORY_SEPARATOR": "/", "STDIN": FROM_INPUT},
    _PHP,
    _PHP_METHODS,
    _php_name,
    _php_member,
    frozenset({"$_ENV", "$_SERVER"}),
    program="php",
)
