"""Loads the migrations: the plugins that they are for, the new names of settings, and the steps that they need."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

import msgspec

from toolguard_cli.system.errors import UserError
from toolguard_engine.config.settings import Config

AUTO = "auto"


class Migration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One migration file; the first one documents the keys. `name`: that of the file, such as `001-tool-guard`."""

    name: str
    steps: list[str]
    ids: list[str] = []
    keeps: list[str] = []
    settings: dict[str, str] = {}
    same_settings: bool = False
    gone: dict[str, str] = {}
    set: dict[str, str] = {}
    notes: list[str] = []

    def target(self, setting: str) -> tuple[str, ...] | None:
        """The path of the corresponding toolguard setting; None if there is none."""
        name = setting if self.same_settings and setting in _OURS else self.settings.get(setting)
        return tuple(name.split(".")) if name else None


_OURS = frozenset(field.encode_name for field in msgspec.structs.fields(Config))


@cache
def migrations() -> tuple[Migration, ...]:
    folder = files("toolguard_manifests").joinpath("migrations")
    named = sorted((file.name, file) for file in folder.iterdir() if file.name.endswith(".toml"))
    raw = [{"name": name.removesuffix(".toml"), **tomllib.loads(file.read_text("utf-8"))} for name, file in named]
    return tuple(msgspec.convert(raw, list[Migration]))


def chosen(wanted: str) -> tuple[Migration, ...]:
    """All migrations, or the one with this plugin id, name or number. Raises `UserError`."""
    selected = tuple(migration for migration in migrations() if wanted == AUTO or wanted in _names(migration))
    if not selected:
        known = ", ".join(_names(migration)[0] for migration in migrations())
        raise UserError(f"unknown migration {wanted[:80]!a}", f"use one of {known}, or {AUTO} for all")
    return selected


def _names(migration: Migration) -> list[str]:
    number, _, title = migration.name.partition("-")
    return [title, migration.name, number, *migration.ids]
