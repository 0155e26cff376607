"""Code that contacts other machines, or runs what it has received."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import web_targets
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.programs.code_search import MAX_FOUND, any_of, clip

_SOCKETS = (
    "socket", "Socket", "fsockopen", "pfsockopen", "TCPServer", "net.connect", "net.createConnection", "createServer",
    "/inet/tcp",
    "/inet/udp", "require('net')", 'require("net")', "Net.Sockets", "TCPClient", "SOCK_STREAM", "inet_aton", "Bun.connect",
    "gen_tcp", "socketConnection", "TCPSocket", "using Sockets", "tcp-connect",
)  # fmt: skip
_CHILDREN = (
    "/bin/sh", "/bin/bash", "/bin/zsh", "dup2", "pty.spawn", "cmd.exe", "powershell", "'sh'", '"sh"', "'bash'",
    '"bash"', "bash -i",
    "sh -i", ">&S", ">&STDIN", "Invoke-Expression", "iex ", "io.popen(", "| getline", "sh <&", "`sh", "fdopen", "IO.popen",
    "[exec", "exec sh", "os.cmd", "System.cmd", "system(", "Process.run", "runtime().exec", "getRuntime",
)  # fmt: skip
_DECODING = (
    "b64decode", "atob(", "fromCharCode", "unhexlify", "fromhex", "marshal.loads", "zlib.decompress", "base64_decode",
    "gzinflate",
    "str_rot13", "'base64'", '"base64"', "unpack(", "unpack1(", "pack(", "decode('hex')", "rot13", "rot_13",
    "b85decode", "b32decode",
    "FromBase64String", "pickle.loads", "decode_base64", "Base64.decode", "hex2bin", "lzma.decompress",
    "urlsafe_decode", "'hex'",
    "chr(", "::-1]", ".reverse()",
)  # fmt: skip
_ASKING = (
    "urlopen", "requests.get", "urllib", "http.get", "https.get", "fetch(", "file_get_contents('http",
    'file_get_contents("http',
    "open-uri", "Net::HTTP", "URI.open", "LWP::", "HTTP::Tiny", "axios", "DownloadString", "DownloadData",
    "Invoke-WebRequest",
    "Invoke-RestMethod", "iwr ", "irm ", "httpx.get", "curl_exec", "wget ", "curl ",
    "url-retrieve", 'download("http', "download('http",
)  # fmt: skip
_EVALUATING = (
    "exec",
    "eval",
    "load",
    "nclude",
    "require_once",
    "Function",
    "function",
    "runIn",
    "ex ",
    "nvoke",
    "assert",
    "system(",
    "iex",
    "IEX",
)
_EVALUATES = lazy_re.compile(
    r"\b(?:exec|eval|assert|instance_eval|class_eval|execfile|runInNewContext|runInThisContext|loadstring|load|create_function|Function"
    r"|Invoke-Expression|(?i:iex)|include|require_once)(?:\s{0,4}+[({]|\s)|\beval\)|\(eval-buffer|\.exec\(|\|\s{0,4}+(?i:iex)\b|\bsystem\("
)
_ENVIRONMENT = lazy_re.compile(
    r"(?:dict|str|repr|dumps|stringify|urlencode|data\s{0,3}+=|json\s{0,3}+=|body\s{0,3}+:)\s{0,4}+[({]?\s{0,4}+"
    r"(?:dict\()?(?:os\.environ|process\.env|ENV|%ENV|getenv\(\))\b(?!\s{0,3}+[.\[(])"
)
_SENDING_WORDS = (
    "post", "put", "patch", "delete", "Post", "Put", "Patch", "Delete", "POST", "PUT", "PATCH", "DELETE", "data",
    "send", "Upload",
)  # fmt: skip
_SENDING = lazy_re.compile(
    r"(?:requests|httpx|session|client|axios|http|got|superagent|ky|aiohttp)\.(?P<verb>post|put|patch|delete|Delete|Post|Put|Patch)\s{0,4}+\("
    r"|method['\"]?\s{0,4}+(?::|=>?)\s{0,4}+['\"](?P<method>POST|PUT|PATCH|DELETE|post|put|patch|delete)['\"]"
    r"|Net::HTTP(?:\.|::)(?P<ruby>[Pp]ost|Put|Patch|Delete)"
    r"|requests\.request\(\s{0,4}+['\"](?P<asked>POST|PUT|PATCH|DELETE|post|put|patch|delete)['\"]"
    r"|(?:urlopen|Request)\([^()\n]{0,400}?\bdata\s{0,4}+=(?P<data>)|CURLOPT_POSTFIELDS(?P<fields>)|sendmail\((?P<mail>)|\.sendall?\((?P<socket>)"
    r"|(?i:Invoke-(?:RestMethod|WebRequest))[^\n]{0,400}?(?i:-Method)\s{1,4}+['\"]?(?P<power>(?i:post|put|patch|delete))"
    r"|Upload(?:String|File|Data)\((?P<upload>)"
)
_ADDRESS = lazy_re.compile(r"""(?:https?|wss?|ftp)://[^\s'"`<>)\\]{1,400}""")


