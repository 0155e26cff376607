"""Which words of git only look: for each verb the options that it may have, spelled out (git takes abbreviations).

git runs what the configuration of a repository names (`core.fsmonitor`, `diff.external`). In the session's own folder that
is taken as it is: who wrote it there was judged for that. So there is no `-C`, no `-c` and no `--git-dir` here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolguard_engine.shell.plain import Word

_FORMAT = r"(?!.*(?:%G|signature)).*"
"""Whatever shows no signature: to check one, a program runs."""
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
_ALLOWED = {verb: re.compile(rf"--|{options}", re.DOTALL) for verb, options in _OPTIONS.items()}

_LISTS = re.compile(r"--(?:list|contains|no-contains|merged|no-merged|points-at)(?:=.*)?", re.DOTALL)
_NEEDS = {
    "branch": _LISTS,
    "tag": re.compile(rf"-l|{_LISTS.pattern}", re.DOTALL),
    "config": re.compile(r"--get|--get-all|--get-regexp|--list|-l"),
}
"""Without one of these their operands are what they make, or set."""
_FIRST = {
    "remote": frozenset({"get-url"}),
    "stash": frozenset({"list", "show"}),
    "reflog": frozenset({"show"}),
    "worktree": frozenset({"list"}),
}
"""What their first word must be ..."""
_ALONE = frozenset({"remote", "reflog"})
"""... unless they have options only."""
_BEFORE = frozenset({"--no-pager", "-P", "--no-optional-locks"})


def looks(argv: Sequence[Word]) -> bool:
    """Whether git with these words only looks."""
    at = 0
    while at < len(argv) and argv[at] == Word(argv[at].text) and argv[at].text in _BEFORE:
        at += 1
    verb, rest = (argv[at], argv[at + 1 :]) if at < len(argv) else (Word(""), ())
    if verb == Word("--version"):
        return not rest
    if verb.kind != "sure" or verb.text not in _ALLOWED or not _listed(_ALLOWED[verb.text], rest):
        return False
    return _only_told(verb.text, rest)


def _listed(allowed: re.Pattern[str], rest: Sequence[Word]) -> bool:
    return all(
        word.kind == "sure" and allowed.fullmatch(word.text) if word.text[:1] == "-" else word.kind in ("sure", "below")
        for word in rest
    )


def _only_told(verb: str, rest: Sequence[Word]) -> bool:
    """For verbs that also make things: whether what they have here is a question."""
    operands = any(word.text[:1] != "-" for word in rest)
    if verb in _FIRST:
        begins = bool(rest) and rest[0].kind == "sure" and rest[0].text in _FIRST[verb]
        return begins or (verb in _ALONE and not operands)
    return verb not in _NEEDS or not operands or any(_NEEDS[verb].fullmatch(word.text) for word in rest)
