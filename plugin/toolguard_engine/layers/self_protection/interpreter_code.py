"""Finds interpreter code that calls the guard's modules, changes its files, or reads its secrets.

Code is searched with patterns, not parsed; what it evidently runs, deletes or writes (`effects.languages`) is among the
programs of the command. Joined strings, and texts in base64, in hexadecimal or reversed, are searched too. Code that only
reads the guard's other files may run.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import islice

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import in_place_edits, interpreters
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.facts.protected_paths import CONFIG_NAMES, Place
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.host import file_names, metrics_path
from toolguard_engine.layers.self_protection import own_config
from toolguard_engine.layers.self_protection.own_command_line import CHANGES, CLI
from toolguard_engine.layers.self_protection.scene import (
    AWKS,
    FILES,
    KEY,
    MAX_FOLDERS,
    SEDS,
    CommandScene,
    ProtectionFinding,
    awk_prints,
    base,
    code_of,
    is_interpreter,
    resolved,
    sed_prints,
)
from toolguard_engine.layers.self_protection.searched_code import SearchedCode
from toolguard_engine.model.call import Keeping
from toolguard_engine.quick_search import may_be_in

_JOINED = lazy_re.compile(r"['\"]\s*+(?:\+\s*+|\.\s*+(?=['\"]))?['\"]")
_STATE = lazy_re.compile(
    r"\.(?:openclaw|clawdbot)\b(?!['\"]?\s*[/,]\s*['\"]?workspace)|OPENCLAW_(?:STATE_DIR|HOME|CONFIG_PATH)|\.(?:open|claw)\w*[*?\[]"
)
_OURS = lazy_re.compile(
    r"toolguard|\bpolicy\b|nonces|standings|glob|\*|['\"/]key\b|"
    + "|".join(re.escape(name) for name in file_names.NAMES if name != "key")
)
_NAMES_GUARD = lazy_re.compile(r"toolguard|(?<![\w-])plugins(?![\w-])", re.IGNORECASE)
_TELLING = lazy_re.compile("|".join(re.escape(name) for name in file_names.DISTINCTIVE))
_FROM_HOME = lazy_re.compile(r"\bHOME\b|expanduser|\bhome\(|homedir|['\"](?:~|/|/home|/Users|/root)/?['\"]")
_WALKS = lazy_re.compile(r"\bwalk|glob|\bfind\b|readdir|scandir|listdir|iterdir")
_SECRET = lazy_re.compile(r"['\"/]key['\"]")
_TOKEN_NAME = lazy_re.compile(r"[.*]token(?:\.html|\*)?['\"$]")
_TOKEN_PART = lazy_re.compile(r"(?<!\[)(?<!get\()['\"]\w{0,20}token(?:\.html)?['\"]")
_FROM_ALL_HOME = lazy_re.compile(
    r"(?:\bhome\(\)|homedir\(\)|expanduser\(\s*['\"]~/?['\"]\s*\)|HOME['\"][\])])(?!\s*[/+,])|['\"](?:/|/home|/Users|/root)/?['\"]"
)
_HOME_FOLDER = (
    r"(?:\bhome\(\)|\bhomedir\(\)|expanduser\(\s*['\"]~/?['\"]\s*\)|HOME['\"][\])]|\bENV\{['\"]?HOME['\"]?\}|process\.env\.HOME\b"
    r"|\bDir\.home\b)"
)
_ALL_HOME = lazy_re.compile(
    rf"{_HOME_FOLDER}(?!\s*[/+.]\s*['\"]|\.joinpath\(\s*['\"]|\s*,\s*['\"](?![/~]))|['\"](?:/|~|~/|/home|/Users|/root)['\"]"
)
_JOINED_TO_HOME = lazy_re.compile(
    rf"{_HOME_FOLDER}\s*(?:[/+.]\s*['\"]/*|\.joinpath\(\s*['\"]/*|,\s*['\"](?!/))([^'\"\n]{{1,200}})['\"]"
)
_JOINED_FURTHER = lazy_re.compile(r"'(~/[^'\n]{1,200})'\s{0,9}/\s{0,9}['\"]/*([^'\"\n]{1,200})['\"]")
"""A further part of such a path: `'~/.openclaw' / 'x'`."""

_MAX_PARTS = 6
_WALKS_ALL = lazy_re.compile(
    r"\bwalk\w*\(|glob\(|readdir\w*\(|scandir\(|listdir\(|iterdir\(|\bfind\s*\(|File::Find|\bDir\b|RecursiveDirectory|\bls\s+-\w*R"
)
_READS = lazy_re.compile(r"\bopen(?!claw)|read(?!dir)|slurp|get_contents|copy|\bcat\b|load|send|upload|write")
_COPIES = lazy_re.compile(
    r"copy_?tree\s*\(|\b(?:dircopy|rcopy|dirmove|rmove|ncp|copy_dir)\b|make_archive\s*\(|\bcp(?:Sync)?\s*\(|cp_r\b"
    r"|copySync\s*\(|\.add\s*\("
)
_HIDDEN_TOO = lazy_re.compile(r"DOTMATCH|include_hidden\s*=\s*True|\bdot\s*:\s*true")
_CHOOSES = lazy_re.compile(
    r"['\"/]\*?\.\w{1,5}['\"$]|\\\.\w{1,5}\$|\*\.\w{1,5}\b|\.suffix|extname|splitext|\.(?:ends|starts)with|\.ends?_with\?"
)
"""Code that selects files of one kind, or skips hidden folders."""

_FOLDER = lazy_re.compile(
    r"(?<!path\.insert\(0,)(?<!path\.insert\(0, )(?<!path\.append\()['\"]((?:[~.]|/)[^'\"\n*?\[]{0,200})['\"]"
)
_MAX_FOLDERS = 50
"""Folders named in code that are checked."""

_LINK = lazy_re.compile(r"/proc/[^'\"\s]{1,100}/cwd\b")
_SECRET_FOLDER = lazy_re.compile(r"toolguard|\bglob\b|\*")
_WRITES = lazy_re.compile(
    r"open\w*\s*\([^)\n]{0,200},\s*(?:mode\s*=\s*)?['\"][rbt]*[wax>+]|open\b[^;\n]{0,80}['\"]\+?>|(?<!stdout\.)(?<!stderr\.)write"
    r"|unlink|remove|rename|rmtree|\brm(?:Sync|dir)?\b|\bmv\b|\bmove\b|copy|\bcp(?:Sync)?\b|chmod|chown|dump\(|symlink|truncate"
    r"|os\.replace|\.replace\([^,()\n]{0,200}\)|append(?:File|_text)|\bsed\b|\btee\b|put_contents|\btouch\b|delete|O_[WRC][A-Z]"
    r"|\bexec\b|\beval\b|system|spawn|popen|subprocess|>\s*['\"(]"
    r"|(?i:\bdelete\s+from\b|\b(?:insert|replace)\b[\s\w]{0,20}\binto\b|\bupdate\s+\S{1,100}\s+set\b|\b(?:drop|alter)\s+table\b|\bvacuum\b)"
)
_WHOLE = lazy_re.compile(r"rmtree|\brm(?:Sync)?\b|rename|\bmove\b|copytree|make_archive|os\.replace|symlink|\bmv\b|cpSync")
_IMPORT = lazy_re.compile(
    r"['\"]toolguard_(?:cli|engine)\b|(?:\bimport|\bfrom|import_module|run_module|run_path|__import__|\brequire)\W++(?:[\w./]{0,200}\W)?toolguard_(?:cli|engine)\b"
)
_CALLED = lazy_re.compile(r"\btoolguard(?:_cli)?[\s,+()\[\]'\"]{1,12}(?:" + "|".join(sorted(CHANGES)) + r")\b")
_SPLIT = lazy_re.compile(r"[\s'\"`=,;|&()<>\[\]{}]+")
_ENCODED = lazy_re.compile(r"[A-Za-z0-9+/_-]{12,}+={0,2}")
_HEX = lazy_re.compile(r"(?>(?:[0-9A-Fa-f]{2})+)")
_QUOTED = lazy_re.compile(r"\"[^\"\n]{4,2000}\"|'[^'\n]{4,2000}'")
_BACKWARDS = lazy_re.compile(r"\[::-1\]|\brevers")
_MAX_ENCODED = 200
_EDITORS = SEDS | AWKS
"""Programs whose code writes with symbols, not words."""


def findings(scene: CommandScene) -> Iterator[ProtectionFinding]:
    read = [path for run in scene.runs if is_interpreter(run.name) for path in interpreters.paths(run)]
    names = SearchedCode("\n".join(map(repr, read))) if read else None
    for program, text in scene.codes:
        code = SearchedCode(text.code, _with_hidden_texts, names)
        if why := _about(code, program, scene):
            harmless: Keeping | None = "secrets" if why == KEY else None
            yield ProtectionFinding(why, why != own_config.CHANGED, _cause(code.text, scene), harmless)
        elif _reads_all_home(code, scene):
            yield ProtectionFinding(KEY, certain=False, harmless=None if code.has(_COPIES) else "credentials")


def look_ahead(run: ProgramRun) -> None:
    """Finds out about the code of a program what most judgements ask, before it runs."""
    code = SearchedCode(code_of(run), _with_hidden_texts)
    for pattern in (_WRITES, _WHOLE, _TELLING, _LINK, _STATE, _WALKS_ALL, _READS, _CHOOSES, _COPIES):
        code.has(pattern)
    for word in ("toolguard", "token", *CONFIG_NAMES):
        _ = word in code


@lru_cache(maxsize=8)
def _with_hidden_texts(code: str) -> str:
    """The code with its string pieces joined, followed by the texts that it holds encoded or reversed."""
    code = _JOINED.sub("", code)
    if ("HOME" in code or "home" in code or "~" in code) and may_be_in(_JOINED_TO_HOME, code):
        code = _JOINED_TO_HOME.sub(r"'~/\1'", code)
        for _ in range(_MAX_PARTS):
            code, more = _JOINED_FURTHER.subn(r"'\1/\2'", code)
            if not more:
                break
    hidden = [
        text for match, _ in zip(_ENCODED.finditer(code), range(_MAX_ENCODED), strict=False) for text in _decoded(match[0])
    ]
    if may_be_in(_BACKWARDS, code) and _BACKWARDS.search(code):
        hidden += [match[0][-2:0:-1] for match in _QUOTED.finditer(code)]
    return "\n".join([code, *hidden])


def _decoded(token: str) -> Iterator[str]:
    if _HEX.fullmatch(token):
        yield from _printable(bytes.fromhex(token))
    digits = token.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        yield from _printable(b64decode(digits + "=" * (-len(digits) % 4)))
    except Base64Error:
        return


def _printable(data: bytes) -> Iterator[str]:
    text = data.decode("latin-1").rstrip("\0\n")
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        yield text


def _takes_token(code: SearchedCode, places: frozenset[Place], scene: CommandScene) -> bool:
    """Whether code searches for the dashboard's token, or builds its name, near where it is kept."""
    name = base(scene.host.metrics)
    if not name or "token" not in code:
        return False
    if not places.isdisjoint(("guard", "config")) and metrics_path.TOKEN in code:
        return True
    listed, named, part = (code.has(pattern) for pattern in (_WALKS, _TOKEN_NAME, _TOKEN_PART))
    if _is_near(code, places, name, scene):
        return bool(named or (part and (listed or name.partition(".")[0] in code)))
    return bool(named and listed and (code.has(_FROM_ALL_HOME) or _quoted(scene.protected.home, code)))


