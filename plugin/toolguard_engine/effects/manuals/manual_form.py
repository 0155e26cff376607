"""The form of a manual: which options a program has, which of them take a value, and what its words mean.

A manual in TOML, the key being the program's name:

    [rsync]
    names = "orsync"             # other names of the program
    words = "source... target"   # what its operands are; one of them may be repeated
    does = "copies"              # what it does unless an option or a verb says otherwise
    options = '''
    -n --dry-run         : rehearses
    -e --rsh=command
    --max-size=
    --backup[=]
    '''

    [aws.verbs."s3 cp, s3 sync"]  # sub-commands; each may have `words`, `does` and further `options`
    words = "source target"

One line of `options` has all spellings of an option, then what its value is, then its traits:

- `--x=` takes a value: attached, after `=`, or the next word. `--x=target` says what the value is (`ROLES`).
- `--x[=]` takes only a value that is attached.
- `--x=?` takes a value that is attached, or the next word unless that is an option.
- `--x=#` takes a value that is attached, or the next word if that is a number.
- `--x==` takes two values, as in `jq --arg name value`.
- `--x=...` takes all words up to the next option; `--x=exclude...` says what they are.
- Traits (`TRAITS`) say what an option changes, such as `rehearses`: nothing is done.

A table `runs` says that the program runs another one, with the keys that `wrappers.toml` explains at its top. It has the
options, words, `stops` and other names of the manual where it has none itself; options of its own are those that only the
sub-commands with a command have, or that mean something else with them.

`like = "pip"` begins with the options and verbs of another entry of the file. `kind = "cp"` says that a program does what
`cp` does, whatever its options are: it has all roles and judges of `cp`, and says itself what its words are and what it
does. `form` says how the program finds its options:
`getopt` (clusters of letters and long options), `long` (words with one dash: `-comp gzip`), `switches` (values are attached
to a name of any length: `-oFOLDER`) or `shell` (clusters may begin with `+`, and take the words behind them as values; a
lone dash ends the options). `bundle`: the first word may be a cluster without a dash, as in `tar xzf`. `abbreviates`: a long
option may be shortened as long as it is unambiguous. `lists`: an operand `@file` names a file with names. `signals`: the
first word such as `-9` or `-KILL` is the value of `--signal`, and a number with a dash after it is an operand, as in `kill
-9 -1`. `stops`: options end at the first operand, as in `nice -n 5 ls -l`, or at the second one if it is 2, as in `ssh host
-p 22 ls -l`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any, Literal

import msgspec

Takes = Literal["nothing", "value", "pair", "attached", "maybe", "number", "many"]
"""Whether an option takes no value, one value, two, only an attached value, the next word unless that is an option, the next
word if that is a number, or all words up to the next option."""

Form = Literal["getopt", "long", "switches", "shell"]

ROLES = frozenset({
    "archive", "command", "config", "exec", "exclude", "exclude-from", "exclude-regex", "filter", "filter-from", "folder",
    "host", "include", "include-from", "input", "loads", "member", "mode", "module", "names", "output", "owner", "password",
    "pattern", "pattern-from", "process", "proxy", "remote-command", "script", "script-from", "setting", "source", "target",
    "url",
})  # fmt: skip
"""What a word or a value is. `names`: a file that lists names, of a copier its sources; `folder`: where the program works
from there on; `command`: it is run on this machine, as is the value of a setting in an `exec` whose name ends in `exec`,
`command` or `program`; `source`, `target`: what is copied, and to where; `script`, `script-from`, `module`: code that runs,
the file with it, the name of a module with it; `loads`: a file or module that is loaded before; `setting`: `name=value`, or
nothing of the others; `include`: a pattern of the only files that are taken; `exclude-from`, `include-from`: a file with
patterns; `filter-from`: one whose lines may begin with a sign; `process`: the id of one; `pattern-from`: a file with them.
An option that leaves something out by what lies on the disk has none."""

TRAITS = frozenset({
    "packs", "unpacks", "lists", "recursive", "rehearses", "performs", "deletes", "moves", "encrypts", "selects", "prints",
    "server-names", "names-stdin", "absolute", "relative", "in-place", "operand", "forced", "wiped",
    "no-preserve-root", "other-rights", "keeps-variables", "tells-names", "tells-paths", "instead", "leads", "by-name",
    "filters", "joins", "starts", "negates", "writes", "acts", "other-way", "sends", "literal", "chooses", "ends",
    "ordinary", "harmless", "makes-folders", "places", "mounts", "asks", "stores", "reloads", "reopens", "later",
    "instructs", "below-source", "beside", "interactive",
})  # fmt: skip
"""`packs`, `unpacks`, `lists`: what an archiver does; `prints`: unpacks to its output; `rehearses`: changes nothing;
`performs`: revokes that; `deletes`: deletes at the target what the source does not have; `moves`: deletes the sources;
`selects`: what the patterns leave out cannot be told from them alone; `server-names`: another machine chooses the names of
the files; `names-stdin`: the names of the files are read from the input; `absolute`, `relative`: absolute names in an
archive are used as they are, or as relative ones; `in-place`: changes its inputs; `operand`: it is an operand after all, as
is the mode in `chmod -w file`; `forced`, `wiped`, `no-preserve-root`: how it deletes; `other-rights`: it runs as somebody or
somewhere else than it does by default; `keeps-variables`: those of its caller; `tells-names`: prints names or numbers, and
no contents; `tells-paths`: prints the paths of all files below; `instead`: something else than it does by default;
`other-way`: mail goes another way than to the server that is named; `sends`: its value is the body of a request, `literal`:
as it stands; `chooses`: processes by something else than their names; `ends`: no option follows it or its value; `starts`: a
command follows it; `ordinary`: changes neither the connection nor the address; `harmless`: the program does no more with it
than without; `makes-folders`: another machine chooses the folders of the files as well; `places`: its value is a folder
that packages are installed into; `mounts`: its value begins with a folder that a container gets; `stores`: its value is a
folder for temporary files; `reloads`: starts again when files change; `reopens`: opens its files by their names again and
again; `later`: what it is given runs later; `instructs`: its value is a file that says what to do; `asks`: the program only
shows its help, its version or a list; `below-source`: the names in a list are looked up below the source that the command
names; `beside`: a script that is named runs as well as the code that is its value; `interactive`: the input is code, too,
whatever else runs. Of `find`: `leads`: stands before the folders; `by-name`, `filters`, `joins`, `negates`, `writes`,
`acts`: what the test does."""

DEEDS = frozenset({
    "copies", "moves", "deletes", "packs", "unpacks", "lists", "downloads", "requests", "edits", "links", "recurses",
    "uploads", "restores", "reloads",
})  # fmt: skip
"""What a program or a verb does. `recurses`: it takes whole folders without being asked to; `uploads`: the target is on
another machine, although its name does not show that; `restores`: it puts files of a backup, a repository or another file
system into a folder, and reads no archive of this machine; `reloads`: it starts again when files change."""

RUNS = "runs"
"""The table by which the program runs another one; `wrapper_catalogue` reads it."""
_KEYS = frozenset({
    "names", "words", "does", "options", "form", "bundle", "abbreviates", "lists", "signals", "stops", "verbs", "like",
    "kind", RUNS,
})  # fmt: skip
_VERB_KEYS = frozenset({"words", "does", "options"})


class OptionEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One option. `names`: its spellings, with dashes, the most telling one last."""

    names: tuple[str, ...]
    takes: Takes = "nothing"
    role: str = ""
    traits: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return self.names[-1]


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a program, or one of its verbs, takes and does. `words`: roles, at most one of them ending in `...`."""

    words: tuple[str, ...] = ()
    does: frozenset[str] = frozenset()
    options: tuple[OptionEntry, ...] = ()


class Manual(msgspec.Struct, frozen=True, omit_defaults=True, dict=True):
    """Everything that is known of one program's command line; see the module for each member. `verbs`: those that have the
    same usage are one key, separated by commas."""

    names: tuple[str, ...]
    usage: Usage
    verbs: dict[str, Usage] = {}
    form: Form = "getopt"
    bundle: bool = False
    abbreviates: bool = True
    lists: bool = False
    signals: bool = False
    stops: int = 0
    kind: str = ""

    def known(self, verb: str) -> dict[str, OptionEntry]:
        """The options by their spellings: the program's and those of a verb, which come first; without one, of all verbs."""
        options = self._known.get(verb)
        if options is None:
            usages = (self.usage, self.usages[verb]) if verb else (*self.verbs.values(), self.usage)
            options = {name: entry for usage in usages for entry in usage.options for name in entry.names}
            self._known[verb] = options
        return options

    def known_before(self, verb: str) -> dict[str, OptionEntry]:
        """The same for the words before a verb, where the program's own options come first (`git -C DIR apply -C 3`)."""
        if not verb:
            return self.known(verb)
        options = self._known_before.get(verb)
        if options is None:
            options = self._known_before[verb] = {**self.known(verb), **self._own}
        return options

    def beginning_with(self, name: str, known: dict[str, OptionEntry]) -> Iterator[OptionEntry]:
        """Those of the options whose spelling begins so. `known`: what `known` or `known_before` has returned."""
        spelled = self._sorted.get(id(known))
        if spelled is None:
            spelled = self._sorted[id(known)] = sorted(known)
        for spelling in islice(spelled, bisect_left(spelled, name), None):
            if not spelling.startswith(name):
                break
            yield known[spelling]

    @cached_property
    def has_end(self) -> bool:
        """Whether there are options behind which there are none."""
        return any("ends" in entry.traits for entry in self.usage.options)

    @cached_property
    def usages(self) -> dict[str, Usage]:
        """The usage of each single verb."""
        return {verb.strip(): usage for verbs, usage in self.verbs.items() for verb in verbs.split(",")}

    @cached_property
    def plain_verbs(self) -> frozenset[str]:
        """The words that are the verb where they stand first, whatever follows: no longer verb begins with one. None of a
        program whose first word may be options without a dash."""
        longer = {verb.partition(" ")[0] for verb in self.usages if " " in verb}
        return frozenset() if self.bundle else frozenset(self.usages) - longer

    @cached_property
    def _own(self) -> dict[str, OptionEntry]:
        return {name: entry for entry in self.usage.options for name in entry.names}

    @cached_property
    def _known_before(self) -> dict[str, dict[str, OptionEntry]]:
        return {}

    @cached_property
    def _sorted(self) -> dict[int, list[str]]:
        return {}

    @cached_property
    def _known(self) -> dict[str, dict[str, OptionEntry]]:
        return {}


