"""What built-in functions of Python, and its libraries for text, paths and encodings, return."""

from __future__ import annotations

import re
from collections.abc import Callable

from toolguard_engine import lazy_re
from toolguard_engine.effects.languages import code_deeds as deeds
from toolguard_engine.effects.languages import folded_values as folding
from toolguard_engine.effects.languages.code_values import (
    DECODED,
    FROM_ENVIRONMENT,
    MAX_ITEMS,
    NOTHING,
    Unknown,
    Value,
    either,
    items,
    sourced,
    sources,
    text,
    texts,
)
from toolguard_engine.effects.languages.outside_values import environment
from toolguard_engine.effects.languages.python.python_calling import Arguments, PythonCalling
from toolguard_engine.effects.languages.python.python_tables import Act, constant, passing, table

TEMP = deeds.TEMPORARY
_HIGHEST_UNIT, _BYTE, _HUGE = 0x10FFFF, 256, 1 << 32


def _variable(_: PythonCalling, given: Arguments) -> Value:
    return environment(given.text(0, "key"), given.get(1, "default"))


def _text_of(_: PythonCalling, given: Arguments) -> Value:
    value = given.get(0)
    return "" if value is None else either([sourced(piece, sources(value)) for piece in texts(value)])


def _same(_: PythonCalling, given: Arguments) -> Value:
    return given.all[0] if given.all else []


def _fold(fold: Callable[[Value], Value]) -> Act:
    return lambda _, given: folding.each_choice(fold, given.args[0]) if given.args else NOTHING


def _decoder(form: str) -> Act:
    return lambda _, given: folding.decoded(form, given.get(0, "s", "data"))


def _codec(_: PythonCalling, given: Arguments) -> Value:
    return folding.decoded_by(given.text(1, "encoding"), given.get(0, "obj"))


def _path(_: PythonCalling, given: Arguments) -> Value:
    return folding.each_choice(lambda *parts: folding.path_join(list(parts)), *given.args) if given.args else "."


def _split_end(_: PythonCalling, given: Arguments) -> Value:
    value = given.get(0, "p")
    return (folding.each_choice(folding.without_suffix, value), folding.each_choice(folding.suffix, value))


def _expanded(_: PythonCalling, given: Arguments) -> Value:
    return either(
        [sourced(_VARIABLE.sub(_filled, piece), sources(given.get(0))) for piece in given.texts(0, "path")] or [NOTHING]
    )


_VARIABLE = lazy_re.compile(r"\$\{?(\w{1,60})\}?|%(\w{1,60})%")


def _filled(match: re.Match[str]) -> str:
    return text(environment(match[1] or match[2]))


