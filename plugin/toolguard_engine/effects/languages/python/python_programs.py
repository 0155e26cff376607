"""What the libraries of Python do with programs and processes, and with text that runs."""

from __future__ import annotations

import shlex

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN, StdinSource
from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages.code_values import (
    DECODED,
    FETCHERS,
    FROM_SOCKET,
    NOTHING,
    Function,
    Library,
    Unknown,
    Value,
    choices,
    either,
    feed,
    is_known,
    items,
    sourced,
    sources,
    text,
    texts,
)
from toolguard_engine.effects.languages.python.python_calling import MAX_NESTED, Arguments, PythonCalling
from toolguard_engine.effects.languages.python.python_files import written
from toolguard_engine.effects.languages.python.python_tables import Act, constant, table

MAX_LINE = 2_000
MAX_PIPE = 8
_PIPES = lazy_re.compile(r"\|\|?|&&|;|\n")
_ENDLESS = "starts programs endlessly"


def _folder(named: dict[str, Value]) -> str:
    """The folder in which a program is started; empty if it is not known, or the current one."""
    folder = text(named["cwd"]) if "cwd" in named else ""
    return "" if folder in (UNKNOWN, "None") else folder


def _fed(value: Value) -> StdinSource:
    return deeds.INPUT if deeds.FED in sources(value) else feed(value)


def started(code: PythonCalling, value: Value, given: Arguments, *, by_shell: bool) -> Value:
    """A command that a shell runs, or the words of a program; returns what it prints."""
    named = given.named
    fed = next(
        (_fed(named[name]) for name in ("input", "stdin") if isinstance(named.get(name), str | bytes | Unknown)), None
    )
    folder = _folder(named)
    if code.endless:
        code.add(deeds.other("load", _ENDLESS))
    hidden(code, value, named.get("stdin"), named.get("stdout"))
    outputs: list[Value] = []
    within = sources(value, *(items(value) if isinstance(value, list | tuple) else ()))
    for choice in choices(value):
        words = [text(word) for word in items(choice)] if isinstance(choice, list | tuple) else []
        if words and not by_shell and not words[0].strip(UNKNOWN):
            code.runs_unknown()
            continue
        if words and not by_shell:
            code.add(deeds.run(words, fed, folder, within=within))
            outputs.append(_output(code, named, shlex.join(words)))
        elif (line := words[0] if words else text(choice)).strip(UNKNOWN + " "):
            code.add(deeds.shell(line, fed, folder, within=within))
            outputs.append(_output(code, named, line))
        else:
            if deeds.FED in sources(choice):
                code.add(deeds.run(["sh", "-s"], deeds.INPUT))
            code.runs_unknown()
    return either(outputs) if outputs else Unknown("process", sources(value))


def hidden(code: PythonCalling, *values: Value) -> None:
    """A command or code that another machine sends, or that was decoded."""
    named = sources(*values)
    if FROM_SOCKET in named:
        code.add(deeds.remote_shell(str(code.state.get("connected", "a connection in the code"))))
    elif not FETCHERS.isdisjoint(named):
        code.add(deeds.run_text("an address in the code", "fetched"))
    elif DECODED in named:
        code.add(deeds.run_text("decoded text in the code", "decoded"))


def _output(code: PythonCalling, named: dict[str, Value], line: str) -> Unknown:
    printed = _printed(line)
    target = named.get("stdout")
    if isinstance(target, Unknown) and target.kind == "file":
        written(code, target, Unknown(sources=printed))
    return Unknown("process", printed, line)


def _printed(line: str) -> tuple[str, ...]:
    """The sources of what a command prints."""
    names: list[str] = []
    for part in _PIPES.split(line[:MAX_LINE])[:MAX_PIPE]:
        try:
            words = shlex.split(part)
        except ValueError:
            words = part.split()
        output = deeds.output_of(words)
        names += [f"program:{name}" for name in output.programs] + [f"file:{file}" for file in output.files]
    return tuple(names)


def _system(code: PythonCalling, given: Arguments) -> Value:
    value = given.get(0, "command", "cmd")
    return NOTHING if value is None else started(code, value, given, by_shell=True)


def _subprocess(code: PythonCalling, given: Arguments) -> Value:
    value, shell = given.get(0, "args"), given.named.get("shell")
    return NOTHING if value is None else started(code, value, given, by_shell=shell is not None and shell is not False)


def _words(skip: int, *, named: bool) -> Act:
    """`os.execl(path, name, ...)`: the program and its words as arguments. `named`: a word is the name that it is given."""

    def act(code: PythonCalling, given: Arguments) -> Value:
        args = [arg for arg in given.args[skip:] if not isinstance(arg, dict)]
        rest = args[1] if len(args) > 1 and isinstance(args[1], list | tuple) else args[1:]
        words = [*args[:1], *list(rest)[1 if named else 0 :]]
        return started(code, words, given, by_shell=False) if args else NOTHING

    return act