def _is_near(code: SearchedCode, places: frozenset[Place], name: str, scene: CommandScene) -> bool:
    """Whether code names the token's folder, or the metrics file `name` in the home or in such a folder."""
    if code.has(_STATE) or code.has(_LINK) or not places.isdisjoint({"root", "config", "guard"}):
        return True
    return name in code and (code.has(_FROM_HOME) or any(base(above) in code for above in scene.protected.above))


def _reads_all_home(code: SearchedCode, scene: CommandScene) -> bool:
    """Whether code walks the whole home folder or disk and reads what it finds, or copies it."""
    walks = code.has(_WALKS_ALL) and code.has(_READS) and not code.has(_CHOOSES)
    if not walks and not code.has(_COPIES):
        return False
    if code.has(_ALL_HOME) or _quoted(scene.protected.home, code):
        return True
    copies = walks or "tarfile" in code or any(not match[0].startswith(".add") for match in _COPIES.finditer(code.text))
    named = islice(_FOLDER.finditer(code.text), _MAX_FOLDERS) if copies else ()
    if any(_holds_secret(match[1], scene) for match in named):
        return True
    return "~/**" in code and code.has(_HIDDEN_TOO)


def _holds_secret(path: str, scene: CommandScene) -> bool:
    """Whether a folder named in code holds a secret, seen from any folder that the command may be in."""
    folders = {scene.here(run) for run in scene.runs if is_interpreter(run.name)} or set(scene.folders)
    return any(scene.holds_secret(resolved(path, scene.host, folder)) for folder in list(folders)[:MAX_FOLDERS])


