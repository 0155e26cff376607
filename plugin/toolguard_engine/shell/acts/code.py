"""Interpreters that are given their code on the command line, at standard input or by a substitution.

Effects: `code` (the code as target, its language as a flag), and of what the code plainly says: `delete`, `write`, `read`
with the paths that stand in it, `delete-found` (what a search finds), `method` (a call that deletes or cancels things of a
service), `sql`, `send`, `http`, `listen`, `remote-shell`. `shell-out`: a shell with nothing to do, started
by code or by an option of another program. `run-text` is text that nobody has seen and that runs, with the
flags `fetched` (made by a program that asks another machine), `decoded` (taken out of another form), `unknown` (made by
other programs), `variable`; its target names where the text comes from.

Code is searched, not understood: each search is linear, and looks at the first `MAX_CODE` characters.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator

from toolguard_engine.shell.acts import Act
from toolguard_engine.shell.acts.codetext import MAX_FOUND, STRING, any_of, clip, found_in, says, talks, text_of
from toolguard_engine.shell.acts.web import SHELLS
from toolguard_engine.shell.model import UNKNOWN, Effect, Feed, Run
from toolguard_engine.shell.places import Where, place

MAX_CODE = 20_000
MAX_OPTIONS = 40

FETCHERS = frozenset({
    "curl", "curlie", "wget", "wget2", "http", "https", "xh", "xhs", "aria2c", "axel", "nc", "ncat", "netcat",
    "socat", "telnet",
    "ssh", "scp", "sftp", "ftp", "lftp", "tftp", "lynx", "w3m", "links", "elinks", "fetch", "GET", "lwp-request",
    "dig", "nslookup",
    "host", "drill", "gsutil", "ipfs", "rclone", "lwp-download", "ncftpget", "smbclient",
})  # fmt: skip
DECODERS = frozenset({
    "base64", "base32", "basenc", "gbase64", "xxd", "openssl", "rev", "gunzip", "gzip", "zcat", "bunzip2", "bzcat",
    "xz", "xzcat",
    "unxz", "zstd", "zstdcat", "uudecode", "gpg", "hexdump", "od", "b64decode", "ascii85", "brotli", "uncompress",
    "lzma", "lz4",
})  # fmt: skip
_CLIPBOARDS = frozenset({"pbpaste", "xclip", "xsel", "wl-paste"})
_SAYERS = frozenset(
    {"echo", "printf", "cat", "tac", "head", "tail", "tee", "grep", "sudo", "env", "command", "nice", "timeout"}
)
_EDITORS = frozenset(
    {"tr", "sed", "awk", "gawk", "perl", "cut", "fold", "paste", "python", "python3", "ruby", "node", "php"}
)

_LANGUAGES: dict[str, tuple[str, str]] = {
    # program: language, letters of the options behind which code stands
    "python": ("python", "c"),
    "pypy": ("python", "c"),
    "ipython": ("python", "c"),
    "node": ("javascript", "ep"),
    "nodejs": ("javascript", "ep"),
    "bun": ("javascript", "ep"),
    "tsx": ("javascript", "ep"),
    "ts-node": ("javascript", "ep"),
    "deno": ("javascript", ""),
    "perl": ("perl", "eE"),
    "ruby": ("ruby", "e"),
    "jruby": ("ruby", "e"),
    "php": ("php", "rBRE"),
    "lua": ("lua", "e"),
    "luajit": ("lua", "e"),
    "awk": ("awk", ""),
    "gawk": ("awk", "e"),
    "mawk": ("awk", ""),
    "nawk": ("awk", ""),
    "osascript": ("applescript", "e"),
    "powershell": ("powershell", ""),
    "pwsh": ("powershell", ""),
    "Rscript": ("r", "e"),
    "R": ("r", "e"),
    "julia": ("julia", "eE"),
    "elixir": ("elixir", "e"),
    "groovy": ("groovy", "e"),
    "scala": ("scala", "e"),
    "tclsh": ("tcl", ""),
    "expect": ("tcl", "c"),
    "swift": ("swift", "e"),
    "ghc": ("haskell", "e"),
    "racket": ("lisp", "e"),
    "guile": ("lisp", "c"),
    "rails": ("ruby", ""),
    "irb": ("ruby", ""),
    "psysh": ("php", ""),
    "rake": ("ruby", "ep"),
    "jrunscript": ("javascript", "e"),
    "jjs": ("javascript", ""),
    "octave": ("octave", ""),
    "octave-cli": ("octave", ""),
    "slsh": ("octave", "e"),
    "emacs": ("lisp", ""),
}
_LONGEST_CLUSTER = 7
_LONG = frozenset({"--eval", "--print", "--execute", "--run", "--command"})
_NO_CODE = ("-M", "-m", "-I", "-x", "-D", "-C", "-W", "-X")
"""Options of perl, python and ruby whose own value stands behind the letter."""
_WITH_VALUE = frozenset(
    {"-W", "-X", "-r", "--require", "-I", "-C", "-d", "-l", "--import", "--loader", "-L", "-cp", "--project"}
)
"""Options whose value may be the next word; any other word that is no option is the script, and ends them."""

_POWERSHELL = re.compile(r"[-/](?:c|co|com|comm|comma|comman|command)\Z", re.IGNORECASE)
_ENCODED = re.compile(r"[-/](?:e|ec|en|enc[a-z]{0,15})\Z", re.IGNORECASE)


def _plain(name: str) -> str:
    """The program without a version: `python3.11` is `python`, `perl5.36` is `perl`, `node@22` is `node`."""
    name = name.partition("@")[0] or name
    return name if name in _LANGUAGES else name.rstrip("0123456789.").removesuffix("-")


def language(name: str) -> str:
    """The language that a program reads; empty where it is no interpreter."""
    return _LANGUAGES.get(_plain(name), ("", ""))[0]


# --- where code stands ----------------------------------------------------------------------------------------------------


def source(run: Run) -> tuple[str, str] | None:
    """The language and the code of a run whose code can be read; None where there is none or it cannot be known."""
    language, letters = _LANGUAGES.get(_plain(run.name), ("", ""))
    if not language:
        return None
    reader = _SPECIAL.get(language) or _SPECIAL.get(_plain(run.name)) or _console(run)
    texts = reader(run) if reader else list(_given_by_option(run, letters))
    if texts:
        return language, "\n".join(texts)[:MAX_CODE]
    if reader is None and not _script(run):
        text = _said(run)
        if text:
            return language, text[:MAX_CODE]
    return None


def _given_by_option(run: Run, letters: str) -> Iterator[str]:
    argv, behind = run.argv, 0
    for at in range(1, min(len(argv), MAX_OPTIONS)):
        word = argv[at]
        if at == behind:
            continue
        if word[:1] != "-" or word in ("--", "-") or (word == "-m" and letters == "c"):
            return
        if word in _WITH_VALUE:
            behind = at + 1
        name, attached, value = word.partition("=")
        if name in _LONG:
            if attached:
                yield value
            elif at + 1 < len(argv):
                behind = at + 1
                yield argv[behind]
        elif word[1:2] != "-" and not word.startswith(_NO_CODE):
            behind = at + 1 if word[-1] in letters else behind
            yield from _by_letter(argv, at, letters)


def _by_letter(argv: tuple[str, ...], at: int, letters: str) -> Iterator[str]:
    """Code behind `-e`, `-lane`, and attached as in `-e'code'`."""
    word = argv[at]
    if word[-1] in letters and len(word) <= _LONGEST_CLUSTER:
        if at + 1 < len(argv):
            yield argv[at + 1]
    elif word[1:2] in letters and len(word) > 2:  # noqa: PLR2004 - the dash and a letter
        yield word[2:]


def _awk(run: Run) -> list[str]:
    """The first operand, unless the program stands in a file."""
    argv, at = run.argv, 1
    while at < len(argv):
        word = argv[at]
        if word in ("-f", "--file", "-E", "--exec") or (word.startswith(("-f", "--file=")) and len(word) > 2):  # noqa: PLR2004 - the option and its letter
            return []
        if word in ("-v", "-F", "--assign", "--field-separator"):
            at += 2
        elif word.startswith("-") and len(word) > 1 and word != "--":
            if word in ("-e", "--source"):
                return [argv[at + 1]] if at + 1 < len(argv) else []
            at += 1
        else:
            at += word == "--"
            return [argv[at]] if at < len(argv) else []
    return []


def _deno(run: Run) -> list[str]:
    words = [word for word in run.argv[1:] if not word.startswith("-")]
    return words[1:2] if words[:1] == ["eval"] else []


def _rails(run: Run) -> list[str]:
    words = [word for word in run.argv[1:] if not word.startswith("-")]
    return words[1:2] if words[:1] in (["runner"], ["r"]) else []


def _powershell(run: Run) -> list[str]:
    argv = run.argv
    for at in range(1, len(argv) - 1):
        if _POWERSHELL.match(argv[at]):
            return [" ".join(argv[at + 1 :])]
        if _ENCODED.match(argv[at]):
            return [_utf16(argv[at + 1])]
    words = [word for word in argv[1:] if not word.startswith(("-", "/"))]
    if words and not words[0].endswith((".ps1", ".psm1")):
        return [" ".join(words)]
    text = _said(run)
    return [text] if text else []


def _utf16(text: str) -> str:
    import base64  # noqa: PLC0415 - seldom needed, and start-up counts
    import binascii  # noqa: PLC0415 - as above

    try:
        return base64.b64decode(text[:MAX_CODE]).decode("utf-16-le", "replace")
    except (ValueError, binascii.Error):
        return text


def _console(run: Run) -> Callable[[Run], list[str]] | None:
    """`python manage.py shell -c`, `php artisan tinker --execute`: a framework's own console."""
    words = run.argv[1:4]
    if not any(word.endswith(("manage.py", "artisan", "bin/console")) for word in words[:1]):
        return None
    return _framework if {"shell", "shell_plus", "tinker"}.intersection(words) else None


