"""What the names of Ruby mean."""

from __future__ import annotations

import re
from functools import partial

from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages import folded_values as folding
from toolguard_engine.effects.languages import script_calls as calls
from toolguard_engine.effects.languages.code_values import (
    NOTHING,
    Library,
    Value,
    choices,
    text,
)
from toolguard_engine.effects.languages.common_calls import NAMED, TREE, chmod, fetched, formatted, name_of, posted, unpacked
from toolguard_engine.effects.languages.script_calls import argument_at, texts
from toolguard_engine.effects.languages.script_run import (
    ENVIRONMENT,
    FROM_INPUT,
    Act,
    LanguageLibrary,
    Routine,
    ScriptRun,
    element,
)


def _ruby_fetch(run: ScriptRun, args: list[Value], base: Value) -> Value:
    if name_of(base) == "ENV":
        return calls.variable(text(argument_at(args, 0)))
    return run.unknown("fetch", args, base)


def _ruby_member(run: ScriptRun, name: str) -> Value:
    if re.match(r"ENV\.(?!fetch\b)[a-z]", name):  # `ENV.to_a.inspect`: methods without parentheses
        return ENVIRONMENT
    return calls.variable(name[4:]) if re.match(r"ENV\.[A-Z_]+\Z", name) else None


def _ruby_method(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return Library(f"{name_of(base)}.{text(argument_at(args, 0))}")


def _ruby_sent(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`FileUtils.send(:rm_rf, path)`: a method that its name calls."""
    name = text(argument_at(args, 0)) if isinstance(argument_at(args, 0), str) else ""
    if not name or isinstance(run.names.get("send"), Routine):
        return None
    if isinstance(own := run.names.get(name), Routine):
        return run.invoke(own, args[1:])
    full = f"{name_of(base)}.{name}"
    if full in run.library.functions:
        return run.call(Library(full), args[1:], base)
    return run.call(Library("system" if name == "`" else name), args[1:], base)


def _named_method(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`method(:system)`: the function of this name, as a value."""
    name = "".join(texts(argument_at(args, 0))[:1])
    own = run.names.get(name)
    return own if isinstance(own, Routine) else Library(f"{base.name}.{name}" if isinstance(base, Library) else name)


def _ruby_called(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`FileUtils.method(:rm_rf).call(path)`, `->(a) { ... }.call(path)`."""
    if isinstance(base, Routine):
        return run.invoke(base, args)
    return run.call(base, args) if isinstance(base, Library) and not base.name.startswith(".") else base


def _ruby_open(run: ScriptRun, args: list[Value], base: Value) -> Value:
    first = "".join(texts(argument_at(args, 0))[:1])
    if first.startswith("|"):
        return calls.shell(run, [first[1:]], base)
    value = calls.reading(run, args, base) if "://" in first[:8] else calls.opened(run, args, base)
    for arg in args:
        if isinstance(arg, Routine):
            run.invoke(arg, [value])
    return value


def _children(run: ScriptRun, args: list[Value], base: Value) -> Value:
    children = calls.listing(run, args, base)
    return calls.mapped(run, args[1:], children) if any(isinstance(arg, Routine) for arg in args) else children


def _matched(run: ScriptRun, args: list[Value], base: Value) -> Value:
    result = calls.matching(run, [args[0]] if args else [], base)
    return calls.for_each_text(run, args[1:], result) if any(isinstance(arg, Routine) for arg in args) else result


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
    return calls.for_each_text(run, args, base)


_GONE = calls.on_paths(deeds.delete, every=True)


def _expanded(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.resolved(run, args[::-1], base)


def _chmod_tree(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return chmod(run, [argument_at(args, 0), *[f"{path}/**" for path in texts(*args[1:])]], base)


def _path_children(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.listing_paths(run, [base], base)


_RUBY: dict[str, Act] = calls.rows(
    ("lambda proc Proc.new", calls.same),
    ("method", _named_method),
    (
        (
            "FileUtils.rm_rf FileUtils.rm_r FileUtils.rmtree FileUtils.remove_dir FileUtils.remove_entry rm_rf"
            " rm_r FileUtils.remove_entry_secure"
        ),
        TREE,
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
    ("FileUtils.chmod File.chmod", chmod),
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
    ("Dir.tmpdir Dir.mktmpdir", calls.constant(deeds.TEMPORARY)),
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
    ("Net.HTTP.get Net.HTTP.get_response HTTParty.get Faraday.get RestClient.get HTTP.get", fetched),
    ("Net.HTTP.post Net.HTTP.post_form HTTParty.post Faraday.post RestClient.post HTTP.post", posted),
    ("JSON.generate JSON.dump JSON.parse Base64.encode64 Base64.strict_encode64", calls.encoded),
    ("format sprintf", formatted),
    ("gets readline readlines Kernel.gets", calls.constant(FROM_INPUT)),
)
_RUBY_METHODS: dict[str, Act] = calls.rows(
    ("method", _named_method),
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
    ("unpack1 unpack pack", unpacked),
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
    {
        **NAMED,
        **dict.fromkeys(("STDIN", "$stdin", "ARGF", "$<", "$_"), FROM_INPUT),
        "ARGV": [NOTHING],
        "__dir__": ".",
        "__FILE__": "./script.rb",
    },
    _RUBY,
    _RUBY_METHODS,
    member=_ruby_member,
    environment=frozenset({"ENV"}),
    program="ruby",
    alone=frozenset({"gets", "readline", "readlines"}),
)
