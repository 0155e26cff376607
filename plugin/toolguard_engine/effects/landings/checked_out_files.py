"""Where version control and link farms put files: git, `stow`."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine.effects.landings.copied_files import has
from toolguard_engine.effects.landings.landing import Landing, Lands, inside, last_part
from toolguard_engine.effects.programs.getopt import options
from toolguard_engine.effects.shell.command import UNKNOWN, ProgramRun

_VALUED = frozenset({"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix"})
CHANGES = frozenset(
    {
        "checkout", "co", "stash", "reset", "clean", "restore", "pull", "merge", "rebase", "switch", "am", "cherry-pick",
        "revert", "checkout-index", "read-tree", "sparse-checkout", "bisect",
    }
)  # fmt: skip
"""Sub-commands that put the files of a commit into the working tree."""

_PATHS = frozenset({"restore", "checkout", "co", "checkout-index"})
_NEW = frozenset({"clone", "worktree"})
_CLONE = frozenset(
    {
        "-b", "--branch", "-o", "--origin", "-c", "--config", "--depth", "--reference", "--separate-git-dir", "-j", "--jobs",
        "--template", "-u", "--upload-pack", "--filter", "--shallow-since", "--shallow-exclude", "--server-option",
        "--reference-if-able", "--bundle-uri",
    }
)  # fmt: skip
_RESTORE = frozenset({"-s", "--source", "--pathspec-from-file", "-U", "--conflict"})


def git_verb(run: ProgramRun) -> tuple[int, str, str]:
    """The position of git's sub-command, its working tree as the command names it (`-C`, `--work-tree`, `GIT_WORK_TREE`, a
    setting), and the folder that its paths are relative to."""
    argv, at, folder = run.argv, 1, ""
    tree = next((value for name, value in run.assigns if name == "GIT_WORK_TREE"), "")
    while at < len(argv) and argv[at].startswith("-"):
        name, sign, value = argv[at].partition("=")
        if not sign and name in _VALUED:
            at += 1
            value = "".join(argv[at : at + 1])
        if name == "-C":
            folder = inside(folder, value)
        elif name == "--work-tree":
            tree = value
        elif name == "-c" and value.lower().startswith("core.worktree="):
            tree = tree or value.partition("=")[2]
        at += 1
    return at, inside(folder, tree) if tree else folder or ".", folder


def _git(run: ProgramRun) -> Iterator[Landing]:
    at, tree, folder = git_verb(run)
    verb = "".join(run.argv[at : at + 1])
    if verb in _NEW:
        yield from _new(run, at, verb, folder)
    elif verb == "config":
        words = [word.text for word in options(run, frozenset({"-f", "--file"}), start=at + 1).operands]
        if len(words) > 1 and words[-2].lower() == "core.worktree":
            yield Landing(UNKNOWN, words[-1])
    elif verb == "apply":
        into = options(run, frozenset({"--directory", "-p", "-C", "--exclude", "--include"}), start=at + 1)
        if not has(into, "--check", "--stat", "--numstat", "--summary", "--cached"):
            yield Landing(UNKNOWN, inside(tree, into.last("--directory")) or tree)
    elif verb in CHANGES:
        yield from _checked_out(run, at, verb, tree)


def _checked_out(run: ProgramRun, at: int, verb: str, tree: str) -> Iterator[Landing]:
    words = options(run, _RESTORE, start=at + 1)
    if verb in ("stash", "bisect", "sparse-checkout") and not {"list", "show", "drop", "log"}.isdisjoint(
        run.argv[at + 1 : at + 2]
    ):
        return
    if verb == "checkout-index" and (prefix := words.last("--prefix") or _attached(run, "--prefix=")):
        yield Landing(UNKNOWN, inside(tree, prefix))
        return
    named = _pathspecs(run, at, verb)
    if named and not any(set(":*?[") & set(name) or not last_part(name) for name in named):
        yield from (Landing(UNKNOWN, tree, name) for name in named)
    else:
        yield Landing(UNKNOWN, tree)


def _attached(run: ProgramRun, option: str) -> str:
    return next((word[len(option) :] for word in run.argv if word.startswith(option)), "")


def _pathspecs(run: ProgramRun, at: int, verb: str) -> list[str]:
    """The paths that alone are checked out; none if that may be everything."""
    words = run.argv[at + 1 :]
    if verb not in _PATHS or any(word.startswith("--pathspec") for word in words):
        return []
    if "--" in words:
        return list(words[words.index("--") + 1 :])
    return [word.text for word in options(run, _RESTORE, start=at + 1).operands] if verb == "restore" else []


def _new(run: ProgramRun, at: int, verb: str, folder: str) -> Iterator[Landing]:
    """A folder that is not there yet, or is empty: git refuses any other."""
    words = [word.text for word in options(run, _CLONE, start=at + 1).operands]
    if verb == "worktree":
        words = words[:1] + words if words[:1] == ["add"] else []
    if verb == "worktree" and len(words) > 2:  # noqa: PLR2004 - the verb twice, and a folder
        yield Landing(UNKNOWN, inside(folder, words[2]), overwrites=False)
    elif verb == "clone" and words:
        target = words[1] if len(words) > 1 else last_part(words[0]).removesuffix(".git").rpartition(":")[2] or UNKNOWN
        yield Landing(words[0], inside(folder, target), overwrites=False)


_STOW = frozenset({"-t", "--target", "-d", "--dir", "--ignore", "--defer", "--override"})


def _stow(run: ProgramRun) -> Iterator[Landing]:
    """Links to everything in a package, in the folder above its own unless another is named. What is there stays, unless it
    is adopted: moved into the package first."""
    words = options(run, _STOW)
    if has(words, "-D", "--delete", "-n", "--no", "--simulate"):
        return
    given = next((value for name, value in run.assigns if name == "STOW_DIR"), "")
    packages = words.last("-d", "--dir") or given or "."
    target = words.last("-t", "--target") or inside(packages, "..")
    overwrites = words.has("--adopt")
    for word in words.operands:
        yield Landing(inside(packages, word.text), target, overwrites=overwrites)


PROGRAMS: dict[str, Lands] = {"git": _git, "stow": _stow, "xstow": _stow}