def _framework(run: Run) -> list[str]:
    for at, word in enumerate(run.argv):
        if word in ("-c", "--command", "--execute") and at + 1 < len(run.argv):
            return [run.argv[at + 1]]
        if word.startswith(("--execute=", "--command=")):
            return [word.partition("=")[2]]
    text = _said(run)
    return [text] if text else []


_SPECIAL = {"awk": _awk, "deno": _deno, "powershell": _powershell, "rails": _rails}


def _script(run: Run) -> bool:
    """Whether a script or module is named, so that standard input is data and not code."""
    return any(not word.startswith("-") or word.startswith("-m") for word in run.argv[1:]) and "-" not in run.argv[1:]


def _said(run: Run) -> str:
    """The text at standard input, where it is known."""
    for redirect in run.redirects:
        if redirect.kind == "text" and redirect.fd in ("", "0"):
            return redirect.target
    return (run.stdin.text or "") if run.stdin is not None else ""


# --- text that runs unseen --------------------------------------------------------------------------------------------


def _origin(feed: Feed | None) -> tuple[str, frozenset[str]] | None:
    """Where a text comes from that runs, and how: None where it is a file, or what a program says about itself."""
    if feed is None or not feed.programs:
        return None
    target = " | ".join(feed.programs[:6])
    if any(name in FETCHERS for name in feed.programs):
        decoded = any(name in DECODERS for name in feed.programs)
        return target, frozenset({"fetched", "decoded"}) if decoded else frozenset({"fetched"})
    if any(name in DECODERS for name in feed.programs):
        return target, frozenset({"decoded"})
    if any(name in _CLIPBOARDS for name in feed.programs):
        return target, frozenset({"unknown"})
    if feed.text is None and any(name in _EDITORS for name in feed.programs):
        mangled = feed.programs[0] in ("echo", "printf")
        return target, frozenset({"decoded"}) if mangled else frozenset({"unknown"})
    return None


