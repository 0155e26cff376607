"""The catalogue of the control plane: maintained in TOML, read by the engine from JSON.

`scripts/build_manifest` writes the JSON file; parsing TOML at each start would take too long.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from itertools import product
from typing import Any

import msgspec

from toolguard_engine import packaged
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.manuals.manual_form import Manual, OptionEntry, Usage
from toolguard_engine.effects.manuals.option_spellings import HELP, REHEARSAL, VERSION

SOURCE = "controlplane.toml"
MADE = "controlplane.json"
UNKNOWN_VERB = "unknown"
"""The effect of anything that is not in the catalogue."""

PASSING = frozenset({"read", "use", "open"})
"""Effects that never need approval."""

EFFECTS = frozenset(
    {
        "read", "use", "settings", "run", "access", "secret", "agent", "destroy", "restart", "interrupt", "guard", "guard?",
        "setting", "shown", "port", "open",
    }
)  # fmt: skip
_AGENTS = ("agents.defaults", "agents.entries.*", "agents.list.*")
_MAX_NAME = 200


class Option(msgspec.Struct, frozen=True):
    """Options that give these verbs another effect, in addition to their own or `instead` of it."""

    verbs: tuple[str, ...]
    names: tuple[str, ...]
    effect: str
    instead: bool = False


class Setting(msgspec.Struct, frozen=True):
    """Settings by the names in their paths (globs; a final `**` matches any number of names), and the effect of changing
    them."""

    path: tuple[str, ...]
    effect: str


class StrictValue(msgspec.Struct, frozen=True):
    """A value that gives nobody more, whatever was there before, by the names in its path."""

    path: tuple[str, ...]
    value: bool | str


class VerbCatalogue(msgspec.Struct, frozen=True, dict=True):
    """The catalogue as in the JSON file: verbs as `"config set"`, methods and settings in order of precedence."""

    verbs: dict[str, str]
    aliases: dict[str, str]
    options: tuple[Option, ...]
    dry: tuple[str, ...]
    valued: frozenset[str]
    plain: frozenset[str]
    before: frozenset[str]
    models: frozenset[str]
    methods: tuple[tuple[str, str], ...]
    tools: dict[str, dict[str, str]]
    settings: tuple[Setting, ...]
    strict: tuple[StrictValue, ...]
    shown_paths: tuple[tuple[str, ...], ...]
    secret_names: frozenset[str]
    unguarded_models: tuple[str, ...]

    @cached_property
    def manual(self) -> Manual:
        """The options of all verbs, as the manuals of other programs have theirs."""
        options = [OptionEntry((name,), "value") for name in self.valued]
        options += [OptionEntry((name,)) for name in self.plain | HELP | VERSION | REHEARSAL]
        return Manual(("openclaw",), Usage(options=tuple(options)), form="long", abbreviates=False)

    @cached_property
    def groups(self) -> frozenset[str]:
        """Words that have verbs below them."""
        named = (name.split() for name in (*self.verbs, *self.aliases))
        return frozenset(" ".join(words[:end]) for words in named for end in range(1, len(words)))

    @cached_property
    def _methods(self) -> tuple[dict[str, str], tuple[tuple[re.Pattern[str], str], ...]]:
        """Methods by exact name, and those with a glob."""
        whole = {name: effect for name, effect in self.methods if "*" not in name}
        return whole, tuple((_method_test(name), effect) for name, effect in self.methods if "*" in name)

    @cached_property
    def _branches(self) -> dict[str, tuple[Setting, ...]]:
        """The settings in lower case, by the first name of their paths."""
        branches: dict[str, tuple[Setting, ...]] = {}
        for setting in self.settings:
            lower = Setting(tuple(name.lower() for name in setting.path), setting.effect)
            branches[lower.path[0]] = (*branches.get(lower.path[0], ()), lower)
        return branches

    def method(self, name: str) -> str:
        """The effect of a gateway method."""
        whole, globs = self._methods
        if name in whole or len(name) > _MAX_NAME:
            return whole.get(name, UNKNOWN_VERB)
        return next((effect for test, effect in globs if test.fullmatch(name)), UNKNOWN_VERB)

    def settings_at(self, first: str) -> tuple[Setting, ...]:
        """The settings, in lower case, whose paths begin with this name; all of them if the name is unknown."""
        if first and UNKNOWN not in first:
            return self._branches.get(first, ())
        return tuple(setting for branch in self._branches.values() for setting in branch)

    def is_dry(self, verb: str) -> bool:
        """Whether this verb has `--dry-run`."""
        return any(_same_words(pattern, verb) for pattern in self.dry)


@cache
def load() -> VerbCatalogue:
    """The bundled catalogue, read once."""
    return msgspec.json.decode(packaged.FOLDER.joinpath(MADE).read_bytes(), type=VerbCatalogue)


def from_toml() -> VerbCatalogue:
    """The catalogue from its TOML source. Raises `ValueError` for an unknown effect or a repeated name."""
    return parse(tomllib.loads(packaged.FOLDER.joinpath(SOURCE).read_text("utf-8")))


def encode(catalogue: VerbCatalogue) -> str:
    """The JSON file: one table per line."""
    table = msgspec.to_builtins(catalogue, order="deterministic")
    lines = (f'"{key}": {msgspec.json.encode(value, order="deterministic").decode()}' for key, value in table.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def parse(table: Mapping[str, Any]) -> VerbCatalogue:
    settings = ((path, entry["effect"]) for entry in table["settings"] for path in entry["paths"])
    return VerbCatalogue(
        verbs=_by_name(table["verbs"]),
        aliases=table["aliases"],
        options=tuple(_option(entry) for entry in table["options"]),
        dry=tuple(verb for line in table["dry"]["verbs"] for verb in alternatives(line)),
        valued=frozenset(table["words"]["valued"]),
        plain=frozenset(table["words"]["plain"]),
        before=frozenset(table["words"]["before"]),
        models=frozenset(table["words"]["models"]),
        methods=tuple(_methods(table["methods"])),
        tools={tool: _by_name(actions) for tool, actions in table["tools"].items()},
        settings=tuple(
            Setting(tuple(file.split(".")), _known(effect)) for path, effect in settings for file in _paths(path)
        ),
        strict=tuple(
            StrictValue(tuple(name.lower() for name in each.split(".")), entry["value"])
            for entry in table["strict"]
            for path in entry["paths"]
            for each in _paths(path)
        ),
        shown_paths=tuple(tuple(path.split(".")) for path in table["secrets"]["paths"]),
        secret_names=frozenset(table["secrets"]["names"]),
        unguarded_models=tuple(table["models"]["unguarded"]),
    )


def alternatives(line: str, between: str = " ") -> Iterator[str]:
    """Everything that a line with `a|b` in it stands for."""
    for words in product(*(word.split("|") for word in line.split(between))):
        yield between.join(words)


def _by_name(lists: Mapping[str, list[str]]) -> dict[str, str]:
    effects: dict[str, str] = {}
    for effect, lines in lists.items():
        for name in (name for line in lines for name in alternatives(line)):
            if name in effects:
                raise ValueError(f"{name!r} is in the catalogue twice")
            effects[name] = _known(effect)
    return effects


def _methods(lists: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Names without a glob come first."""
    methods = [
        (name, _known(effect)) for effect, lines in lists.items() for line in lines for name in alternatives(line, ".")
    ]
    yield from sorted(methods, key=lambda method: "*" in method[0])


def _option(entry: Mapping[str, Any]) -> Option:
    verbs = tuple(verb for line in entry["verbs"] for verb in alternatives(line))
    return Option(verbs, tuple(entry["names"]), _known(entry["effect"]), entry.get("instead", False))


def _paths(path: str) -> Iterator[str]:
    for alternative in alternatives(path, "."):
        yield from (
            (alternative.replace("agents.@", agent) for agent in _AGENTS)
            if alternative.startswith("agents.@")
            else (alternative,)
        )


def _known(effect: str) -> str:
    if effect not in EFFECTS:
        raise ValueError(f"{effect!r} is not an effect")
    return effect


def _same_words(pattern: str, verb: str) -> bool:
    wanted, words = pattern.split(" "), verb.split(" ")
    return len(wanted) == len(words) and all(want in ("*", word) for want, word in zip(wanted, words, strict=True))


def _method_test(name: str) -> re.Pattern[str]:
    return re.compile(re.escape(name).replace(r"\*", "[^.]*"))
