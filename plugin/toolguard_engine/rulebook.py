"""Rules: what they look like, which of them speak about a call. Pure; `rules` reads them, `layers.rubric` weighs them.

A rule is a table in TOML:

    [[rule]]
    id = "vcs.push-force"           # "<pack>.<name>", unique
    run = ["git push"]              # programs with their sub-commands; or `effect = [...]`; or `tool = [...]`
    any = ["-f", "--force", "+*"]   # at least one of these options or words
    none = ["--dry-run", "-n"]      # none of these
    clarity = 2                     # what it adds to the tool's own clarity and stakes ...
    stakes = 3
    verdict = "block"               # ... or instead: never approvable
    reason = "It overwrites history that others may have."
    matches = ["git push -f"]       # examples: commands, or calls `{tool = "write", params = {...}}`, that this rule speaks about
    passes = ["git push"]           # and such that no rule of the whole book holds

What a rule may ask for; all that it names must hold of one and the same program, effect or call:

- `run`: `"git push"`, `"docker|podman rm"`, `"aws * delete-*"`. The first word is the program's name, alternatives by `|`,
  globs allowed. The others are the words behind it that are no options; an option before them may have one value
  (`git -C x push`), so a wanted word is looked for behind each option and the one word after it.
- `any`, `all`, `none`: options and words. `-f` is found in a cluster (`-xfd`); `--force` also as `--force=x` and as an
  unambiguous beginning of 4 letters or more (`--forc`); everything else is a glob over a whole word.
- `arg`, `no_arg`: a regular expression that some (no) word behind the program's name must contain.
- `via`: names of wrappers, one of which is around the program (`["xargs"]`).
- `effect`: kinds (`shell.effects` lists them); `place`, `no_place`: where; `flags` (all of them), `no_flags` (none of them);
  `text`: a regular expression that the effect's target must contain.
- `tool`: names of tools that are no shell; `params`: parameter name to regular expression (searched in its text).

`exec` and what else runs commands is judged by `run` and `effect`; every other tool by `effect` and `tool`.
"""

from __future__ import annotations

from dataclasses import dataclass

from toolguard_engine.shell.model import Effect, Reading


@dataclass(frozen=True, slots=True)
class Match:
    """A rule that speaks about a call: what it adds, or that it blocks; `target`: what it is about, as one can show it."""

    rule: str
    reason: str
    clarity: int = 0
    stakes: int = 0
    blocks: bool = False
    target: str = ""


class Rulebook:
    """All rules that count, looked up by program, effect and tool, so that a harmless call costs next to nothing."""

    def for_command(self, reading: Reading, effects: tuple[Effect, ...]) -> tuple[Match, ...]:
        """The rules that speak about a command, each once, in the order of the book."""
        raise NotImplementedError

    def for_call(self, tool: str, params: dict[str, object], effects: tuple[Effect, ...]) -> tuple[Match, ...]:
        """The rules that speak about a call of another tool."""
        raise NotImplementedError
