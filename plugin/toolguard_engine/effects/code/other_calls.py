"""What the names of Perl, Ruby, PHP, awk, Lua and AppleScript mean."""

from __future__ import annotations

import re

from toolguard_engine.effects.code import code_deeds as deeds
from toolguard_engine.effects.code import python_folding as folding
from toolguard_engine.effects.code import script_calls as calls
from toolguard_engine.effects.code.python_values import (
    DECODED,
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
from toolguard_engine.effects.code.script_calls import at, texts
from toolguard_engine.effects.code.script_walk import Act, LanguageLibrary, Routine, ScriptRun, element, one_of
from toolguard_engine.effects.shell.command import UNKNOWN

_NAMED: dict[str, Value] = {"true": True, "false": False, "nil": None, "null": None, "undef": None, "TRUE": True, "FALSE": False, "NULL": None}


def _fetched(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`get("https://...")`; nothing that is no address."""
    url = "".join(texts(at(args, 0))[:1])
    return calls.requested(run, at(args, 0), "GET", None) if "://" in url[:12] else run.unknown("get", args, base)


def _posted(run: ScriptRun, args: list[Value], base: Value) -> Value:
    url = "".join(texts(at(args, 0))[:1])
    body = args[1:] if len(args) > 2 else at(args, 1)  # noqa: PLR2004 - the address and the data
    return calls.requested(run, at(args, 0), "POST", body) if "://" in url[:12] else run.unknown("post", args, base)


def _downloaded(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`getstore(url, path)`."""
    found = _fetched(run, args, base)
    run.add(*(deeds.write(path, feed(found)) for path in texts(at(args, 1))))
    return found


def _chmod(run: ScriptRun, args: list[Value], base: Value) -> Value:  # noqa: ARG001 - table signature
    mode = text(at(args, 0)).removeprefix("0o").removeprefix("0")
    run.add(*(deeds.permit(path, mode if mode.isdigit() else "u+rw") for path in texts(*args[1:])))
    return NOTHING


def _formatted(run: ScriptRun, args: list[Value], base: Value) -> Value:  # noqa: ARG001 - table signature
    first = at(args, 0)
    return folding.formatted(first, tuple(args[1:])) if isinstance(first, str) else Unknown(sources=sources(*args))


def _joined(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`join(",", list)`, `implode`."""
    parts = args[1] if len(args) == 2 and isinstance(args[1], list) else args[1:]  # noqa: PLR2004 - sign and list
    return calls.joined_by(run, args[:1], parts)


def _reversed(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.backwards(run, [], args[0] if len(args) == 1 else args if args else base)


def _unpacked(run: ScriptRun, args: list[Value], base: Value) -> Value:  # noqa: ARG001 - table signature
    """`unpack("u", x)`, `"x".unpack1("m")`, `pack("H*", x)`."""
    words = [base, *args] if base is not None and not isinstance(base, Library) else args
    forms = [text(word) for word in words if isinstance(word, str) and len(word) <= 3]  # noqa: PLR2004 - letters of a format
    data = next((word for word in words if isinstance(word, str) and len(word) > 3), NOTHING)  # noqa: PLR2004 - as above
    form = "base64" if any(one[:1] in "mu" for one in forms) else "hex" if any(one[:1] in "Hh" for one in forms) else ""
    return folding.decoded(form, data) if form and is_known(data) else Unknown(sources=(DECODED, *sources(*words)))


def _mapped_by_name(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`array_map("unlink", $list)`, `map { } @list`."""
    listed = next((arg for arg in args if isinstance(arg, list)), None)
    values = listed if listed is not None else [arg for arg in args if not isinstance(arg, Routine)][:16]
    routine = next((arg for arg in args if isinstance(arg, Routine | Library)), None)
    if routine is None and args and isinstance(args[0], str):
        routine, values = Library(args[0]), values if listed is not None else args[1:]
    if routine is None:
        return values
    found = []
    for value in values:
        run.names["$_"] = value
        found.append(run.call(routine, [value], base))
    return found


def _filtered(run: ScriptRun, args: list[Value], base: Value) -> Value:
    _mapped_by_name(run, args, base)
    return [each for arg in args if not isinstance(arg, Routine) for each in (arg if isinstance(arg, list) else [arg])]


def _name_of(value: Value) -> str:
    return value.name if isinstance(value, Library) else ""


# --- Perl -----------------------------------------------------------------------------------------------------------------

_MODE = re.compile(r"\s*(\+?[<>]{1,2}|\|)?\s*(.*?)\s*(\|?)\s*\Z", re.DOTALL)


def _perl_open(run: ScriptRun, args: list[Value], base: Value) -> Value:  # noqa: ARG001 - table signature
    """`open(my $f, ">", $path)`, `open(F, ">$path")`, `open(P, "cmd |")`."""
    mode, given = text(at(args, 1)), at(args, 2) if len(args) > 2 else None  # noqa: PLR2004 - handle, mode, path
    if given is None:
        found = _MODE.match(mode)
        sign, given, after = (found[1] or "", found[2], found[3]) if found else ("", mode, "")
        mode = "|" if sign == "|" or after else sign or "<"
    if "|" in mode or "-" in mode:
        return calls.command_or_program(run, [given, *args[3:]], base)
    paths = texts(given)
    for path in paths:
        run.add(deeds.write(path, append=">>" in mode) if ">" in mode or "+" in mode else deeds.read(path))
    value = Unknown(sources=tuple(f"file:{path}" for path in paths[:4]) if ">" not in mode else ())
    if _name_of(at(args, 0)):
        run.names[_name_of(args[0])] = value
    return value


def _perl_opendir(run: ScriptRun, args: list[Value], base: Value) -> Value:  # noqa: ARG001 - table signature
    if _name_of(at(args, 0)):
        run.names[_name_of(args[0])] = ["*"]
    return NOTHING


def _perl_find(run: ScriptRun, args: list[Value], base: Value) -> Value:  # noqa: ARG001 - table signature
    wanted = calls.option(args, "wanted")
    routine = next((arg for arg in [wanted, *args] if isinstance(arg, Routine)), None)
    paths = [f"{path.rstrip('/')}/**" for arg in args if not isinstance(arg, Routine | dict) for path in texts(arg)]
    run.names["$_"] = run.names["$File::Find::name"] = one_of(list(paths))
    return run.invoke(routine, []) if routine else NOTHING


def _shifted(run: ScriptRun, args: list[Value], base: Value) -> Value:  # noqa: ARG001 - table signature
    held = args[0] if args and isinstance(args[0], list) else run.names.get("@_")
    return held.pop(0) if isinstance(held, list) and held else NOTHING


def _perl_member(run: ScriptRun, name: str) -> Value:  # noqa: ARG001 - table signature
    return calls.variable(name[5:]) if name.startswith("%ENV.") else None


def _unlinked(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.on_paths(deeds.delete, every=True)(run, args or [run.names.get("$_", NOTHING)], base)


_PERL: dict[str, Act] = {
    "unlink": _unlinked, "rmdir": calls.on_paths(deeds.delete), "truncate": calls.on_paths(deeds.empty),
    **dict.fromkeys(("rmtree", "remove_tree", "File::Path::rmtree", "File::Path::remove_tree", "pathrmdir", "pathrm"),
                    calls.on_paths(calls.tree, every=True)),
    "system": calls.command_or_program, "exec": calls.command_or_program, "readpipe": calls.shell, "open": _perl_open,
    "opendir": _perl_opendir, "readdir": calls.constant("*"),
    "find": _perl_find, "File::Find::find": _perl_find, "finddepth": _perl_find, "glob": calls.matching, "bsd_glob": calls.matching,
    "rename": calls.on_two(deeds.move), "move": calls.on_two(deeds.move), "copy": calls.on_two(deeds.copy), "symlink": calls.on_two(deeds.link),
    "link": calls.on_two(lambda one, two: deeds.link(one, two, symbolic=False)), "chmod": _chmod, "chdir": calls.on_paths(deeds.change_folder),
    "eval": calls.evaluating, "decode_base64": calls.decoding("base64"), "MIME::Base64::decode_base64": calls.decoding("base64"),
    "MIME::Base64::decode": calls.decoding("base64"), "unpack": _unpacked, "pack": _unpacked, "join": _joined, "sprintf": _formatted, "reverse": _reversed,
    "lc": calls.same, "uc": calls.same, "chr": calls.characters, "scalar": calls.same, "sort": calls.same, "keys": calls.encoded, "values": calls.encoded,
    "get": _fetched, "getstore": _downloaded, "LWP::Simple::get": _fetched, "shift": _shifted, "map": _mapped_by_name, "grep": _filtered,
    "encode_base64": calls.encoded, "encode_json": calls.encoded, "dirname": calls.folded(folding.parent), "basename": calls.folded(folding.base),
    "File::Spec.catfile": calls.path_joined, "File::Spec.catdir": calls.path_joined, "File::HomeDir.my_home": calls.constant("~"),
    "catfile": calls.path_joined, "catdir": calls.path_joined, "getcwd": calls.constant("."), "cwd": calls.constant("."),
    "getpwuid": calls.constant([*[UNKNOWN] * 7, "~", "/bin/sh"]), "getpwnam": calls.constant([*[UNKNOWN] * 7, "~", "/bin/sh"]), "path": calls.same,
    "tempdir": calls.constant(calls.TEMP), "tempfile": calls.constant(calls.TEMP), "glob_": calls.matching,
}  # fmt: skip
_PERL_METHODS: dict[str, Act] = {
    "get": _fetched, "post": _posted, "put": _posted, "remove_tree": calls.itself, "decoded_content": calls.itself, "content": calls.itself, "new": calls.itself,
    "close": calls.itself, "print": calls.itself,
}  # fmt: skip
PERL_LIBRARY = LanguageLibrary(
    {**_NAMED, "@ARGV": [NOTHING], "$0": "script.pl"}, _PERL, _PERL_METHODS, member=_perl_member, environment=frozenset({"%ENV"})
)


# --- Ruby -----------------------------------------------------------------------------------------------------------------


def _ruby_fetch(run: ScriptRun, args: list[Value], base: Value) -> Value:
    if _name_of(base) == "ENV":
        return calls.variable(text(at(args, 0)))
    return run.unknown("fetch", args, base)


def _ruby_member(run: ScriptRun, name: str) -> Value:  # noqa: ARG001 - table signature
    return calls.variable(name[4:]) if re.match(r"ENV\.[A-Z_]+\Z", name) else None


def _ruby_method(run: ScriptRun, args: list[Value], base: Value) -> Value:  # noqa: ARG001 - table signature
    return Library(f"{_name_of(base)}.{text(at(args, 0))}")


def _ruby_open(run: ScriptRun, args: list[Value], base: Value) -> Value:
    first = "".join(texts(at(args, 0))[:1])
    if first.startswith("|"):
        return calls.shell(run, [first[1:]], base)
    value = calls.reading(run, args, base) if "://" in first[:8] else calls.opened(run, args, base)
    for arg in args:
        if isinstance(arg, Routine):
            run.invoke(arg, [value])
    return value


def _children(run: ScriptRun, args: list[Value], base: Value) -> Value:
    found = calls.listing(run, args, base)
    return calls.mapped(run, args[1:], found) if any(isinstance(arg, Routine) for arg in args) else found


def _matched(run: ScriptRun, args: list[Value], base: Value) -> Value:
    found = calls.matching(run, [args[0]] if args else [], base)
    return calls.each(run, args[1:], found) if any(isinstance(arg, Routine) for arg in args) else found


def _path_gone(*, recursive: bool) -> Act:
    """`Pathname("x").rmtree`."""

    def act(run: ScriptRun, args: list[Value], base: Value) -> Value:
        if isinstance(choices(base)[0], str) and not args:
            run.add(*(deeds.delete(path, recursive=recursive) for path in texts(base)))
            return NOTHING
        return run.unknown("delete", args, base)

    return act


def _each(run: ScriptRun, args: list[Value], base: Value) -> Value:
    if args and isinstance(args[0], str):
        act = _RUBY_METHODS.get(args[0])
        return act(run, [], element(base)) if act else base
    return calls.each(run, args, base)


_TREE = calls.on_paths(calls.tree, every=True)
_GONE = calls.on_paths(deeds.delete, every=True)
_RUBY: dict[str, Act] = {
    **{f"FileUtils.{name}": _TREE for name in ("rm_rf", "rm_r", "rmtree", "remove_dir", "remove_entry", "remove_entry_secure")},
    **dict.fromkeys(("rm_rf", "rm_r", "Pathname.rmtree"), _TREE), "FileUtils.rm": _GONE, "FileUtils.rm_f": _GONE, "FileUtils.remove": _GONE, "rm_f": _GONE,
    "FileUtils.safe_unlink": _GONE, "File.delete": _GONE, "File.unlink": _GONE, "Dir.rmdir": _GONE, "Dir.delete": _GONE, "Dir.unlink": _GONE,
    "FileUtils.rmdir": _GONE, "FileUtils.mv": calls.on_two(deeds.move), "FileUtils.move": calls.on_two(deeds.move), "File.rename": calls.on_two(deeds.move),
    "FileUtils.cp": calls.on_two(deeds.copy), "FileUtils.cp_r": calls.on_two(lambda one, two: deeds.copy(one, two, recursive=True)),
    "FileUtils.ln_s": calls.on_two(deeds.link), "File.symlink": calls.on_two(deeds.link), "FileUtils.chmod": _chmod, "File.chmod": _chmod,
    "FileUtils.chmod_R": lambda run, args, base: _chmod(run, [at(args, 0), *[f"{path}/**" for path in texts(*args[1:])]], base),
    "File.truncate": calls.on_paths(deeds.empty), **dict.fromkeys(("File.write", "IO.write", "File.binwrite"), calls.writing()),
    **dict.fromkeys(("File.read", "File.readlines", "IO.read", "IO.readlines", "File.binread", "File.foreach", "URI.open", "YAML.load_file", "JSON.load_file"),
                    calls.reading), "File.open": _ruby_open, "File.new": _ruby_open, "open": _ruby_open,
    "Dir.glob": _matched, "Dir.children": _children, "Dir.entries": _children, "Dir.each_child": _children, "Dir.foreach": _children,
    "Dir.home": calls.constant("~"), "Dir.pwd": calls.constant("."), "Dir.tmpdir": calls.constant("/tmp"), "Dir.mktmpdir": calls.constant(calls.TEMP),  # noqa: S108
    "Dir.chdir": calls.on_paths(deeds.change_folder), "File.join": calls.path_joined, "File.expand_path": lambda run, args, base: calls.resolved(run, args[::-1], base),
    "File.dirname": calls.folded(folding.parent), "File.basename": calls.folded(folding.base), "Pathname.new": calls.same, "Pathname": calls.same,
    **dict.fromkeys(("system", "exec", "spawn", "IO.popen", "Kernel.system", "Kernel.exec", "Process.spawn", "Open3.capture2", "Open3.capture2e", "Open3.capture3",
                     "Open3.popen2", "Open3.popen3", "Open3.popen2e", "PTY.spawn", "sh", "Open3.pipeline"), calls.command_or_program),
    "File.method": _ruby_method, "FileUtils.method": _ruby_method, "ENV.fetch": _ruby_fetch, "ENV.to_h": calls.constant(calls.ENVIRONMENT),
    "ENV.to_a": calls.constant(calls.ENVIRONMENT), "ENV.inspect": calls.constant(calls.ENVIRONMENT), "ENV.to_json": calls.constant(calls.ENVIRONMENT),
    **dict.fromkeys(("eval", "Kernel.eval", "instance_eval", "class_eval", "binding.eval"), calls.evaluating),
    **dict.fromkeys(("Base64.decode64", "Base64.strict_decode64", "Base64.urlsafe_decode64"), calls.decoding("base64")),
    **dict.fromkeys(("Net.HTTP.get", "Net.HTTP.get_response", "HTTParty.get", "Faraday.get", "RestClient.get", "HTTP.get"), _fetched),
    **dict.fromkeys(("Net.HTTP.post", "Net.HTTP.post_form", "HTTParty.post", "Faraday.post", "RestClient.post", "HTTP.post"), _posted),
    "URI": calls.same, "URI.parse": calls.same, "JSON.generate": calls.encoded, "JSON.dump": calls.encoded, "JSON.parse": calls.encoded, "Base64.encode64": calls.encoded,
    "Base64.strict_encode64": calls.encoded, "format": _formatted, "sprintf": _formatted, "Shellwords.escape": calls.same,
}  # fmt: skip
_RUBY_METHODS: dict[str, Act] = {
    **dict.fromkeys(("strip", "chomp", "to_s", "to_path", "read", "expand_path", "realpath", "compact", "uniq", "sort", "flatten", "to_a", "body", "lines", "shellescape",
                     "freeze", "dup", "to_str", "lazy", "each_line", "sort_by", "with_index"), calls.itself),
    **dict.fromkeys(("select", "reject", "find_all", "filter", "tap"), calls.itself), **dict.fromkeys(("each", "each_with_index", "map", "flat_map", "collect"), _each),
    "join": calls.joined_by, "split": calls.split_by, "reverse": calls.backwards, "gsub": calls.replaced, "sub": calls.replaced, "tr": calls.replaced,
    "unpack1": _unpacked, "unpack": _unpacked, "pack": _unpacked, "to_json": calls.encoded, "instance_eval": calls.evaluating, "class_eval": calls.evaluating,
    "rmtree": _path_gone(recursive=True), "unlink": _path_gone(recursive=False), "delete": _path_gone(recursive=False), "fetch": _ruby_fetch,
    "children": lambda run, args, base: [one_of([f"{path.rstrip('/')}/*" for path in texts(base)])],  # noqa: ARG005 - table signature
    "write": calls.itself, "call": calls.itself,
}  # fmt: skip
RUBY_LIBRARY = LanguageLibrary(
    {**_NAMED, "ARGV": [NOTHING], "__dir__": ".", "__FILE__": "./script.rb"}, _RUBY, _RUBY_METHODS, member=_ruby_member, environment=frozenset({"ENV"})
)


# --- PHP ------------------------------------------------------------------------------------------------------------------


def _php_getenv(run: ScriptRun, args: list[Value], base: Value) -> Value:  # noqa: ARG001 - table signature
    return calls.variable(text(args[0])) if args else calls.ENVIRONMENT


def _php_member(run: ScriptRun, name: str) -> Value:  # noqa: ARG001 - table signature
    owner, _, last = name.partition(".")
    return calls.variable(last) if owner in ("$_ENV", "$_SERVER") and last else None


def _php_contents(run: ScriptRun, args: list[Value], base: Value) -> Value:
    for arg in args[2:]:
        http = calls.option([arg], "http") or calls.option([arg], "https")
        if isinstance(http, dict) and "content" in http:
            return calls.requested(run, at(args, 0), text(http.get("method", "POST")), http["content"])
    return calls.reading(run, args, base)


def _php_put(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.writing(append=_name_of(at(args, 2)) == "FILE_APPEND")(run, args, base)


def _curl_set(run: ScriptRun, args: list[Value], base: Value) -> Value:  # noqa: ARG001 - table signature
    handle, name, value = at(args, 0), _name_of(at(args, 1)), at(args, 2)
    if isinstance(handle, dict):
        handle[name] = value
    return NOTHING


def _curl_set_all(run: ScriptRun, args: list[Value], base: Value) -> Value:  # noqa: ARG001 - table signature
    if isinstance(at(args, 0), dict) and isinstance(at(args, 1), dict):
        args[0].update(args[1])
    return NOTHING


def _curl_done(run: ScriptRun, args: list[Value], base: Value) -> Value:  # noqa: ARG001 - table signature
    handle = at(args, 0)
    if not isinstance(handle, dict):
        return Unknown(sources=("program:curl",))
    method = text(handle.get("CURLOPT_CUSTOMREQUEST", "")) or "POST"
    body = handle.get("CURLOPT_POSTFIELDS")
    return calls.requested(run, handle.get("CURLOPT_URL", NOTHING), method if body is not None else "GET", body)


_PHP: dict[str, Act] = {
    "unlink": calls.on_paths(deeds.delete), "rmdir": calls.on_paths(deeds.delete), "rename": calls.on_two(deeds.move), "copy": calls.on_two(deeds.copy),
    "symlink": calls.on_two(deeds.link), "chmod": lambda run, args, base: _chmod(run, [at(args, 1), at(args, 0)], base), "File::deleteDirectory": _TREE,
    **dict.fromkeys(("system", "exec", "shell_exec", "passthru", "popen", "proc_open"), calls.command_or_program), "pcntl_exec": calls.program,
    "file_put_contents": _php_put, "fopen": calls.opened, "file_get_contents": _php_contents, "file": calls.reading, "readfile": calls.reading,
    "glob": calls.matching, "scandir": calls.listing, "getenv": _php_getenv, "base64_decode": calls.decoding("base64"), "hex2bin": calls.decoding("hex"),
    "gzinflate": calls.decoding("zlib"), "gzuncompress": calls.decoding("zlib"), "str_rot13": calls.decoding("rot13"), "strrev": _reversed,
    "eval": calls.evaluating, "assert": calls.evaluating, "create_function": calls.evaluating, "curl_init": lambda run, args, base: {"CURLOPT_URL": at(args, 0)},  # noqa: ARG005
    "curl_setopt": _curl_set, "curl_setopt_array": _curl_set_all, "curl_exec": _curl_done, "stream_context_create": calls.same, "http_build_query": calls.encoded,
    "json_encode": calls.encoded, "base64_encode": calls.encoded, "serialize": calls.encoded, "print_r": calls.encoded, "var_export": calls.encoded,
    "RecursiveDirectoryIterator": lambda run, args, base: [one_of([f"{path.rstrip('/')}/**" for path in texts(at(args, 0))])],  # noqa: ARG005
    "DirectoryIterator": calls.listing_paths, "FilesystemIterator": calls.listing_paths, "RecursiveIteratorIterator": calls.same,
    **dict.fromkeys(("array_map", "array_walk"), _mapped_by_name), "array_filter": calls.same, "array_diff": calls.same, "array_slice": calls.same,
    "implode": _joined, "join": _joined, "sprintf": _formatted, "dirname": calls.folded(folding.parent), "basename": calls.folded(folding.base),
    "realpath": calls.same, "rtrim": calls.same, "trim": calls.same, "escapeshellarg": calls.same, "sys_get_temp_dir": calls.constant("/tmp"),  # noqa: S108
    "posix_getpwuid": calls.constant({"dir": "~"}), "getcwd": calls.constant("."), "chr": calls.characters, "call_user_func": _mapped_by_name,
    "chdir": calls.on_paths(deeds.change_folder),
}  # fmt: skip
_PHP_METHODS: dict[str, Act] = dict.fromkeys(("getPathname", "getRealPath", "getFilename", "__toString"), calls.itself)
PHP_LIBRARY = LanguageLibrary(
    {**_NAMED, "__DIR__": ".", "PHP_EOL": "\n", "DIRECTORY_SEPARATOR": "/"}, _PHP, _PHP_METHODS, lambda name: name.lstrip("\\"), _php_member,
    frozenset({"$_ENV", "$_SERVER"}),
)  # fmt: skip


# --- awk, Lua, AppleScript ------------------------------------------------------------------------------------------------


def _awk_member(run: ScriptRun, name: str) -> Value:  # noqa: ARG001 - table signature
    return calls.variable(name[8:]) if name.startswith("ENVIRON.") else None


def _lua_open(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.opened(run, args, base)


AWK_LIBRARY = LanguageLibrary({}, {"system": calls.shell, "sprintf": _formatted}, {}, member=_awk_member, environment=frozenset({"ENVIRON"}))
LUA_LIBRARY = LanguageLibrary(_NAMED, {
    "os.execute": calls.shell, "io.popen": calls.shell, "os.remove": calls.on_paths(deeds.delete), "os.rename": calls.on_two(deeds.move), "io.open": _lua_open,
    "io.lines": calls.reading, "lfs.rmdir": calls.on_paths(deeds.delete), "lfs.dir": calls.listing, "os.getenv": lambda run, args, base: calls.variable(text(at(args, 0))),  # noqa: ARG005
    "load": calls.evaluating, "loadstring": calls.evaluating, "string.char": calls.characters, "string.format": _formatted, "string.reverse": _reversed,
    "ipairs": lambda run, args, base: [element(at(args, 0))], "pairs": lambda run, args, base: [element(at(args, 0))],  # noqa: ARG005
    "table.concat": lambda run, args, base: calls.joined_by(run, [at(args, 1) if len(args) > 1 else ""], at(args, 0)),
}, {"lines": calls.itself, "read": calls.itself})  # fmt: skip
APPLE_LIBRARY = LanguageLibrary(_NAMED, {"do_shell_script": calls.shell, "run_script": calls.evaluating}, {})
_ = (sourced,)