def unseen(run: Run, feed: Feed | None, *, piped: bool) -> Iterator[Effect]:
    """A text that runs and that nobody has seen; `piped`: it comes through a pipe, not by a substitution."""
    origin = _origin(feed)
    if origin is not None:
        yield Effect("run-text", origin[0], "", origin[1], run)
    elif piped and feed is not None and feed.text is None and set(feed.programs) - _SAYERS:
        yield Effect("run-text", " | ".join(feed.programs[:6]), "", frozenset({"unknown"}), run)


def _substituted(run: Run) -> Iterator[Effect]:
    """`sh -c "$(curl ...)"`, `bash <(curl ...)`: words of an interpreter that a fetcher prints, up to its script."""
    for at, feed in run.given:
        if any(("." in word or "/" in word) and word[:1] != "-" for word in run.argv[1:at]):
            return
        if 0 < at < len(run.argv) and (UNKNOWN in run.argv[at] or feed.text is not None):
            alone = run.argv[at].strip(UNKNOWN + " ;\n") == "" or feed.text is not None or "/dev/fd" in run.argv[at]
            if alone or run.argv[at - 1].startswith("-"):
                yield from unseen(run, feed, piped=False)


_HANDED_OUT = re.compile(r"-[ilp]{1,3}\Z")
_SITS_THERE = frozenset({
    "docker", "docker-compose", "podman", "nerdctl", "kubectl", "oc", "ssh", "mosh", "lxc", "incus", "vagrant", "multipass",
    "toolbox", "distrobox", "tmux", "screen", "script",
})  # fmt: skip
_STARTERS = frozenset({
    "find", "gfind", "fd", "fdfind", "bfs", "vim", "vi", "nvim", "rvim", "view", "vimdiff", "ex", "tar", "gtar", "zip",
    "man", "less", "rsync", "git", "split", "sort", "expect", "env", "nice", "ionice", "timeout", "gtimeout", "time",
    "gtime", "flock", "stdbuf", "taskset", "chrt", "setarch", "linux32", "linux64", "strace", "ltrace", "valgrind",
    "watch", "busybox", "toybox", "prlimit", "setpriv", "runcon", "cpulimit", "rlwrap", "logsave", "aa-exec", "choom",
    "chpst", "cgexec", "numactl", "setlock", "softlimit", "faketime", "multitime", "ssh-agent", "systemd-run", "chroot",
    "unshare", "nsenter", "pexec", "distcc", "ccache",
})  # fmt: skip