def _terminal(code: PythonCalling, given: Arguments) -> Value:
    if code.state.get("connected"):
        code.add(deeds.remote_shell(str(code.state["connected"])))
    return _subprocess(code, given)


def _fork(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    if code.endless:
        code.add(deeds.run(("fork-bomb",)))
    return NOTHING


def _kill(code: PythonCalling, given: Arguments) -> Value:
    signal = given.get(1, "sig", "signal")
    code.add(deeds.stop(given.text(0, "pid") or UNKNOWN, str(signal) if isinstance(signal, int) else "TERM"))
    return NOTHING


def _process(code: PythonCalling, given: Arguments) -> Value:
    """A thread or process that runs a function."""
    target = given.get(1, "target")
    if code.endless:
        code.add(deeds.other("load", _ENDLESS))
    return code.apply(target, Arguments(items(given.get(3, "args")))) if target is not None else NOTHING


def _execute(code: PythonCalling, given: Arguments) -> Value:
    value = given.get(0, "source")
    if value is None:
        return NOTHING
    if deeds.FED in sources(value):
        code.add(deeds.run(["python3"], deeds.INPUT))
    hidden(code, value)
    code.load("", *(source.partition(":")[2] for source in sources(value) if source.startswith("file:")))
    for piece in texts(value):
        if UNKNOWN in piece or code.nested >= MAX_NESTED:
            code.runs_unknown()
        if piece.strip(UNKNOWN) and code.nested < MAX_NESTED:
            return code.state["read"](piece)
    return NOTHING


def _load_object(code: PythonCalling, given: Arguments) -> Value:
    """`pickle.loads` runs whatever the data says; harmless if the data is the machine's own."""
    named = sources(*given.all)
    if FROM_SOCKET in named or not FETCHERS.isdisjoint(named):
        code.add(deeds.run_text("an address in the code", "fetched"))
    code.runs_unknown()
    return Unknown(sources=named)


def _load_code(code: PythonCalling, given: Arguments) -> Value:
    code.runs_unknown()
    return Unknown(sources=(*sources(*given.all), DECODED))


def _imported(code: PythonCalling, given: Arguments) -> Value:
    name = given.get(0, "name")
    code.load("import", *texts(name))
    return Library(text(name)) if _names_known(code, name) else NOTHING


def _imported_top(code: PythonCalling, given: Arguments) -> Value:
    """`__import__("a.b")` is `a`."""
    name = given.get(0, "name")
    code.load("import", *texts(name))
    return Library(text(name).partition(".")[0]) if _names_known(code, name) else NOTHING


def _attribute(code: PythonCalling, given: Arguments) -> Value:
    name = given.get(1)
    return code.member(given.get(0), text(name)) if _names_known(code, name) else NOTHING


def _names_known(code: PythonCalling, name: Value) -> bool:
    """Whether a name is known by which code takes what it calls."""
    if not is_known(name):
        code.runs_unknown()
    return is_known(name)


def _variables(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    """`vars(os)` holds what the module has; without an argument, the variables of the code."""
    return given.args[0] if given.args and isinstance(given.args[0], Library) else Unknown("variables")


def _sniffed(code: PythonCalling, given: Arguments) -> Value:
    code.add(deeds.run(("tcpdump", "-i", "any")))
    return code.apply(given.named["prn"], Arguments([NOTHING])) if "prn" in given.named else NOTHING


def _stored_password(code: PythonCalling, given: Arguments) -> Value:
    code.add(deeds.run(("secret-tool", "lookup", "service", given.text(0, "service_name"))))
    return Unknown(sources=("program:secret-tool",))


def _partial(code: PythonCalling, given: Arguments) -> Value:
    return code.apply(given.args[0], Arguments(given.args[1:], given.named)) if given.args else NOTHING


def _mapped(code: PythonCalling, given: Arguments) -> Value:
    """`map(f, items)`."""
    if len(given.args) < 2:  # noqa: PLR2004 - the function and what it is called with
        return NOTHING
    values = items(given.args[1])
    if all(isinstance(value, int | str) for value in values):
        return [code.apply(given.args[0], Arguments([value])) for value in values or [NOTHING]]
    return [code.apply(given.args[0], Arguments([value])) for value in values[:MAX_PIPE]]


def _hooks(code: PythonCalling, given: Arguments) -> Value:
    code.add(deeds.other("record", "what is typed"))
    for value in given.all:
        if isinstance(value, Function):
            code.invoke(value, Arguments(), whole=False)
    return NOTHING


def _run_file(code: PythonCalling, given: Arguments) -> Value:
    if path := given.text(0, "path_name", "location"):
        code.add(deeds.run(("python3", path)))
    return NOTHING


def _run_located(code: PythonCalling, given: Arguments) -> Value:
    """`spec_from_file_location(name, path)`, which is there to run what it finds."""
    if path := given.text(1, "location", "path"):
        code.add(deeds.run(("python3", path)))
    return NOTHING


def _library(code: PythonCalling, given: Arguments) -> Value:
    """`ctypes.CDLL("./x.so")` runs what the file says at its loading; one of the system has no path."""
    if "/" in (path := given.text(0, "name")):
        code.add(deeds.run((path,)))
    code.runs_unknown()
    return Unknown("ctypes.CDLL")


def _applied(code: PythonCalling, given: Arguments) -> Value:
    """`kubernetes.utils.create_from_yaml(client, file)`."""
    code.add(deeds.run(("kubectl", "apply", "-f", given.text(1, "yaml_file"))))
    return NOTHING


def _applied_document(code: PythonCalling, given: Arguments) -> Value:
    """`kubernetes.utils.create_from_dict(client, document)`."""
    document = given.get(1, "data")
    written = document if isinstance(document, str) else str(document)[:MAX_LINE] if isinstance(document, dict) else NOTHING
    code.add(deeds.run(("kubectl", "apply", "-f", "-"), feed(written)))
    return NOTHING


def _parsed(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    """A document, of which only the text is known."""
    return given.get(0, "stream")


def _scheduled(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    code.add(deeds.run(("crontab", "-")))
    return NOTHING


def _registered(code: PythonCalling, given: Arguments) -> Value:
    """A key of the Windows registry, of which some start programs at login."""
    key = given.text(1, "sub_key")
    if _AT_LOGIN.search(key):
        code.add(deeds.other("autostart", key))
    return NOTHING


_AT_LOGIN = lazy_re.compile(r"(?i)\\CurrentVersion\\(?:Run|Policies\\Explorer\\Run|Winlogon|Image File Execution)")


def _split(code: PythonCalling, given: Arguments) -> Value:  # noqa: ARG001 - table signature
    try:
        return [sourced(word, sources(given.get(0))) for word in shlex.split(given.text(0, "s")[:MAX_LINE])]
    except ValueError:
        return NOTHING


def _later(code: PythonCalling, given: Arguments) -> Value:
    """`loop.run_in_executor(None, f, x)`."""
    return _partial(code, Arguments(given.args[1:]))


BY_NAME: dict[str, Act] = table(
    ("map imap imap_unordered starmap", _mapped),
    ("submit apply_async call_soon to_thread", _partial),
    ("run_in_executor call_later", _later),
)
"""Methods that are known by their name alone: of thread pools and event loops."""

CALLS: dict[str, Act] = table(
    ("winreg.OpenKey winreg.CreateKey winreg.OpenKeyEx winreg.CreateKeyEx", _registered), ("shlex.split", _split),
    ("crontab.CronTab.write crontab.CronTab.write_to_user crontab.CronTab.new", _scheduled),
    ("runpy.run_path", _run_file), ("ctypes.CDLL ctypes.cdll.LoadLibrary ctypes.PyDLL", _library),
    ("importlib.util.spec_from_file_location importlib.machinery.SourceFileLoader", _run_located),
    ("kubernetes.utils.create_from_yaml", _applied), ("kubernetes.utils.create_from_dict", _applied_document),
    ("yaml.safe_load yaml.full_load", _parsed),
    ("atexit.register asyncio.to_thread", _partial),
    ("ctypes.CDLL.system ctypes.CDLL.popen ctypes.cdll.LoadLibrary.system ctypes.cdll.msvcrt.system", _system),
    (("os.system os.popen subprocess.getoutput subprocess.getstatusoutput commands.getoutput os.popen2 os.popen3 pexpect.run"
      " commands.getstatusoutput asyncio.create_subprocess_shell pexpect.spawn os.startfile"), _system),
    (("subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen popen2.popen2"
      " distutils.spawn.spawn"), _subprocess),
    ("asyncio.create_subprocess_exec", _words(0, named=False)),
    ("os.execl os.execlp os.execle os.execlpe os.execv os.execvp os.execve os.execvpe os.posix_spawn os.posix_spawnp",
     _words(0, named=True)),
    ("os.spawnl os.spawnlp os.spawnle os.spawnlpe os.spawnv os.spawnvp os.spawnve os.spawnvpe", _words(1, named=True)),
    ("pty.spawn", _terminal), ("os.fork", _fork), ("os.kill os.killpg", _kill),
    ("threading.Thread multiprocessing.Process threading.Timer", _process),
    ("scapy.all.sniff scapy.sendrecv.sniff", _sniffed), ("keyring.get_password", _stored_password),
    ("psutil.process_iter", constant([Unknown("psutil.Process")])),
    ("exec eval execfile timeit.timeit", _execute), ("marshal.loads", _load_code),
    ("pickle.loads pickle.load dill.loads cloudpickle.loads yaml.unsafe_load", _load_object),
    ("importlib.import_module", _imported), ("__import__", _imported_top), ("getattr", _attribute),
    ("globals locals vars", _variables), ("functools.partial", _partial), ("map filter", _mapped),
    (("pynput.keyboard.Listener keyboard.on_press keyboard.hook keyboard.on_release keyboard.record keyboard.read_event"
      " pyxhook.HookManager pyHook.HookManager pynput.mouse.Listener keyboard.read_key"), _hooks),
)  # fmt: skip
