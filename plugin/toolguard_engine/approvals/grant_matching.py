"""What a person allowed beforehand, for a while: calls that a grant covers need not be asked about.

The rules (in doubt, a call is not covered):

- the tool is the same (short name, letter case aside), the agent and the working directory are those of the grant, where
  it names them, and its time is not over;
- the pattern covers the call's subject (`SUBJECTS`); of any other tool the canonical JSON of all params. What `*` may
  stand for is stated in `text_globs`;
- every other parameter is one that changes nothing (`free`), or the grant has a glob for it under `params`;
- a parameter that the grant has a glob for must be there and match, a free one too;
- whatever has an unexpected type is not covered.

The subject of `message` is the text `<channel> <target> <action>`, `-` for what is absent. The directory of a call is
its `workdir`, else the one it came with; a relative one is unknown. Times are seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import rfc8785

from toolguard_engine import lazy_re
from toolguard_engine.approvals import canonical_json
from toolguard_engine.approvals.grant_record import Grant, is_expired
from toolguard_engine.effects.commands.unwrap import read
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.facts.interpreter_names import INTERPRETER
from toolguard_engine.effects.manuals import wrapper_catalogue
from toolguard_engine.effects.manuals.option_spellings import attached
from toolguard_engine.effects.programs.wrappers import WRAPPERS
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.model.call import Call
from toolguard_engine.rules.text_globs import Kind, matches, only_stars

Types = tuple[type, ...]
_TEXT: Types = (str,)
_NUMBER: Types = (int, float)
_ANY: Types = (object,)


class GrantSubject(msgspec.Struct, frozen=True):
    """What the pattern of a tool's grant is compared with: these params, and those that are free beside them."""

    kind: Kind
    params: tuple[str, ...]
    free: dict[str, Types]


_EXEC = GrantSubject(
    "words",
    ("command",),
    {
        "workdir": _TEXT,
        "timeout": _NUMBER,
        "timeoutSeconds": _NUMBER,
        "background": (bool,),
        "yieldMs": _NUMBER,
        "title": _TEXT,
    },
)
_MESSAGE = GrantSubject("address", ("channel", "target", "action"), {"message": _TEXT, "text": _TEXT})
SUBJECTS = {
    "exec": _EXEC,
    "bash": _EXEC,
    "read": GrantSubject("path", ("path",), {"offset": _NUMBER, "limit": _NUMBER}),
    "write": GrantSubject("path", ("path",), {"content": _ANY}),
    "edit": GrantSubject("path", ("path",), {"edits": _ANY, "oldText": _TEXT, "newText": _TEXT}),
    "web_fetch": GrantSubject("url", ("url",), {"extractMode": _TEXT, "maxChars": _NUMBER}),
    "browser": GrantSubject("url", ("url",), {}),
    "message": _MESSAGE,
}


def covering(call: Call, grants: Sequence[Grant], now: float) -> Grant | None:
    """The first grant whose words cover this call. What they mean is `granted_meaning`'s."""
    shown = subject(call) if grants else None
    if shown is None:
        return None
    tool = tool_name(call.tool)
    return next((grant for grant in grants if _may_cover(grant, tool, shown) and covers(grant, call, now)), None)


def _may_cover(grant: Grant, tool: str, shown: str) -> bool:
    """A quick look: what a pattern begins with, up to its first wildcard, stands for itself."""
    return shown.startswith(grant.pattern.partition("*")[0]) and tool_name(grant.tool) == tool


def covers(grant: Grant, call: Call, now: float) -> bool:
    return (
        tool_name(grant.tool) == tool_name(call.tool)
        and not is_expired(grant, now)
        and grant.agent in ("", call.agent)
        and (not grant.cwd or _folder(grant.cwd) == _directory(call))
        and _named_params_match(grant, call.params)
        and _subject_matches(grant, call.params)
    )


def too_broad(grant: Grant) -> str:
    """What a person should think about twice before granting it; empty where the pattern limits something."""
    if only_stars(grant.pattern):
        return f"the pattern {grant.pattern} covers every call of {grant.tool}"
    kind = kind_of(grant.tool)
    if kind == "words" and "*" in grant.pattern.split()[0]:
        return f"the pattern {grant.pattern} covers every program"
    if kind == "words" and runs_any(grant.pattern.split()):
        return f"the pattern {grant.pattern} covers every program or script that {grant.pattern.split()[0]} can run"
    if not grant.expires and "*" in grant.pattern:
        return f"the pattern {grant.pattern} contains a * and the grant never ends"
    return ""


_READ_SCRIPTS = program_catalogue.programs("shell", "sourcer")
_LONG_OPTION = lazy_re.compile(r"--[^=]+")


def runs_any(words: list[str]) -> bool:
    """Whether a `*` may stand for the program that really runs, or for the script of a shell; in doubt it may."""
    if not any("*" in word for word in words):
        return False
    runs = read(" ".join(words)).runs
    if not runs or any("*" in run.argv[0] for run in runs):
        return True
    last = runs[-1]
    own = [word for word in last.argv if word != UNKNOWN]
    passed = words[: max(len(words) - len(own), 0)]
    known = {spelling for run in runs if run.name in WRAPPERS for spelling in wrapper_catalogue.spellings(run.name)}
    if any("*" in word or (_LONG_OPTION.fullmatch(word) and word not in known) for word in passed):
        return True
    if last.name in WRAPPERS:
        return _may_run(last)
    if last.name in _READ_SCRIPTS or INTERPRETER.fullmatch(last.name):
        match own[1:]:
            case ["-m", script, *_] | [script, *_]:
                return attached(script) is not None or "*" in script
            case _:
                return True
    return False