def _quoted(text: str, code: SearchedCode) -> bool:
    return f"'{text}'" in code or f'"{text}"' in code


def _cause(code: str, scene: CommandScene) -> str:
    """The first protected path that it names."""
    return next((path for path in _SPLIT.split(code) if ("/" in path or "." in path) and scene.place(path)), "")


def _places(scene: CommandScene, code: str) -> frozenset[Place]:
    """The kinds of places that code names."""
    return frozenset(map(scene.place, scene.unclear(path for path in set(_SPLIT.split(code)) if "/" in path or "." in path)))


def _about(code: SearchedCode, program: str, scene: CommandScene) -> str:
    if "toolguard" in code and program not in _EDITORS and (code.has(_IMPORT) or code.has(_CALLED)):
        return CLI
    places = code.all(("places", scene.host, scene.folders), partial(_places, scene))
    kept = scene.protected.kept
    if "key" in places or any(token in code for token in kept[:1]) or _takes_token(code, places, scene):
        return KEY
    if (program in SEDS and sed_prints(option_parser.read_words(program, (program, *code.text.split("\n"))))) or (
        program in AWKS and awk_prints(code.text)
    ):
        return ""
    if program in SEDS and all(in_place_edits.is_understood(run) for run in scene.runs if run.name in SEDS):
        return ""  # it opens the files that its words name, and no other
    writes = program in _EDITORS or code.has(_WRITES)
    if "guard" in places and writes:
        return FILES
    is_config = "config" in places or any(name in code for name in CONFIG_NAMES)
    if is_config and (writes or code.has(_WHOLE)) and "root" not in places:
        return "" if scene.lists.is_worked_out else FILES if code.has(_NAMES_GUARD) else own_config.CHANGED
    if is_config and writes:
        return FILES
    if writes and code.has(_TELLING) and code.has(_FROM_HOME) and code.has(_WALKS):
        return FILES
    if code.has(_LINK) and code.has(_SECRET) and "toolguard" in code:
        return KEY
    if not code.has(_STATE):
        return FILES if "root" in places and code.has(_WHOLE) else ""
    if code.has(_SECRET) and code.has(_SECRET_FOLDER):
        return KEY
    ours = code.has(_OURS) or any(name in code for name in kept)
    return FILES if (writes and ours) or code.has(_WHOLE) else ""