def _handed_out(run: Run) -> Iterator[Effect]:
    """A shell with nothing to do that another program starts: whoever types there is not bound to that program."""
    if run.stdin is not None or any(word[:1] != "-" or not _HANDED_OUT.match(word) for word in run.argv[1:]):
        return
    if any(redirect.kind in ("read", "text") for redirect in run.redirects) or not _SITS_THERE.isdisjoint(run.via):
        return
    starter = next((name for name in run.via if name in _STARTERS or _plain(name) in _LANGUAGES), "")
    if starter:
        yield Effect("shell-out", starter, "", frozenset(), run)


def _shell(run: Run, _: Where) -> Iterator[Effect]:
    yield from _substituted(run)
    yield from _handed_out(run)
    if ("-c" not in run.argv and not _script(run)) or "-s" in run.argv[1:4]:
        yield from unseen(run, run.stdin, piped=True)
    elif any(word == UNKNOWN for word in run.argv[2:4]) and not run.given:
        yield Effect("run-text", "a variable", "", frozenset({"variable"}), run)
    yield from _socket_redirects(run)


def _socket_redirects(run: Run) -> Iterator[Effect]:
    """`bash -i >& /dev/tcp/host/port`: a shell that listens to another machine."""
    for redirect in run.redirects:
        if redirect.target.startswith(("/dev/tcp/", "/dev/udp/")):
            yield Effect("remote-shell", redirect.target, "remote", frozenset(), run)
            return


def _evaluated(run: Run, _: Where) -> Iterator[Effect]:
    """`eval`, `source` and `.`: their words are the command, or the file."""
    yield from _substituted(run)
    if run.name == "eval" and any(UNKNOWN in word for word in run.argv[1:]) and not run.given:
        yield Effect("run-text", "a variable", "", frozenset({"variable"}), run)
    if run.name != "eval" and "/dev/stdin" in run.argv[1:]:
        yield from unseen(run, run.stdin, piped=True)


# --- commands in code -----------------------------------------------------------------------------------------------------