def parse(table: Mapping[str, Any]) -> Iterator[Manual]:
    """The manuals of one TOML file. Raises `ValueError` that names the program for anything that is not in the format."""
    for name, entry in table.items():
        try:
            yield _manual(name, entry, table)
        except ValueError as error:
            raise ValueError(f"the manual of {name}: {error}") from None


def _manual(name: str, entry: Mapping[str, Any], table: Mapping[str, Any]) -> Manual:
    _only(entry, _KEYS)
    above = table[entry["like"]] if "like" in entry else {}
    given = {**above.get("verbs", {}), **entry.get("verbs", {})}
    spelled = [verb.strip() for verbs in given for verb in verbs.split(",")]
    if twice := {verb for verb in spelled if spelled.count(verb) > 1}:
        raise ValueError(f"verbs that stand there twice: {', '.join(sorted(twice))}")
    verbs = {verbs: _usage(usage, "", _VERB_KEYS) for verbs, usage in given.items()}
    whole = {**above, **entry}
    made = Manual(
        (name, *entry.get("names", "").split()),
        _usage(whole, above.get("options", "") if "options" in entry else "", _KEYS),
        verbs,
        whole.get("form", "getopt"),
        whole.get("bundle", False),
        whole.get("abbreviates", True),
        whole.get("lists", False),
        whole.get("signals", False),
        whole.get("stops", 0),
        entry.get("kind", ""),
    )
    if made.signals and not any("--signal" in option.names for option in made.usage.options):
        raise ValueError("its signals are values of --signal, which is not among its options")
    return msgspec.convert(msgspec.to_builtins(made), Manual)


