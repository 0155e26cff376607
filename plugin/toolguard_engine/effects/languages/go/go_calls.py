"""What the names of Go's standard library mean, and how Go is read by the reader of scripts.

Go has no script of its own kind here: a few constructs are rewritten into forms that reader knows. Types and the second
value that a call returns, an error, say nothing about what a program does.
"""

from __future__ import annotations

import re

from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages import folded_values as folding
from toolguard_engine.effects.languages import script_calls as calls
from toolguard_engine.effects.languages.code_values import NOTHING, Library, Value, feed, sources, text
from toolguard_engine.effects.languages.script_calls import argument_at, texts
from toolguard_engine.effects.languages.script_run import ENVIRONMENT, Act, LanguageLibrary, Routine, ScriptRun
from toolguard_engine.model.kept_patterns import compiled

_FORMS = (
    (r"^\s{0,40}+package\s+\w+|^\s{0,40}+import\s+(?:\w+\s+)?\"[^\"\n]{0,200}\"", ""),
    (r"^\s{0,40}+import\s*\([^()]{0,4000}+\)", ""),
    (r"\bfunc\s*\(\s*\w{1,40}\s+\*?\w{1,40}\s*\)\s*(?=\w)", "function "),
    (r"\bfunc\b", "function"),
    (r"\b(?:defer|go)\s+(?=[\w.]{1,80}\()", ""),
    (r"\[\]\s?(?:byte|rune)\(", "String("),
    (r"\[\]\s?(?:string|int)\s?\{([^{}]{0,4000}+)\}", r"[\1]"),
    (r"map\[\w{1,20}\][\w.]{1,40}(?=\{)", ""),
    (r"\bfor\s+\w{1,40}\s*,\s*(\w{1,40})\s*:=\s*range\s+([^\n{]{1,400}+)\{", r"for (const \1 of \2) {"),
    (r"\bfor\s+(\w{1,40})\s*:=\s*range\s+([^\n{]{1,400}+)\{", r"for (const \1 in \2) {"),
    (r"\bfor\s*\{", "for (;;) {"),
    (r"\b(\w{1,40})\s*(?>(?:,\s*\w{1,40}\s*){1,3}):?=(?!=)", r"\1 ="),
    (r":=", "="),
)  # fmt: skip


def as_script(code: str) -> str:
    """The code in the forms that the reader of scripts knows."""
    for form, put in _FORMS:
        code = compiled(form, re.MULTILINE).sub(put, code)
    return code


def _asked(first: int) -> Act:
    """`http.NewRequest(method, url, body)`, also with a context before it."""

    def act(run: ScriptRun, args: list[Value], base: Value) -> Value:
        body = argument_at(args, first + 2)
        method = text(argument_at(args, first))
        method = method if method.isalpha() else "POST"
        return calls.requested(run, argument_at(args, first + 1), method, None if body in (None, NOTHING) else body)

    return act