def network_effects(code: str, program: ProgramRun) -> Iterator[Effect]:
    if connects_shell(code):
        yield Effect("remote-shell", clip(code), "remote", frozenset({"code"}), program)
    if origin := runs_received(code):
        where = "an address in the code" if origin == "fetched" else "decoded text in the code"
        yield Effect("run-text", where, "", frozenset({origin, "code"}), program)
    yield from _sends(code, program)


NEAR = 600


def connects_shell(code: str) -> bool:
    """Whether code has a connection and a shell."""
    return any_of(_SOCKETS, code) and any_of(_CHILDREN, code)


def connects_shell_nearby(code: str) -> bool:
    """Whether long code has a connection and a shell near each other."""
    for word in _SOCKETS:
        at = code.find(word)
        for _ in range(MAX_FOUND):
            if at < 0:
                break
            if any_of(_CHILDREN, code[max(0, at - NEAR) : at + NEAR]):
                return True
            at = code.find(word, at + NEAR)
    return False


def runs_received(code: str) -> str:
    """`fetched` or `decoded` if code evaluates text and contains what such text may come from."""
    if any_of(_EVALUATING, code) and _EVALUATES.search(code):
        if any_of(_ASKING, code) and _EVALUATES.search(_without_regex_calls(code)):
            return "fetched"
        if any_of(_DECODING, code):
            return "decoded"
    return ""


def _without_regex_calls(code: str) -> str:
    """Removes `/x/.exec(text)` of JavaScript, which evaluates nothing, unlike `child_process`."""
    return code if "child_process" in code else code.replace(".exec(", ".")


def _sends(code: str, program: ProgramRun) -> Iterator[Effect]:
    if not any_of(_SENDING_WORDS, code):
        return
    verbs = []
    for count, match in enumerate(_SENDING.finditer(code)):
        if count >= MAX_FOUND:
            break
        verbs.append(next((text for text in match.groupdict().values() if text), "POST").upper())
    if not verbs:
        return
    address = _ADDRESS.search(code)
    to = web_targets.target(address.group() if address else "?")
    flags = to.flags if address else frozenset[str]()
    carries = {"code"}
    if _ENVIRONMENT.search(code):
        carries.add("credentials")
    if re.search(r"files\s{0,3}+=|open\(|readFile|file_get_contents|read_text|read_bytes|createReadStream", code):
        carries.add("file")
    yield Effect("send", to.url if address else "an address in the code", "remote", flags | carries, program)
    for verb in dict.fromkeys(verbs):
        marks = web_targets.request_flags(verb, to) if address else frozenset[str]()
        yield Effect("http", f"{verb} {to.url if address else ''}".rstrip(), "remote", flags | marks | {"code"}, program)