def _usage(entry: Mapping[str, Any], more: str, keys: frozenset[str]) -> Usage:
    _only(entry, keys)
    words, does = tuple(entry.get("words", "").split()), frozenset(entry.get("does", "").split())
    if unknown := {word.removesuffix("...").rstrip("/") for word in words} - ROLES:
        raise ValueError(f"unknown roles of words: {', '.join(sorted(unknown))}")
    if sum(word.endswith("...") for word in words) > 1:
        raise ValueError("only one of the words may be repeated")
    if strange := does - DEEDS:
        raise ValueError(f"it does what nobody knows: {', '.join(sorted(strange))}")
    lines = [line.strip() for line in f"{more}\n{entry.get('options', '')}".splitlines()]
    options = tuple(_option(line) for line in lines if line)
    spelled = [name for option in options for name in option.names]
    if twice := {name for name in spelled if spelled.count(name) > 1}:
        raise ValueError(f"options that stand there twice: {', '.join(sorted(twice))}")
    return Usage(words, does, options)


def _option(line: str) -> OptionEntry:
    before, _, after = line.partition(" : ")
    spelled, sign, role = before.strip().partition("=")
    takes: Takes = "value" if sign else "nothing"
    if spelled.endswith("["):
        spelled, role, takes = spelled[:-1], role.removesuffix("]"), "attached"
    elif role.endswith("?"):
        role, takes = role.removesuffix("?"), "maybe"
    elif role == "=":
        role, takes = "", "pair"
    elif role == "#":
        role, takes = "", "number"
    elif role.endswith("..."):
        role, takes = role.removesuffix("..."), "many"
    names, traits = tuple(spelled.split()), frozenset(after.split())
    if not names or not all(name[:1] == "-" for name in names):
        raise ValueError(f"an option begins with a dash: {line!r}")
    if (role and role not in ROLES) or not traits <= TRAITS:
        raise ValueError(f"an unknown role or trait: {line!r}")
    return OptionEntry(names, takes, role, traits)


def _only(entry: Mapping[str, Any], keys: frozenset[str]) -> None:
    if unknown := entry.keys() - keys:
        raise ValueError(f"unknown keys: {', '.join(sorted(unknown))}")
