"""Code that is pushed to a new address, and references that are deleted or replaced there."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import normpath

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands.combinations import MAX_PARTNERS, line_wrapper
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun, Reading
from toolguard_engine.effects.facts.web_targets import target


def new_address_pushes(reading: Reading) -> Iterator[Effect]:
    """`git remote add x https://... && git push x`: a push to a new address, unless it is the first one of a repository
    (`origin`), or to one that takes the place of another; a push of everything to an address without a name."""
    added: dict[str, str] = {}
    replaced: dict[str, str] = {}
    for program in reading.runs:
        if program.name != "git":
            continue
        words, operands = program.words, program.words.texts
        if words.verb == "remote add" and len(operands) > 1:
            added[operands[0]] = operands[1]
        elif words.verb == "remote set-url" and len(operands) > 1:
            replaced[operands[0]] = operands[1]
        elif words.verb == "push":
            to = operands[0] if operands else "origin"
            new = replaced.get(to) or (added.get(to, "") if to != "origin" else "")
            if address := new or (to if words.has("--all", "--mirror") and "://" in to else ""):
                yield Effect("send", address, "remote", frozenset({"file", "upload", *target(address).flags}), program)


def pushed_from_list(reading: Reading) -> Iterator[Effect]:
    """`git for-each-ref --format=":%(refname)" | xargs git push origin`: a line may begin with what deletes a branch."""
    for at, program in enumerate(reading.runs):
        words = program.words
        if program.name != "git" or not (program.via or program.given) or words.verb != "push":
            continue
        before = reading.runs[max(at - MAX_PARTNERS, 0) : at]
        listed = any(UNKNOWN in word for word in program.argv[words.verb_at + 1 :]) and line_wrapper(program)
        makers = _list_makers(program, listed, before) if listed else []
        given = [
            name for place_, feed in program.given if program.argv[place_].startswith(UNKNOWN) for name in feed.programs
        ]
        inner = [earlier for earlier in before if "$()" in earlier.via and earlier.name in given]
        if any(maker.name not in _NAMING or _may_delete(maker) or _shows_content(maker) for maker in makers) or any(
            map(_may_delete, inner)
        ):
            yield Effect("discard", "branches that another program lists", "remote", frozenset({"variable"}), program)


def _list_makers(program: ProgramRun, lister: str, before: tuple[ProgramRun, ...]) -> list[ProgramRun]:
    """The programs whose output the wrapper of a push reads, also through a file."""
    wrapper = next((other for other in reversed(before) if other.name == lister), program)
    files = {redirect.target for redirect in wrapper.redirects if redirect.kind == "read"}
    files |= {value.text for value in wrapper.words.values("--arg-file")}
    files = {normpath(file) for file in files}
    pipelines = {program.pipeline}
    for earlier in before if files else ():
        kept = {redirect.target for redirect in earlier.redirects if redirect.kind != "read"}
        if earlier.name == "tee":
            kept |= set(earlier.argv[1:4])
        if not files.isdisjoint(map(normpath, kept)):
            pipelines.add(earlier.pipeline)
    return [
        other for other in before if other.pipeline in pipelines and other.name not in program.via and other.name != "tee"
    ]


def _may_delete(program: ProgramRun) -> bool:
    """Whether what it writes may begin with `:` or `+`."""
    if program.name == "git":
        words = [value.text for value in program.words.values("--format")]
    elif program.name in _REWRITING:
        separators = (option for option in program.words.given if "--field-separator" in option.entry.names)
        apart = {at for separator in separators for at in (separator.word, separator.value.at)}
        words = [word for at, word in enumerate(program.argv) if at and at not in apart]
    else:
        return False
    return _REFERENCE.search(_FIELD.sub("", " ".join(words)[:MAX_SPELLED])) is not None


def _shows_content(program: ProgramRun) -> bool:
    return program.name == "git" and _NAMING_VERBS.isdisjoint(program.argv[1:MAX_VERB])


MAX_SPELLED = 2_000
MAX_VERB = 8
_FIELD = lazy_re.compile(r"%\([^()]{1,60}\)")
_REFERENCE = lazy_re.compile(r"[:+]|\\0{0,2}(?:72|53)|\\x(?:3[aA]|2[bB])")
_REWRITING = frozenset({"sed", "awk", "tr", "echo", "printf"})
_NAMING = _REWRITING | {"git", "grep", "egrep", "head", "tail", "sort", "uniq", "cut", "tac", "rev"}
_NAMING_VERBS = frozenset(
    {"branch", "tag", "for-each-ref", "rev-parse", "symbolic-ref", "describe", "ls-remote", "show-ref"}
)
