"""What the names of Perl, Ruby, PHP, awk, Lua and AppleScript mean."""

from __future__ import annotations

import re
from functools import partial

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages import python_folding as folding
from toolguard_engine.effects.languages import script_calls as calls
from toolguard_engine.effects.languages.python_values import (
    DECODED,
    NOTHING,
    Library,
    Unknown,
    Value,
    choices,
    feed,
    is_known,
    sources,
    text,
)
from toolguard_engine.effects.languages.script_calls import at, texts
from toolguard_engine.effects.languages.script_run import (
    ENVIRONMENT,
    FROM_INPUT,
    Act,
    LanguageLibrary,
    Routine,
    ScriptRun,
    element,
    one_of,
)

_NAMED: dict[str, Value] = {
    "true": True, "false": False, "nil": None, "null": None, "undef": None, "TRUE": True, "FALSE": False, "NULL": None,
}  # fmt: skip


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


def _chmod(run: ScriptRun, args: list[Value], base: Value) -> Value:
    mode = text(at(args, 0)).removeprefix("0o").removeprefix("0")
    run.add(*(deeds.permit(path, mode if mode.isdigit() else "u+rw") for path in texts(*args[1:])))
    return NOTHING


def _formatted(run: ScriptRun, args: list[Value], base: Value) -> Value:
    first = at(args, 0)
    return folding.formatted(first, tuple(args[1:])) if isinstance(first, str) else Unknown(sources=sources(*args))