def _may_run(run: ProgramRun) -> bool:
    """Whether a wrapper that runs nothing as it stands may run something with other words for its `*`."""
    verbs = wrapper_catalogue.verbs(run.name)
    words = run.words.texts
    return not verbs or any(all(a == b or "*" in b for a, b in zip(verb, words, strict=False)) for verb in verbs)


def useless(grant: Grant) -> str:
    """Why this pattern can never cover a call; empty where it can."""
    if kind_of(grant.tool) == "url" and "*" in grant.pattern and grant.pattern.strip("*"):
        host, slash, _ = grant.pattern.partition("://")[2].partition("/")
        if not host or not slash:
            return "an address pattern with * needs a / after the host: https://example.com/**"
    if kind_of(grant.tool) == "path" and ".." in grant.pattern.split("/"):
        return "a path with .. is never covered; write it without .."
    words = grant.pattern.split(" ")
    if kind_of(grant.tool) == "address" and grant.pattern.strip("*") and len(words) != len(_MESSAGE.params):
        return 'a pattern for messages has three words, "<channel> <target> <action>", with - for a missing one'
    return ""


def subject(call: Call) -> str | None:
    """What a pattern is compared with for this call; None where nothing can cover it."""
    if not isinstance(call.params, dict):
        return None
    known = SUBJECTS.get(tool_name(call.tool))
    return _shown(known, call.params) if known else _canonical(call.params)


def fixed(call: Call) -> dict[str, str]:
    """The parameters of this call that a grant has to name, each with the glob that is its very value.

    A value with a `*` in it has none: no glob stands for just that text.
    """
    known = SUBJECTS.get(tool_name(call.tool))
    if known is None or not isinstance(call.params, dict):
        return {}
    rest = {name: value for name, value in call.params.items() if name not in known.params}
    named = {name: value for name, value in rest.items() if not isinstance(value, known.free.get(name, ()))}
    return {str(name): text for name, value in named.items() if (text := _glob(value)) and "*" not in text}


def _glob(value: Any) -> str:
    return value if isinstance(value, str) else _canonical(value) or ""


def kind_of(tool: str) -> Kind:
    """How patterns of this tool are read."""
    subject = SUBJECTS.get(tool_name(tool))
    return subject.kind if subject else "json"


def _directory(call: Call) -> str:
    """Where an absolute path says the call runs; otherwise something that no grant names."""
    workdir = call.params.get("workdir") or call.cwd
    known = isinstance(workdir, str) and workdir.startswith("/") and ".." not in workdir.split("/")
    return _folder(workdir) if known else "?"


def _folder(path: str) -> str:
    return path.rstrip("/") or "/"


def _named_params_match(grant: Grant, params: dict[Any, Any]) -> bool:
    return all(name in params and _value_matches(glob, params[name]) for name, glob in grant.params.items())


def _value_matches(glob: str, value: Any) -> bool:
    if not glob.strip("*"):
        return True
    if isinstance(value, str):
        return matches("path", glob, value)
    text = _canonical(value)
    return text is not None and matches("json", glob, text)


def _subject_matches(grant: Grant, params: dict[Any, Any]) -> bool:
    subject = SUBJECTS.get(tool_name(grant.tool))
    if subject is None:
        text = _canonical(params)
        return text is not None and matches("json", grant.pattern, text)
    shown = _shown(subject, params)
    return shown is not None and _rest_is_free(grant, subject, params) and matches(subject.kind, grant.pattern, shown)


def _shown(subject: GrantSubject, params: dict[Any, Any]) -> str | None:
    """The subject as text; None where it has another type, or is not there."""
    if subject.kind != "address":
        value = params.get(subject.params[0])
        return value if isinstance(value, str) else None
    words = [params.get(name, "-") for name in subject.params]
    known = all(isinstance(word, str) and word and not any(sign.isspace() for sign in word) for word in words)
    return " ".join(words) if known else None


def _rest_is_free(grant: Grant, subject: GrantSubject, params: dict[Any, Any]) -> bool:
    known = {*subject.params, *grant.params}
    return all(name in known or isinstance(value, subject.free.get(name, ())) for name, value in params.items())


def _canonical(value: Any) -> str | None:
    try:
        return canonical_json.dumps(value).decode()
    except (rfc8785.CanonicalizationError, RecursionError, UnicodeError):
        return None


_MEANINGS: dict[Kind, str] = {
    "words": "plain words: no option, no quote, no shell character",
    "path": "a name or a part of one; ** also matches /",
    "url": "a part between slashes; ** also matches /",
    "address": "one word",
    "json": "anything within one value",
}


def meaning(tool: str) -> str:
    """What `*` stands for in a pattern of this tool, for a person."""
    return _MEANINGS[kind_of(tool)]
