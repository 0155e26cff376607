"""Loads all that an engine may need, before it is ready: the package may be replaced or removed while it runs."""

from __future__ import annotations

import base64  # noqa: F401
import binascii  # noqa: F401
import codecs
import difflib  # noqa: F401

import re2  # noqa: F401

from toolguard_engine.effects.commands import runner_table
from toolguard_engine.effects.control_plane import verb_catalogue
from toolguard_engine.effects.facts import key_owners, started_places
from toolguard_engine.effects.manuals import manual_catalogue, wrapper_catalogue
from toolguard_engine.host import path_repairs, setting_schemas
from toolguard_engine.metrics import database, prices
from toolguard_engine.rules import (
    risk_levels,
    rule_errors,  # noqa: F401
    scores,
    vocabulary,  # noqa: F401
)
from toolguard_engine.stores import open as stores


def load() -> None:
    """Modules that are otherwise imported where they are used, and the packaged data that they read."""
    stores.load_all()
    scores.load()
    risk_levels.load()
    verb_catalogue.load()
    manual_catalogue.load()
    wrapper_catalogue.load()
    runner_table.variable("")
    runner_table.runners("")
    key_owners.services()
    started_places.bundled()
    path_repairs.bundled()
    setting_schemas.load()
    database.migrations()
    prices.listed()
    for encoding in ("utf-16-le", "utf-16-be"):
        codecs.lookup(encoding)