def _got(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`http.Get(url)`, `client.Get(url)`."""
    known = "://" in "".join(texts(argument_at(args, 0))[:1])[:16]
    return calls.requested(run, argument_at(args, 0), "GET", None) if known else run.unknown("Get", args, base)


def _posted(body: int) -> Act:
    def act(run: ScriptRun, args: list[Value], base: Value) -> Value:
        return calls.requested(run, argument_at(args, 0), "POST", argument_at(args, body))

    return act


def _walked(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`filepath.Walk(root, func(path string, ...) error { ... })`."""
    for path in texts(argument_at(args, 0)):
        for routine in args[1:]:
            if isinstance(routine, Routine):
                run.invoke(routine, [f"{path.rstrip('/')}/**"])
    return NOTHING


def _mode(run: ScriptRun, args: list[Value], base: Value) -> Value:
    mode = text(argument_at(args, 1)).removeprefix("0o").removeprefix("0")
    run.add(*(deeds.permit(path, mode if mode.isdigit() else "u+rw") for path in texts(argument_at(args, 0))))
    return NOTHING


def _created(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.opened(run, [argument_at(args, 0), "w"], base)


def _opened(run: ScriptRun, args: list[Value], base: Value) -> Value:
    how = argument_at(args, 1)
    reads = isinstance(how, Library) and how.name == "os.O_RDONLY"
    return calls.reading(run, args, base) if reads else calls.opened(run, [argument_at(args, 0), "a"], base)


def _formatted(run: ScriptRun, args: list[Value], base: Value) -> Value:
    first = argument_at(args, 0)
    return (
        folding.formatted(re.sub(r"%[vq+#]+", "%s", first), tuple(args[1:]))
        if isinstance(first, str)
        else calls.encoded(run, args, base)
    )


def _later(run: ScriptRun, args: list[Value], base: Value) -> Value:
    return calls.program(run, args[1:], base)


def _copied(run: ScriptRun, args: list[Value], base: Value) -> Value:
    """`io.Copy(connection, file)`."""
    if sources(argument_at(args, 1)) and not "".join(texts(argument_at(args, 0))[:1]).strip("\0"):
        run.add(deeds.send("", "POST", feed(argument_at(args, 1))))
    return NOTHING


FUNCTIONS: dict[str, Act] = calls.rows(
    ("os.RemoveAll", calls.on_paths(calls.tree)), ("os.Remove", calls.on_paths(deeds.delete)),
    ("os.WriteFile ioutil.WriteFile", calls.writing()), ("os.Create", _created), ("os.OpenFile", _opened),
    ("os.ReadFile os.Open ioutil.ReadFile", calls.reading), ("os.Truncate", calls.on_paths(deeds.empty)),
    ("os.Rename", calls.on_two(deeds.move)), ("os.Symlink", calls.on_two(deeds.link)), ("os.Chmod", _mode),
    ("os.Link", calls.on_two(calls.hard_link)), ("os.Chdir", calls.on_paths(deeds.change_folder)),
    ("os.Getenv os.LookupEnv", lambda _, args, __: calls.variable(text(argument_at(args, 0)))),
    ("os.Environ", calls.constant(ENVIRONMENT)), ("os.UserHomeDir", calls.constant("~")), ("os.Getwd", calls.constant(".")),
    ("os.TempDir", calls.constant("/tmp")), ("os.MkdirTemp ioutil.TempDir", calls.constant(deeds.TEMPORARY)),  # noqa: S108 - a name
    ("filepath.Join path.Join", calls.path_joined), ("filepath.Glob", calls.matching),
    ("os.ReadDir ioutil.ReadDir", calls.listing), ("filepath.Walk filepath.WalkDir", _walked),
    ("filepath.Dir path.Dir", calls.folded(folding.parent)), ("filepath.Base path.Base", calls.folded(folding.base)),
    ("exec.Command", calls.program), ("exec.CommandContext", _later), ("syscall.Exec", _later),
    ("http.Get", _got), ("http.Post", _posted(2)), ("http.PostForm", _posted(1)), ("http.NewRequest", _asked(0)),
    ("http.NewRequestWithContext", _asked(1)), ("fmt.Sprintf", _formatted), ("io.Copy", _copied),
    (("bytes.NewReader bytes.NewBuffer bytes.NewBufferString strings.NewReader strings.TrimSpace string String io.ReadAll"
      " ioutil.ReadAll os.ExpandEnv bufio.NewReader bufio.NewScanner"), calls.same),
    ("json.Marshal url.QueryEscape hex.EncodeToString", calls.encoded),
)  # fmt: skip
METHODS: dict[str, Act] = calls.rows(
    ("EncodeToString", calls.encoded), ("Post", _posted(2)), ("PostForm", _posted(1)), ("Get", _got), ("Name", calls.itself),
)  # fmt: skip
GO_LIBRARY = LanguageLibrary(
    {"true": True, "false": False, "nil": None, "os.Args": [NOTHING]}, FUNCTIONS, METHODS, program="go"
)