_CALLS: dict[str, str] = {
    "python": (
        r"(?:\bsystem|popen2?|\bspawn|\brun|\bcall|check_call|check_output|Popen|getoutput|getstatusoutput|exec[lv]p?e?"
        r"|spawn[lv]p?e?|create_subprocess_(?:shell|exec)|startfile)"
    ),
    "javascript": (
        r"(?:\bexec(?:File)?(?:Sync)?|\bspawn(?:Sync)?|\bfork|execa(?:Sync|Command|CommandSync)?|Deno\.Command"
        r"|Bun\.spawn(?:Sync)?|shelljs\.exec|sh\.exec)"
    ),
    "perl": r"(?:\bsystem|\bexec|\bpopen|open[23])",
    "ruby": r"(?:\bsystem|\bexec|\bspawn|popen[23]?e?|capture[23]e?|Open3\.\w{1,12}|pipeline)",
    "php": r"(?:\bsystem|\bexec|shell_exec|passthru|popen|proc_open|pcntl_exec)",
    "awk": r"(?:\bsystem)",
    "lua": r"(?:os\.execute|io\.popen)",
    "applescript": r"(?:do shell script)",
    "r": r"(?:\bsystem2?|\bshell)",
    "julia": r"(?:\brun|\bread|\bpipeline)",
    "elixir": r"(?:System\.(?:cmd|shell)|:os\.cmd)",
    "tcl": r"(?:\bexec|\bspawn|\bsystem)",
    "swift": r"(?:\bsystem|\bshell)",
    "haskell": r"(?:callCommand|callProcess|system|readProcess)",
    "lisp": r"(?:\(system\*?|shell-command|call-process|start-process|\((?:ansi-)?term)",
    "octave": r"(?:\bsystem|\bshell_cmd|\bunix)",
    "groovy": r"(?:Runtime\.getRuntime\(\)\.exec)",
    "scala": r"(?:Process|Runtime\.getRuntime\(\)?\.exec)",
}
_PLAIN_QUOTES: dict[str, str] = {
    # a literal that is itself a command
    "perl": (
        r"`([^`]{1,400}+)`|\bqx\s{0,2}+(?:\{([^}]{1,400}+)\}|\(([^)]{1,400}+)\)|/([^/]{1,400}+)/|!([^!]{1,400}+)!"
        r"|\[([^\]]{1,400}+)\])"
    ),
    "ruby": r"`([^`]{1,400}+)`|%x\s{0,2}+(?:\{([^}]{1,400}+)\}|\(([^)]{1,400}+)\)|\[([^\]]{1,400}+)\]|\|([^|]{1,400}+)\|)",
    "php": r"`([^`]{1,400}+)`",
    "julia": r"`([^`]{1,400}+)`",
    "javascript": r"\$`([^`]{1,400}+)`",
    "awk": r'"([^"\n]{1,400}+)"\s{0,4}+\|&?\s{0,4}+getline|\|&?\s{0,4}+"([^"\n]{1,400}+)"',
    "groovy": r"""["']([^"'\n]{1,400}+)["']\.execute\(""",
    "scala": r"""["']([^"'\n]{1,400}+)["']\s{0,4}+\.?!{1,2}""",
}
_CALLING: dict[str, tuple[str, ...]] = {
    "python": ("system", "popen", "spawn", "subprocess", "Popen", "exec", "output", "startfile", "run(", "call("),
    "javascript": ("exec", "spawn", "fork", "Deno.Command"),
    "": (
        "system",
        "open",
        "spawn",
        "run",
        "exec",
        "capture",
        "pipeline",
        "passthru",
        "cmd",
        "hell",
        "Command",
        "Process",
        "read",
        "term",
    ),
}
_LIST = re.compile(rf"\s{{0,9}}+,?\s{{0,9}}+{STRING}")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([0-7]{1,3})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}

_SHELLISH = frozenset({
    "rm", "rmdir", "dd", "mkfs", "shutdown", "reboot", "poweroff", "halt", "chmod", "chown", "mv", "git", "sudo",
    "curl", "wget",
    "kill", "killall", "pkill", "shred", "find", "docker", "kubectl", "terraform", "systemctl", "bash", "sh", "nc",
    "wipefs", "unlink",
    "truncate", "crontab", "iptables", "ufw", "aws", "gcloud", "az", "dropdb",
})  # fmt: skip


def commands(code: str, language: str) -> tuple[str, ...]:
    """The shell commands that stand as literals in code, in the order of the text; `language` as `source` names it."""
    code = code[:MAX_CODE]
    if _reads_as_command(code):
        return (code,)
    found: list[tuple[int, str]] = []
    call = _CALLS.get(language)
    if call and any_of(_CALLING[language] if language in _CALLING else _CALLING[""], code):
        for match in found_in(rf"{call}\s{{0,4}}+(?P<open>[(\s\[{{]{{0,4}}+){STRING}", code):
            found.append((match.start(), _command(match, code)))  # noqa: PERF401 - the same list is added to twice
    quoted = _PLAIN_QUOTES.get(language)
    if quoted:
        found.extend((match.start(), next(g for g in match.groups() if g)) for match in found_in(quoted, code))
    return tuple(text for _, text in sorted(found) if text.strip())


