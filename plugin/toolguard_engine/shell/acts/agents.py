"""Other agents: what they may read without asking lies in the folder that they are started in."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from msgspec.structs import replace

from toolguard_engine.shell.acts import Act, on
from toolguard_engine.shell.model import Effect, Run
from toolguard_engine.shell.placenames import words as names
from toolguard_engine.shell.places import Where

_AGENTS = names(
    "claude claude-code gemini gemini-cli qwen qwen-code copilot cursor-agent amp droid kimi aider aider-chat codex "
    "opencode opencode-ai goose crush"
)
_SHOWS = frozenset(["--help", "--version", "-h", "-v", "-V", "mcp", "doctor", "update", "auth", "login", "status", "models"])


def _starts(run: Run, where: Where) -> Iterator[Effect]:
    """`spawn` at the folder where the agent starts; nothing where it only tells about itself."""
    if run.argv[1:2] and run.argv[1] in _SHOWS:
        return
    yield replace(on("spawn", ".", run, where), target=_folder(run, where))


def _folder(run: Run, where: Where) -> str:
    return run.cwd if run.cwd[:1] in ("/", "~") else posixpath.join(where.cwd, run.cwd) or "."


PROGRAMS: dict[str, Act] = dict.fromkeys(sorted(_AGENTS), _starts)
