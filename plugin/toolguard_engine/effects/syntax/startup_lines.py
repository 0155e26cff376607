"""Lines that people and installers add to the start files of their shell and that cannot run anything new."""

from __future__ import annotations

import re
from posixpath import basename

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.syntax.outputs import printed

MAX_LINES = 20
MAX_TEXT = 2_000
_FILES = frozenset([
    ".bashrc", ".bash_profile", ".bash_aliases", ".profile", ".zshrc", ".zprofile", ".zshenv", ".kshrc",
])  # fmt: skip
_SETTINGS = (
    r"(?:LANG|LC_[A-Z]{1,20}|TZ|TERM|COLORTERM|CLICOLOR|HISTTIMEFORMAT|NODE_ENV|DOCKER_BUILDKIT|COMPOSE_DOCKER_CLI_BUILD"
    r"|HOMEBREW_NO_[A-Z_]{1,40}|DO_NOT_TRACK|[A-Z]{2,20}_TELEMETRY[A-Z_]{0,20})"
)
"""Variables whose values no program runs."""
_VALUE = r"""(?:"[\w ./:@%+,=~-]{0,200}"|'[\w ./:@%+,=~-]{0,200}'|[\w./:@%+,=~-]{0,200})"""
_PART = r"/(?!\.{1,2}(?:/|:|\Z|[\"']))[\w.+-]{1,60}"
"""One step down: `..` would lead anywhere."""
_EDITORS = r"(?:vi|vim|nvim|nano|micro|hx|emacs|code|cursor|less|more|bat|most)(?:[ ]--?(?:wait|w|n|nw|R|r|F|X)){0,3}"
_ROOTS = (
    r"(?:NVM_DIR|PYENV_ROOT|BUN_INSTALL|PNPM_HOME|DENO_INSTALL|CARGO_HOME|RUSTUP_HOME|VOLTA_HOME|SDKMAN_DIR|GOPATH|GOROOT"
    r"|JAVA_HOME|ANDROID_HOME|ANDROID_SDK_ROOT)"
)
_HOME = r"(?:\$HOME|\$\{HOME\}|~)"
_INSTALLED = (
    rf"(?:/usr/local|/opt|/usr/lib|/Library|{_HOME}/(?:\.(?:nvm|pyenv|bun|deno|cargo|rustup|volta|sdkman)|go|Library/pnpm"
    r"|Library/Android/[Ss]dk|Android/Sdk|\.local/share/pnpm))"
)
"""Where the installers of these tools put them."""
_PROGRAMS = (
    rf"(?:/usr/local|/opt|/usr/lib|{_HOME}/(?:\.local/bin|bin|go/bin|\.npm-global/bin|\.(?:cargo|bun|deno|volta|pyenv)/(?:bin|shims))"
    rf"|\${_ROOTS})(?:{_PART}){{0,6}}"
)
"""Folders whose programs may come before others of the same name; behind all others any folder may come."""
_SHOWN = r"(?:ls|ll|eza|grep|bat)(?:[ ](?!--pager)[\w./=~:@%+-]{1,60}){0,8}"
_WORDS = r"(?:[ ][\w.=:@%+-]{1,60}){0,8}"
"""Without a slash, so that they name no program or script."""
_COMMAND = (
    rf"(?:{_SHOWN}|cd[ ][\w./~-]{{1,60}}|(?:vim|nvim|code)(?:[ ](?!-)[\w./~-]{{1,60}})?|python3?"
    r"(?:[ ]-m[ ](?:venv|json\.tool)(?:[ ][\w.-]{1,30})?)?"
    r"|git[ ](?:status|st|log|diff|add|commit|pull|fetch|checkout|switch|branch|stash|show"
    r"|push(?![^\"']*(?:-f|force|\+|:|delete|mirror)))"
    rf"{_WORDS}|(?:npm|pnpm|yarn)(?:[ ](?:run|start|test|install|build|i){_WORDS})?"
    rf"|(?:docker|docker[ ]compose)[ ](?:ps|images|logs|stats|up|build){_WORDS}"
    rf"|kubectl(?:[ ](?:get|describe|logs)){_WORDS}|kubectl|docker)"
)