def _json(code: PythonCalling, given: Arguments) -> Value:
    made = folding.as_json(given.get(0, "obj"))
    code.spend(len(made) // 100 if isinstance(made, str) else 1)
    return made


def _chr(_: PythonCalling, given: Arguments) -> Value:
    value = given.get(0)
    known = isinstance(value, int) and 0 < value <= _HIGHEST_UNIT
    return sourced(chr(value), (DECODED,)) if known else Unknown(sources=(*sources(value), DECODED))


def _bytes(code: PythonCalling, given: Arguments) -> Value:
    value = given.get(0)
    if isinstance(value, int):
        if value > _HUGE:
            code.add(deeds.other("load", "uses up all memory"))
        return NOTHING
    if isinstance(value, list | tuple) and value and all(isinstance(byte, int) and 0 <= byte < _BYTE for byte in value):
        return sourced(bytes(value).decode("utf-8", "replace"), (DECODED,))
    return b"" if value is None else value


def _range(_: PythonCalling, given: Arguments) -> Value:
    ends = given.args
    return list(range(*ends)[:2]) if ends and all(isinstance(end, int) for end in ends[:3]) and ends[2:] != [0] else NOTHING


def _zipped(_: PythonCalling, given: Arguments) -> Value:
    parts = [items(argument) for argument in given.args]
    return [tuple(row) for row in zip(*parts, strict=False)][:MAX_ITEMS] if parts and all(parts) else NOTHING


def _numbered(_: PythonCalling, given: Arguments) -> Value:
    return list(enumerate(items(given.get(0)) or [given.get(0)]))


def _reversed(_: PythonCalling, given: Arguments) -> Value:
    value = given.get(0)
    return value[::-1] if isinstance(value, list | tuple | str) else value


def _dict(_: PythonCalling, given: Arguments) -> Value:
    return given.args[0] if given.args and isinstance(given.args[0], dict | Unknown) else dict(given.named)


def _replacements(_: PythonCalling, given: Arguments) -> Value:
    """`str.maketrans(from, to)`."""
    pair = given.args[:2]
    known = len(pair) > 1 and isinstance(pair[0], str) and isinstance(pair[1], str)
    return {ord(old): new for old, new in zip(*pair, strict=False)} if known else NOTHING


CALLS: dict[str, Act] = table(
    ("str.maketrans bytes.maketrans", _replacements),
    ("os.environ.get os.getenv os.environ.setdefault", _variable),
    (("os.path.expanduser os.path.abspath os.path.realpath os.path.normpath os.path.relpath os.fspath os.fsencode"
      " os.fsdecode list sorted set tuple iter frozenset next compile asyncio.run asyncio.gather contextlib.closing tqdm"
      " tqdm.tqdm fnmatch.filter shlex.quote"), _same),
    ("os.path.expandvars", _expanded), ("os.path.join", _path), ("os.path.dirname", _fold(folding.parent)),
    ("os.path.basename", _fold(folding.base)), ("os.path.splitext", _split_end),
    ("pathlib.Path pathlib.PurePath pathlib.PosixPath", _path), ("pathlib.Path.home", constant("~")),
    ("os.getcwd pathlib.Path.cwd", constant(".")), ("tempfile.gettempdir", constant("/tmp")),  # noqa: S108 - a name
    ("tempfile.mkdtemp tempfile.TemporaryDirectory tempfile.mktemp", constant(TEMP)),
    ("tempfile.mkstemp", constant((Unknown("handle", (), TEMP), TEMP))),
    ("tempfile.NamedTemporaryFile tempfile.TemporaryFile", constant(Unknown("file", (), TEMP, "r+"))),
    ("input fileinput.input", passing(deeds.FED)),
    ("str repr", _text_of), ("chr", _chr), ("bytes bytearray", _bytes), ("range", _range), ("zip", _zipped),
    ("dict", _dict),
    ("enumerate", _numbered), ("reversed", _reversed), ("codecs.decode codecs.encode", _codec),
    ("base64.b64decode base64.standard_b64decode base64.decodebytes binascii.a2b_base64", _decoder("base64")),
    ("base64.urlsafe_b64decode", _decoder("base64.urlsafe")), ("base64.b32decode", _decoder("base32")),
    ("base64.b16decode", _decoder("base16")), ("base64.b85decode", _decoder("base85")),
    ("base64.a85decode", _decoder("ascii85")), ("zlib.decompress", _decoder("zlib")), ("gzip.decompress", _decoder("gzip")),
    ("bytes.fromhex bytearray.fromhex binascii.unhexlify binascii.a2b_hex", _decoder("hex")),
    ("bz2.decompress", _decoder("bz2")), ("lzma.decompress", _decoder("lzma")),
    ("json.dumps", _json), ("urllib.parse.urlencode base64.b64encode urllib.parse.quote", passing()),
    ("pyperclip.paste tkinter.Tk.clipboard_get clipboard.paste", passing("program:pbpaste")),
    ("getpass.getuser os.getlogin", passing("program:whoami")),
    ("socket.gethostname socket.getfqdn platform.node platform.uname platform.platform os.uname",
     passing("program:hostname")),
    ("PIL.ImageGrab.grab pyautogui.screenshot mss.mss pyscreenshot.grab", passing("program:screencapture")),
    ("cryptography.fernet.Fernet Crypto.Cipher.AES.new Cryptodome.Cipher.AES.new", constant(Unknown("cipher"))),
)  # fmt: skip
ALIASES = {
    "pd": "pandas", "np": "numpy", "Path": "pathlib.Path", "rmtree": "shutil.rmtree", "urlopen": "urllib.request.urlopen",
    "b64decode": "base64.b64decode", "expanduser": "os.path.expanduser", "Popen": "subprocess.Popen", "sp": "subprocess",
    "environ": "os.environ",
}  # fmt: skip
"""Usual names of libraries, for code whose imports are elsewhere."""

_SIGNALS = {"SIGKILL": 9, "SIGTERM": 15, "SIGINT": 2, "SIGHUP": 1, "SIGQUIT": 3, "SIGSTOP": 19}
_MODES = {
    "S_IRWXU": 0o700, "S_IRUSR": 0o400, "S_IWUSR": 0o200, "S_IXUSR": 0o100, "S_IRWXG": 0o70, "S_IRGRP": 0o40,
    "S_IWGRP": 0o20, "S_IXGRP": 0o10, "S_IRWXO": 0o7, "S_IROTH": 0o4, "S_IWOTH": 0o2, "S_IXOTH": 0o1,
    "S_ISUID": 0o4000, "S_ISGID": 0o2000, "S_IEXEC": 0o100, "S_IREAD": 0o400, "S_IWRITE": 0o200,
}  # fmt: skip
_OPEN_FLAGS = {"O_RDONLY": 0, "O_WRONLY": 1, "O_RDWR": 2, "O_CREAT": 0o100, "O_TRUNC": 0o1000, "O_APPEND": 0o2000}
STDIN = Unknown("sys.stdin", (deeds.FED,))
_ENVIRONMENT = Unknown("os.environ", (FROM_ENVIRONMENT,))
CONSTANTS: dict[str, Value] = {
    "os.sep": "/", "os.path.sep": "/", "os.curdir": ".", "os.pardir": "..", "os.linesep": "\n", "os.devnull": "/dev/null",
    "sys.executable": "python3", "__file__": "./main.py", "__name__": "__main__", "os.name": "posix",
    "sys.platform": "linux",
    "os.environ": _ENVIRONMENT, "os.environb": _ENVIRONMENT, "sys.stdin": STDIN,
    "string.ascii_lowercase": "abcdefghijklmnopqrstuvwxyz", "string.ascii_uppercase": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "string.ascii_letters": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "string.digits": "0123456789",
    "subprocess.PIPE": -1, "subprocess.STDOUT": -2, "subprocess.DEVNULL": -3,
    **{f"signal.{name}": number for name, number in _SIGNALS.items()},
    **{f"signal.Signals.{name}": number for name, number in _SIGNALS.items()},
    **{f"stat.{name}": number for name, number in _MODES.items()},
    **{f"os.{name}": bits for name, bits in _OPEN_FLAGS.items()},
}  # fmt: skip
