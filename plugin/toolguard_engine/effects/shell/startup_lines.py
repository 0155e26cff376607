"""Lines that people and installers add to the start files of their shell and that cannot run anything new."""

from __future__ import annotations

import re
from posixpath import basename

from toolguard_engine.effects.shell.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.shell.outputs import printed

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
_EDITORS = r"""["']?(?:vi|vim|nvim|nano|micro|hx|emacs|code|cursor|less|more|bat|most)(?:[ ]--?[\w-]{1,12}){0,2}["']?"""
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
    rf"|\${_ROOTS})(?:/[\w.+-]{{1,60}}){{0,6}}"
)
"""Folders whose programs may come before others of the same name; behind all others any folder may come."""
_COMMAND = (
    r"(?:git|ls|ll|cd|npm|pnpm|yarn|docker|kubectl|python3?|vim|nvim|code|grep|eza|bat)(?:[ ][\w./=~:@%+-]{1,60}){0,8}"
)
_LINE = re.compile(
    rf"""(?:
        \s*
        | \s*\#[^\n]*
        | (?:export[ ])?{_SETTINGS}={_VALUE}
        | (?:export[ ])?(?:EDITOR|VISUAL|PAGER|GIT_EDITOR)={_EDITORS}
        | (?:export[ ])?{_ROOTS}=["']?{_INSTALLED}(?:/[\w.+-]{{1,60}}){{0,6}}["']?
        | (?:export[ ])?PATH=["']?(?:{_PROGRAMS}:\$PATH|\$PATH:(?:{_HOME}|/usr|/opt)(?:/[\w.+-]{{1,60}}){{1,8}})["']?
        | alias[ ][A-Za-z][\w.-]{{0,20}}=(?:'{_COMMAND}'|"{_COMMAND}")
        | eval[ ]"\$\((?:starship[ ]init|zoxide[ ]init|direnv[ ]hook|fnm[ ]env|rbenv[ ]init|pyenv[ ]init|brew[ ]shellenv
              |/opt/homebrew/bin/brew[ ]shellenv|thefuck[ ]--alias)(?:[ ][\w=-]{{1,20}}){{0,3}}\)"
    )\s*""",
    re.VERBOSE,
)
_SHADOWING = re.compile(r"alias (?:sudo|su|ssh|scp|gpg|passwd|git|openclaw|toolguard|login|doas|curl|bash|sh|zsh)=")


def adds_plain_lines(path: str, run: ProgramRun) -> bool:
    """Whether a program's output, appended to `path`, only sets ordinary variables, short names and search folders."""
    if basename(path) not in _FILES:
        return False
    text = printed(run).text
    if not text or len(text) > MAX_TEXT or UNKNOWN in text:
        return False
    lines = text.split("\n")
    return len(lines) <= MAX_LINES and all(_LINE.fullmatch(each) and not _SHADOWING.match(each) for each in lines)
