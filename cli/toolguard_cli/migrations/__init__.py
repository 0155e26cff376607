"""Takes over from the plugins that toolguard replaces: what they were set to, and what they kept.

The migrations are data (`toolguard_manifests/migrations`), numbered and applied in order; what data cannot say is one small
function each. Planning is pure but for reading; `journal` makes every change one that can be taken back.
"""

from __future__ import annotations

from toolguard_cli.migrations.found import found

__all__ = ["found"]
