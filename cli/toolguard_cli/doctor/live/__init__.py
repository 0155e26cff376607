"""`toolguard doctor --live`: proves that the guard works with the user's OpenClaw and a scripted model on loopback.

Invariants: everything happens in a temporary home. Of the user's installation, only the plugin's folder and the engine's
interpreter are used, both read-only; no settings, secrets or state are copied. Every started process is ended.
"""

from toolguard_cli.doctor.live.canary import prove

__all__ = ["prove"]
