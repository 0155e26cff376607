"""The read-only words of git: the allowed options per verb, spelled out (git accepts abbreviations).

git runs programs that a repository's configuration names (`core.fsmonitor`, `diff.external`). In the session's own folder
this is accepted, because the call that wrote the configuration was judged. `-C`, `-c` and `--git-dir` are not allowed here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolguard_engine import lazy_re
from toolguard_engine.effects.calls.plain import PlainWord, SplitWords, split
from toolguard_engine.effects.manuals.manual_catalogue import spelled

_FORMAT = r"(?!.*(?:%G|signature)).*"
"""Excludes formats with signatures, because git runs a program to check them."""
_HISTORY = (
    r"-(?:\d{1,6}|[npizwbsqMSGL]|n\d{1,6}|[SGL].+|U\d{1,4}|M\d{1,3}%?)"
    r"|--(?:oneline|graph|all|shortstat|numstat|summary|name-only|name-status|no-decorate|patch|no-patch|cached|staged|merges"
    r"|no-merges|first-parent|reverse|follow|abbrev-commit|no-color|no-ext-diff|no-textconv|full-history|date-order|topo-order"
    r"|check|quiet|exit-code|ignore-all-space|ignore-space-change|ignore-blank-lines|minimal|patience|histogram|no-renames"
    r"|find-renames|raw|full-index|relative|no-notes|no-prefix|left-right|cherry-pick|boundary|no-walk|count|merge-base"
    r"|pickaxe-regex|pickaxe-all|regexp-ignore-case|no-abbrev-commit|compact-summary|dirstat|color-words|cc)"
    r"|--(?:author|committer|grep|since|until|after|before|max-count|skip|date|diff-filter|stat|unified|color|decorate"
    r"|word-diff|abbrev|branches|tags|remotes|inter-hunk-context)(?:=.*)?"
    rf"|--(?:format|pretty)={_FORMAT}"
)
_REFS = (
    rf"--(?:contains|no-contains|merged|no-merged|points-at)(?:=.*)?|--sort=.*|--format={_FORMAT}|--column=never|--no-color"
)
_OPTIONS = {
    "log": _HISTORY,
    "show": _HISTORY,
    "diff": _HISTORY,
    "rev-list": _HISTORY,
    "shortlog": rf"-[sne]{{1,3}}|--(?:summary|numbered|email)|{_HISTORY}",
    "status": r"-[sbvz]{1,4}|-u(?:no|normal|all)?|--(?:short|branch|porcelain(?:=v?[12])?|long|verbose|show-stash"
    r"|untracked-files(?:=\w+)?|ignored(?:=\w+)?|column=never|ahead-behind|no-ahead-behind)",
    "blame": r"-[wlstefn]{1,6}|-L.*|--(?:date=.*|line-porcelain|porcelain|show-email)",
    "rev-parse": r"-q|--(?:show-toplevel|abbrev-ref(?:=.*)?|short(?:=\d+)?|git-dir|absolute-git-dir|git-common-dir|verify"
    r"|quiet|is-inside-work-tree|is-bare-repository|show-prefix|show-cdup|symbolic|symbolic-full-name|all|branches|tags|remotes)",
    "ls-files": r"-[comsdzutv]{1,5}|--(?:others|cached|modified|deleted|exclude-standard|stage|error-unmatch|full-name"
    r"|directory|ignored|unmerged)",
    "ls-tree": r"-[rdtlz]{1,4}|--(?:name-only|full-tree|full-name|abbrev)",
    "describe": r"--(?:tags|always|dirty|all|long|abbrev=\d+|exact-match|contains|first-parent|match=.*|exclude=.*)",
    "cat-file": r"-[ptse]",
    "merge-base": r"-a|--(?:is-ancestor|all|fork-point|octopus|independent)",
    "grep": r"-[nilLwcEFPGqhHIvazWp]{1,6}|-[ABCm]\d{0,4}|-\d{1,4}|-e|--(?:line-number|ignore-case|files-with-matches"
    r"|word-regexp|count|cached|untracked|name-only|fixed-strings|extended-regexp|perl-regexp|color|no-color|color=\w+|heading|break|and|or"
    r"|not|all-match|show-function|function-context|text)",
    "show-ref": r"-[sdq]{1,3}|--(?:heads|branches|tags|head|verify|dereference)",
    "for-each-ref": rf"--count=\d+|{_REFS}",
    "count-objects": r"-[vH]{1,2}",
    "check-ignore": r"-[vqn]{1,3}",
    "branch": rf"-(?:[arv]{{1,3}}|avv)|--(?:all|remotes|verbose|show-current|list)|{_REFS}",
    "tag": rf"-l|-n\d*|--list|{_REFS}",
    "remote": r"-v|--verbose|--all|--push",
    "stash": _HISTORY,
    "reflog": _HISTORY,
    "worktree": r"--porcelain|-v|--verbose",
    "config": r"-l|-z|--(?:global|local|system|worktree|get|get-all|get-regexp|list|show-origin|show-scope|name-only)",
    "version": r"--build-options",
}
_ALLOWED = {verb: lazy_re.compile(options, re.DOTALL) for verb, options in _OPTIONS.items()}

_LISTS = lazy_re.compile(r"--(?:list|contains|no-contains|merged|no-merged|points-at)(?:=.*)?", re.DOTALL)
_REQUIRED_OPTIONS = {
    "branch": _LISTS,
    "tag": lazy_re.compile(rf"-l|{_LISTS.pattern}", re.DOTALL),
    "config": lazy_re.compile(r"--get|--get-all|--get-regexp|--list|-l"),
}
"""Without one of these options the operands are things to create or set."""
_REQUIRED_FIRST_WORDS = {
    "remote": frozenset({"get-url"}),
    "stash": frozenset({"list", "show"}),
    "reflog": frozenset({"show"}),
    "worktree": frozenset({"list"}),
}
"""Required first words ..."""
_OPTIONS_ONLY = frozenset({"remote", "reflog"})
"""... unless there are only options."""
_BEFORE = spelled("git", "harmless")


def is_read_only(argv: Sequence[PlainWord]) -> bool:
    """Whether git is read-only with these words."""
    at = 0
    while at < len(argv) and argv[at] == PlainWord(argv[at].text) and argv[at].text in _BEFORE:
        at += 1
    verb, rest = (argv[at], argv[at + 1 :]) if at < len(argv) else (PlainWord(""), ())
    if verb == PlainWord("--version"):
        return not rest
    if verb.kind != "sure" or verb.text not in _ALLOWED:
        return False
    read = split(rest)
    return _listed(_ALLOWED[verb.text], read) and _only_lists(verb.text, rest[:1], read)


def _listed(allowed: re.Pattern[str], read: SplitWords) -> bool:
    return all(word.kind == "sure" and allowed.fullmatch(word.text) for word in read.options) and all(
        word.kind in ("sure", "below") for word in read.operands
    )


def _only_lists(verb: str, first: Sequence[PlainWord], read: SplitWords) -> bool:
    """Whether these words only list, for verbs that can also create things. `first`: the one after the verb, if any."""
    if verb in _REQUIRED_FIRST_WORDS:
        begins = any(word.kind == "sure" and word.text in _REQUIRED_FIRST_WORDS[verb] for word in first)
        return begins or (verb in _OPTIONS_ONLY and not read.operands)
    required = _REQUIRED_OPTIONS.get(verb)
    return required is None or not read.operands or any(required.fullmatch(word.text) for word in read.options)