def _quoted(pattern: str) -> str:
    """Whether quotes stand at both ends or nowhere: an open one would swallow the lines behind it."""
    return rf"""(?:"{pattern}"|'{pattern}'|{pattern})"""


_FRONT, _BACK = rf"{_PROGRAMS}:\$PATH", rf"\$PATH:(?:{_HOME}|/usr|/opt)(?:{_PART}){{1,8}}"
_LINE = lazy_re.compile(
    rf"""(?:
        \s*
        | \s*\#[^\n]*
        | (?:export[ ])?{_SETTINGS}={_VALUE}
        | (?:export[ ])?(?:EDITOR|VISUAL|PAGER|GIT_EDITOR)={_quoted(_EDITORS)}
        | (?:export[ ])?{_ROOTS}={_quoted(rf"{_INSTALLED}(?:{_PART}){{0,6}}")}
        | (?:export[ ])?PATH=(?:{_FRONT}|"{_FRONT}"|{_BACK}|"{_BACK}")
        | alias[ ][A-Za-z][\w.-]{{0,20}}=(?:'{_COMMAND}'|"{_COMMAND}")
        | eval[ ]"\$\((?:starship[ ]init|zoxide[ ]init|direnv[ ]hook|fnm[ ]env|rbenv[ ]init|pyenv[ ]init|brew[ ]shellenv
              |/opt/homebrew/bin/brew[ ]shellenv|thefuck[ ]--alias)(?:[ ][\w=-]{{1,20}}){{0,3}}\)"
    )\s*""",
    re.VERBOSE,
)
_ALIAS = lazy_re.compile(r"alias ([A-Za-z][\w.-]{0,20})=[\"'](\w+)")
_ALIKE = {
    "vi": ("vim", "nvim"),
    "vim": ("nvim",),
    "cat": ("bat",),
    "ls": ("eza",),
    "ll": ("ls", "eza"),
    "python": ("python3",),
}
_NAMES = frozenset(["alias", "cd", "exit", "fg", "history", "jobs", "kill", "read", "test", "type"]).union(
    *program_catalogue.load().programs.values()
)


def _shadows(line: str) -> bool:
    """Whether a program of this name would be another one from now on."""
    match = _ALIAS.match(line)
    if not match or (name := match[1]) not in _NAMES:
        return False
    return name in _GUARDED or (name != match[2] and match[2] not in _ALIKE.get(name, ()))


_GUARDED = frozenset(
    [
        "sudo",
        "su",
        "ssh",
        "scp",
        "gpg",
        "passwd",
        "git",
        "openclaw",
        "toolguard",
        "login",
        "doas",
        "curl",
        "bash",
        "sh",
        "zsh",
    ]
)


def adds_plain_lines(path: str, program: ProgramRun) -> bool:
    """Whether a program's output, appended to `path`, only sets ordinary variables, short names and search folders."""
    if basename(path) not in _FILES:
        return False
    text = printed(program).text
    if not text or len(text) > MAX_TEXT or UNKNOWN in text or "\\" in text:  # some shells' echo makes new lines of `\n`
        return False
    lines = text.split("\n")
    return len(lines) <= MAX_LINES and all(_LINE.fullmatch(line) and not _shadows(line) for line in lines)


_IMPORT = lazy_re.compile(r"^import\b", re.MULTILINE)


def starts_python(path: str, program: ProgramRun) -> bool:
    """Whether a program writes a `.pth` file with code: Python runs its `import` lines each time that it starts."""
    return path.endswith(".pth") and _IMPORT.search((printed(program).text or "")[:MAX_TEXT]) is not None