def _command(match: re.Match[str], code: str) -> str:
    """`"rm -rf x"`, or the words of `["rm", "-rf", "x"]` and `"rm", ["-rf", "x"]` put together again."""
    words = [_unescape(text_of(match))]
    at = match.end()
    in_list = "[" in match.group("open")
    while len(words) < MAX_FOUND:
        while code[at : at + 1] in (" ", "\n", "\t", ",", "["):
            in_list = in_list or code[at] in "[,"
            at += 1
        following = _LIST.match(code, at)
        if following is None:
            break
        words.append(_unescape(next((g for g in following.groups() if g), "")))
        at = following.end()
    if words[1:] and _base(words[0]) == _base(words[1]):
        del words[1]  # execl("/bin/sh", "sh", ...): the name that the program is told to have
    if len(words) == 1 and not in_list:
        return words[0]
    return words[0] if len(words) == 1 else " ".join(shlex.quote(word) for word in words)


def _base(word: str) -> str:
    return word.rpartition("/")[2]


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    two, four, octal, other = match.groups()
    if two or four:
        return chr(int(two or four, 16))
    if octal:
        return chr(int(octal, 8)) if octal != "0" else ""
    return _ESCAPED.get(other, other)


def _reads_as_command(code: str) -> bool:
    """Code that is a line of shell: no interpreter takes `rm -rf /`, but who writes it means it."""
    words = code[:200].split(None, 2)
    if len(words) < 2 or words[0] not in _SHELLISH:  # noqa: PLR2004 - a program and a word
        return False
    second = words[1]
    return second[:1] in "-/~." or (second[:1].isalnum() and len(words) > 2 and words[2][:1] in "-/~.")  # noqa: PLR2004 - the same


# --- effects --------------------------------------------------------------------------------------------------------------


_WIDE = frozenset({"root", "home", "system", "credentials"})


def _serves(run: Run, where: Where) -> Iterator[Effect]:
    """A web server whose folder is a home or the whole system; one for a project is how it is tried."""
    folder = ""
    if run.argv[1:3] == ("-m", "http.server"):
        folder = next((run.argv[i + 1] for i, word in enumerate(run.argv[:-1]) if word in ("-d", "--directory")), run.cwd)
    elif run.argv[1:2] == ("-S",):
        folder = next((run.argv[i + 1] for i, word in enumerate(run.argv[:-1]) if word == "-t"), run.cwd)
    if folder and place(folder, where, run.cwd) in _WIDE:
        yield Effect("listen", folder, place(folder, where, run.cwd), frozenset({"files"}), run)


def _interpreter(run: Run, where: Where) -> Iterator[Effect]:
    yield from _substituted(run)
    yield from _serves(run, where)
    found = source(run)
    if found is None:
        if not _script(run) and language(run.name) not in ("awk", "applescript"):
            yield from unseen(run, run.stdin, piped=True)
        return
    named, code = found
    if not code.strip(UNKNOWN + " \n") and UNKNOWN in code and not run.given:
        yield Effect("run-text", "a variable", "", frozenset({"variable"}), run)
    yield Effect("code", code, "", frozenset({named}), run)
    yield from talks(code, run)
    if named != "awk":
        yield from says(code, run, where)
    elif "/inet/" in code and "getline" in code:
        yield Effect("remote-shell", clip(code), "remote", frozenset({"code"}), run)


def _names() -> Iterable[str]:
    yield from _LANGUAGES
    for name, versions in (
        ("python", ("2", "3", "2.7")),
        ("pypy", ("3",)),
        ("ipython", ("3",)),
        ("lua", ("5.1", "5.2", "5.3", "5.4")),
    ):
        yield from (name + version for version in versions)
    yield from (f"python3.{i}" for i in range(6, 16))
    yield from (f"php{version}" for version in ("7", "8", "7.4", "8.0", "8.1", "8.2", "8.3", "8.4"))
    yield from (f"ruby{version}" for version in ("2.7", "3.0", "3.1", "3.2", "3.3", "3.4"))


PROGRAMS: dict[str, Act] = {
    **dict.fromkeys(_names(), _interpreter),
    **dict.fromkeys(SHELLS, _shell),
    **dict.fromkeys(("eval", "source", "."), _evaluated),
    **dict.fromkeys(("iex", "Invoke-Expression"), _shell),
}
