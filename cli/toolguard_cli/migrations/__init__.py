"""Migrates the settings and data of the plugins that toolguard replaces.

The migrations are data (`toolguard_manifests/migrations`), numbered and applied in order; steps that data cannot express are
small functions. Planning only reads; `journal` makes every change reversible.
"""

from __future__ import annotations

from toolguard_cli.migrations.found import find

__all__ = ["find"]
