"""Estimated cost of model calls for which the gateway has none. The prices are data (`toolguard_manifests/prices.toml`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct, field

from toolguard_engine import lazy_re, packaged
from toolguard_engine.config.settings import ModelPrice
from toolguard_engine.metrics.row_writer import CallRecord

MILLION = 1_000_000
MAX_KNOWN = 1_000
ANY_PROVIDER = "*/"
_TAG = lazy_re.compile(r"[:@].*\Z", re.DOTALL)
_VENDOR = lazy_re.compile(r"\A(?:[a-z]+\.)+(?=[a-z])")
_VERSION = lazy_re.compile(r"(?:-(?:20\d{6}|20\d\d-\d\d-\d\d|v\d|latest|preview))+\Z")
"""Not `-0613` or `-2411`: those have prices of their own far more often."""

_GLOBS = lazy_re.compile(r"[\[?]")


class Price(msgspec.Struct, frozen=True):
    """USD for a million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    def charge(self, call: CallRecord) -> float:
        """USD."""
        return (
            call.input * self.input
            + call.output * self.output
            + call.cache_read * self.cache_read
            + call.cache_write * self.cache_write
        ) / MILLION


Entries = tuple[tuple[str, Price | None], ...]


class Table(Struct):
    """Patterns and prices; the first match counts; None: unknown. Results are cached.

    `own` counts first. Entries of `listed` for any provider apply to `providers` only: elsewhere a model of that name may be
    part of a plan, or run locally.
    """

    own: Entries
    listed: Entries = ()
    providers: frozenset[str] = frozenset()
    _known: dict[tuple[str, str], Price | None] = field(default_factory=dict)

    def price(self, provider: str, model: str) -> Price | None:
        key = (provider, model)
        if key not in self._known:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[key] = self._found(provider.lower(), model.lower())
        return self._known[key]

    def _found(self, provider: str, model: str) -> Price | None:
        spellings = _spellings(provider, model)
        known = provider in self.providers
        listed = (entry for entry in self.listed if known or not entry[0].startswith(ANY_PROVIDER))
        entries = (entry for source in (self.own, listed) for entry in source)
        return next((price for pattern, price in entries if any(fnmatchcase(name, pattern) for name in spellings)), None)


@cache
def listed() -> dict[str, Any]:
    """Our own list, as it is packaged."""
    return packaged.table("prices.toml")


def load(overrides: Mapping[str, ModelPrice] | None = None) -> Table:
    """Our own list after the prices of the config (`metrics.prices`)."""
    own = {_pattern(name): _price(price) for name, price in (overrides or {}).items()}
    known = {name: Price(*four) if four else None for name, four in listed()["prices"].items()}
    return Table(_sorted(own), _sorted(known), frozenset(listed()["providers"]))


def estimate(call: CallRecord, table: Table) -> CallRecord:
    """The call with its estimated cost. A call with a known cost, or without input tokens, stays as it is."""
    if call.cost_usd is not None or not (call.input or call.cache_read or call.cache_write):
        return call
    price = table.price(call.provider, call.model)
    return call if price is None else call._replace(cost_usd=price.charge(call), cost_estimated=1)


def dated(model: str) -> str:
    """A model's name without the path of a router, a vendor in front and tags, with `-` for `.`."""
    return _VENDOR.sub("", _TAG.sub("", model.lower().rpartition("/")[2])).replace(".", "-")


def plain(model: str) -> str:
    """The same without dates and versions: as our list has it."""
    return _VERSION.sub("", dated(model))


def _spellings(provider: str, model: str) -> tuple[str, ...]:
    return f"{provider}/{model}", f"{provider}/{dated(model)}", f"{provider}/{plain(model)}"


def _pattern(name: str) -> str:
    return name.lower() if "/" in name else f"{ANY_PROVIDER}{name.lower()}"


def _price(price: ModelPrice) -> Price:
    read, write = (price.input if cost is msgspec.UNSET else cost for cost in (price.cache_read, price.cache_write))
    return Price(price.input, price.output, read, write)


def _sorted(prices: Mapping[str, Price | None]) -> Entries:
    """The more specific pattern first. Only `*` is a wildcard here."""
    entries = sorted(prices.items(), key=lambda entry: (entry[0].startswith("*"), -len(entry[0].replace("*", "")), entry[0]))
    return tuple((_GLOBS.sub(r"[\g<0>]", name), price) for name, price in entries)
