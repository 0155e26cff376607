"""Where version control and link farms put files: git, `stow`."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.landings.landing import Landing, Lands, inside, last_part
from toolguard_engine.effects.manuals.command_words import CommandWords

_PATHS = frozenset({"restore", "checkout", "co", "checkout-index"})
_PATCHES = frozenset({"apply", "am"})
_CHECKS_OUT = _PATHS | frozenset(
    "switch stash reset clean pull merge rebase cherry-pick revert read-tree sparse-checkout bisect".split()  # noqa: SIM905
)


def working_tree(program: ProgramRun, words: CommandWords) -> tuple[str, str]:
    """Git's working tree as the command names it (`-C`, `--work-tree`, `GIT_WORK_TREE`, a setting), and the folder that its
    paths are relative to."""
    folder = ""
    for option in words.given:
        if option.entry.role == "folder":
            folder = inside(folder, option.value.text)
    tree = next((value for name, value in program.assigns if name == "GIT_WORK_TREE"), "")
    for value in words.values("-c"):
        if value.text.lower().startswith("core.worktree="):
            tree = tree or value.text.partition("=")[2]
    tree = words.last("--work-tree") or tree
    return inside(folder, tree) if tree else folder or ".", folder


def repository(program: ProgramRun, words: CommandWords) -> str:
    """The folder of Git's repository as the command names it (`--git-dir`, `GIT_DIR`); empty if it names none."""
    named = words.last("--git-dir") or next((value for name, value in program.assigns if name == "GIT_DIR"), "")
    return inside(working_tree(program, words)[1], named) if named else ""


def _git(program: ProgramRun, words: CommandWords) -> Iterator[Landing]:
    verb = words.verb
    tree, folder = working_tree(program, words)
    yield from (Landing(UNKNOWN, inside(folder, word.text), deep=False) for word in words.named("output"))
    if "lists" in words.acts:
        return
    if verb in ("clone", "worktree add", "submodule add"):
        yield from _new(words, folder)
    elif verb == "config":
        named = [word.text for word in words.operands]
        if len(named) > 1 and named[-2].lower() == "core.worktree":
            yield Landing(UNKNOWN, named[-1])
    elif verb in _PATCHES:
        if not words.rehearses and not words.has("--cached"):
            yield Landing(UNKNOWN, inside(tree, words.last("--directory")) or tree)
    elif verb in _CHECKS_OUT and not words.rehearses:
        yield from _checked_out(words, tree)


def _checked_out(words: CommandWords, tree: str) -> Iterator[Landing]:
    if prefix := words.last("--prefix"):
        yield Landing(UNKNOWN, inside(tree, prefix))
        return
    named = _pathspecs(words)
    if named and not any(set(":*?[") & set(name) or not last_part(name) for name in named):
        yield from (Landing(UNKNOWN, tree, name) for name in named)
    else:
        yield Landing(UNKNOWN, tree, is_tree=True)


def _pathspecs(words: CommandWords) -> list[str]:
    """The paths that alone are checked out; none if that may be everything."""
    if words.verb not in _PATHS or words.named("names") or words.trait("names-stdin"):
        return []
    wanted = words.end or words.verb == "restore"
    return [word.text for word in words.operands if word.at > words.end] if wanted else []


def _new(words: CommandWords, folder: str) -> Iterator[Landing]:
    """A folder that is not there yet, or is empty: git refuses any other."""
    source, target = words.one("source"), words.one("target")
    if words.verb != "worktree add" and source and not target:
        target = last_part(source).removesuffix(".git").rpartition(":")[2] or UNKNOWN
    if target:
        yield Landing(source or UNKNOWN, inside(folder, target), overwrites=False)


def _stow(program: ProgramRun, words: CommandWords) -> Iterator[Landing]:
    """Links to everything in a package, in the folder above its own unless another is named. What is there stays, unless it
    is adopted: moved into the package first."""
    if words.rehearses or (words.has("--delete") and not words.has("--stow", "--restow")):
        return
    given = next((value for name, value in program.assigns if name == "STOW_DIR"), "")
    packages = words.last("--dir") or given or "."
    target = words.last("--target") or inside(packages, "..")
    for word in words.named("source"):
        yield Landing(inside(packages, word.text), target, overwrites=words.has("--adopt"))


HOME_KEEPERS: dict[str, frozenset[str]] = {
    "chezmoi": frozenset({"apply", "update"}), "homeshick": frozenset({"link", "pull"}),
    "homesick": frozenset({"link", "pull"}),
    "yadm": frozenset({"checkout", "clone", "pull", "reset", "restore", "stash", "merge", "rebase", "alt", "decrypt"}),
    "vcsh": frozenset({"clone", "pull", "upgrade"}), "rcup": frozenset(),
}  # fmt: skip
"""Programs that keep files of the home folder in a repository, with the sub-commands that write them; none if all do."""


def by_home_keeper(program: ProgramRun) -> Iterator[Landing]:
    verbs = HOME_KEEPERS[program.name]
    if not verbs or not verbs.isdisjoint(program.argv[1:6]) or "--apply" in program.argv:
        yield Landing(UNKNOWN, "~")


PROGRAMS: dict[str, Lands] = {"git": _git, "stow": _stow}
"""By the first name of their manuals."""