def _joined(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`join(",", list)`, `implode`."""
    parts = args[1] if len(args) == 2 and isinstance(args[1], list) else args[1:]  # noqa: PLR2004 - sign and list
    return calls.joined_by(run, args[:1], parts)


def _reversed(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.backwards(run, [], args[0] if len(args) == 1 else args or base)


def _unpacked(run: ScriptRun, args: list[Value], base: Value) -> Value:
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

_MODE = lazy_re.compile(r"\s*(\+?[<>]{1,2}|\|)?\s*(.*?)\s*(\|?)\s*\Z", re.DOTALL)


def _perl_open(run: ScriptRun, args: list[Value], base: Value) -> Value:
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


def _perl_opendir(run: ScriptRun, args: list[Value], base: Value) -> Value:
    if _name_of(at(args, 0)):
        run.names[_name_of(args[0])] = ["*"]
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
    ("chmod", _chmod),
    ("chdir", calls.on_paths(deeds.change_folder)),
    ("eval", calls.evaluating),
    ("decode_base64 MIME::Base64::decode_base64 MIME::Base64::decode", calls.decoding("base64")),
    ("pack unpack", _unpacked),
    ("join", _joined),
    ("sprintf", _formatted),
    ("reverse", _reversed),
    ("lc uc scalar sort path", calls.same),
    ("chr", calls.characters),
    ("keys values encode_base64 encode_json", calls.encoded),
    ("get LWP::Simple::get", _fetched),
    ("getstore", _downloaded),
    ("shift", _shifted),
    ("map", _mapped_by_name),
    ("grep", _filtered),
    ("dirname", calls.folded(folding.parent)),
    ("basename", calls.folded(folding.base)),
    ("File::Spec.catfile File::Spec.catdir catfile catdir", calls.path_joined),
    ("File::HomeDir.my_home", calls.constant("~")),
    ("getcwd cwd", calls.constant(".")),
    ("getpwuid getpwnam", calls.constant([*[UNKNOWN] * 7, "~", "/bin/sh"])),
    ("tempdir tempfile", calls.constant(calls.TEMP)),
)
_PERL_METHODS: dict[str, Act] = calls.rows(
    ("get", _fetched),
    ("post put post_form request", _posted),
    ("remove_tree decoded_content content new close print", calls.itself),
)
PERL_LIBRARY = LanguageLibrary(
    {**_NAMED, "@ARGV": [NOTHING], "$0": "script.pl", "STDIN": FROM_INPUT},
    _PERL,
    _PERL_METHODS,
    member=_perl_member,
    environment=frozenset({"%ENV"}),
    program="perl",
)


# --- Ruby -----------------------------------------------------------------------------------------------------------------


def _ruby_fetch(run: ScriptRun, args: list[Value], base: Value) -> Value:
    if _name_of(base) == "ENV":
        return calls.variable(text(at(args, 0)))
    return run.unknown("fetch", args, base)


def _ruby_member(run: ScriptRun, name: str) -> Value:
    if re.match(r"ENV\.(?!fetch\b)[a-z]", name):  # `ENV.to_a.inspect`: methods without parentheses
        return ENVIRONMENT
    return calls.variable(name[4:]) if re.match(r"ENV\.[A-Z_]+\Z", name) else None


def _ruby_method(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return Library(f"{_name_of(base)}.{text(at(args, 0))}")


def _ruby_sent(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`FileUtils.send(:rm_rf, path)`: a method that its name calls."""
    name = text(at(args, 0)) if isinstance(at(args, 0), str) else ""
    if not name or isinstance(run.names.get("send"), Routine):
        return None
    if isinstance(own := run.names.get(name), Routine):
        return run.invoke(own, args[1:])
    full = f"{_name_of(base)}.{name}"
    if full in run.library.functions:
        return run.call(Library(full), args[1:], base)
    return run.call(Library("system" if name == "`" else name), args[1:], base)


def _ruby_called(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`FileUtils.method(:rm_rf).call(path)`."""
    return run.call(base, args) if isinstance(base, Library) and not base.name.startswith(".") else base


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


def _expanded(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.resolved(run, args[::-1], base)


def _chmod_tree(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return _chmod(run, [at(args, 0), *[f"{path}/**" for path in texts(*args[1:])]], base)


def _path_children(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.listing_paths(run, [base], base)


_RUBY: dict[str, Act] = calls.rows(
    (
        (
            "FileUtils.rm_rf FileUtils.rm_r FileUtils.rmtree FileUtils.remove_dir FileUtils.remove_entry rm_rf"
            " rm_r FileUtils.remove_entry_secure"
        ),
        _TREE,
    ),
    (
        (
            "FileUtils.rm FileUtils.rm_f FileUtils.remove FileUtils.safe_unlink FileUtils.rmdir rm_f File.delete"
            " File.unlink Dir.rmdir Dir.delete Dir.unlink"
        ),
        _GONE,
    ),
    ("FileUtils.mv FileUtils.move File.rename", calls.on_two(deeds.move)),
    ("FileUtils.cp", calls.on_two(deeds.copy)),
    ("FileUtils.cp_r", calls.on_two(partial(deeds.copy, recursive=True))),
    ("FileUtils.ln_s File.symlink", calls.on_two(deeds.link)),
    ("FileUtils.chmod File.chmod", _chmod),
    ("FileUtils.chmod_R", _chmod_tree),
    ("File.truncate", calls.on_paths(deeds.empty)),
    ("File.write IO.write File.binwrite", calls.writing()),
    (
        ("File.read File.readlines File.binread File.foreach IO.read IO.readlines URI.open YAML.load_file JSON.load_file"),
        calls.reading,
    ),
    ("File.open File.new open", _ruby_open),
    ("Dir.glob", _matched),
    ("Dir.children Dir.entries Dir.each_child Dir.foreach", _children),
    ("Dir.home", calls.constant("~")),
    ("Dir.pwd", calls.constant(".")),
    ("Dir.tmpdir Dir.mktmpdir", calls.constant(calls.TEMP)),
    ("Dir.chdir", calls.on_paths(deeds.change_folder)),
    ("File.join", calls.path_joined),
    ("File.expand_path", _expanded),
    ("File.dirname", calls.folded(folding.parent)),
    ("File.basename", calls.folded(folding.base)),
    ("Pathname.new Pathname URI URI.parse Shellwords.escape", calls.same),
    (
        (
            "system exec spawn IO.popen Kernel.system Kernel.exec Process.spawn Open3.capture2 Open3.capture2e"
            " Open3.capture3 sh Open3.popen2 Open3.popen3 Open3.popen2e Open3.pipeline PTY.spawn"
        ),
        calls.command_or_program,
    ),
    ("File.method FileUtils.method", _ruby_method),
    ("ENV.fetch", _ruby_fetch),
    ("ENV.to_h ENV.to_a ENV.inspect ENV.to_json", calls.constant(ENVIRONMENT)),
    ("eval Kernel.eval instance_eval class_eval binding.eval", calls.evaluating),
    ("Base64.decode64 Base64.strict_decode64 Base64.urlsafe_decode64", calls.decoding("base64")),
    ("Net.HTTP.get Net.HTTP.get_response HTTParty.get Faraday.get RestClient.get HTTP.get", _fetched),
    ("Net.HTTP.post Net.HTTP.post_form HTTParty.post Faraday.post RestClient.post HTTP.post", _posted),
    ("JSON.generate JSON.dump JSON.parse Base64.encode64 Base64.strict_encode64", calls.encoded),
    ("format sprintf", _formatted),
    ("STDIN.read $stdin.read ARGF.read gets STDIN.gets", calls.constant(FROM_INPUT)),
)
_RUBY_METHODS: dict[str, Act] = calls.rows(
    (
        (
            "strip chomp to_s to_path read expand_path realpath compact uniq sort flatten to_a body lines"
            " shellescape freeze dup to_str lazy each_line sort_by with_index select reject find_all filter tap"
            " write to_proc"
        ),
        calls.itself,
    ),
    ("each each_with_index map flat_map collect", _each),
    ("join", calls.joined_by),
    ("split", calls.split_by),
    ("reverse", calls.backwards),
    ("gsub sub tr", calls.replaced),
    ("unpack1 unpack pack", _unpacked),
    ("to_json", calls.encoded),
    ("instance_eval class_eval", calls.evaluating),
    ("send public_send __send__", _ruby_sent),
    ("call", _ruby_called),
    ("rmtree", _path_gone(recursive=True)),
    ("unlink delete", _path_gone(recursive=False)),
    ("fetch", _ruby_fetch),
    ("children", _path_children),
)
RUBY_LIBRARY = LanguageLibrary(
    {**_NAMED, "ARGV": [NOTHING], "__dir__": ".", "__FILE__": "./script.rb"},
    _RUBY,
    _RUBY_METHODS,
    member=_ruby_member,
    environment=frozenset({"ENV"}),
    program="ruby",
)


# --- PHP ------------------------------------------------------------------------------------------------------------------


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
            return calls.requested(run, at(args, 0), text(http.get("method", "POST")), http["content"])
    return calls.reading(run, args, base)


def _php_put(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.writing(append=_name_of(at(args, 2)) == "FILE_APPEND")(run, args, base)


def _curl_set(run: ScriptRun, args: list[Value], base: Value) -> Value:
    handle, name, value = at(args, 0), _name_of(at(args, 1)), at(args, 2)
    if isinstance(handle, dict):
        handle[name] = value
    return NOTHING


def _curl_set_all(run: ScriptRun, args: list[Value], base: Value) -> Value:
    if isinstance(at(args, 0), dict) and isinstance(at(args, 1), dict):
        args[0].update(args[1])
    return NOTHING


def _curl_done(run: ScriptRun, args: list[Value], base: Value) -> Value:
    handle = at(args, 0)
    if not isinstance(handle, dict):
        return Unknown(sources=("program:curl",))
    method = text(handle.get("CURLOPT_CUSTOMREQUEST", "")) or "POST"
    body = handle.get("CURLOPT_POSTFIELDS")
    return calls.requested(run, handle.get("CURLOPT_URL", NOTHING), method if body is not None else "GET", body)


def _php_included(run: ScriptRun, args: list[Value], base: Value) -> Value:
    calls.hidden(run, calls.reading(run, args, base))
    return NOTHING


def _php_chmod(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return _chmod(run, [at(args, 1), at(args, 0)], base)


def _curl_begun(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return {"CURLOPT_URL": at(args, 0)}


def _php_tree(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return [one_of([f"{path.rstrip('/')}/**" for path in texts(at(args, 0))])]


_PHP: dict[str, Act] = calls.rows(
    ("unlink rmdir", calls.on_paths(deeds.delete)),
    ("File::deleteDirectory", _TREE),
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
    ("strrev", _reversed),
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
    ("array_map array_walk call_user_func", _mapped_by_name),
    ("implode join", _joined),
    ("sprintf", _formatted),
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
    {**_NAMED, "__DIR__": ".", "PHP_EOL": "\n", "DIRECTORY_SEPARATOR": "/", "STDIN": FROM_INPUT},
    _PHP,
    _PHP_METHODS,
    _php_name,
    _php_member,
    frozenset({"$_ENV", "$_SERVER"}),
    program="php",
)


# --- awk, Lua, AppleScript ------------------------------------------------------------------------------------------------


def _awk_member(run: ScriptRun, name: str) -> Value:
    return calls.variable(name[8:]) if name.startswith("ENVIRON.") else None


def _variable(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.variable(text(at(args, 0)))


def _elements(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return [element(at(args, 0))]


def _lua_concat(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.joined_by(run, [at(args, 1) if len(args) > 1 else ""], at(args, 0))


AWK_LIBRARY = LanguageLibrary(
    {}, {"system": calls.shell, "sprintf": _formatted}, {}, member=_awk_member, environment=frozenset({"ENVIRON"})
)
_LUA: dict[str, Act] = calls.rows(
    ("os.execute io.popen", calls.shell),
    ("os.remove lfs.rmdir", calls.on_paths(deeds.delete)),
    ("os.rename", calls.on_two(deeds.move)),
    ("io.open", calls.opened),
    ("io.lines", calls.reading),
    ("io.read", calls.constant(FROM_INPUT)),
    ("lfs.dir", calls.listing),
    ("os.getenv", _variable),
    ("load loadstring", calls.evaluating),
    ("string.char", calls.characters),
    ("string.format", _formatted),
    ("string.reverse", _reversed),
    ("ipairs pairs", _elements),
    ("table.concat", _lua_concat),
)
LUA_LIBRARY = LanguageLibrary(_NAMED, _LUA, calls.rows(("lines read", calls.itself)), program="lua")
APPLE_LIBRARY = LanguageLibrary(
    _NAMED, {"do_shell_script": calls.shell, "run_script": calls.evaluating}, {}, program="osascript"
)
