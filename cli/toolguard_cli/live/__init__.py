"""`toolguard doctor --live`: proves on the user's own OpenClaw, with a scripted model on loopback, that the guard guards.

The law: everything happens in a throw-away home. Of the user's installation only the plugin's folder and the path of the
engine's interpreter are used, and both are only read; no setting, no secret and no state of the user's is copied. Every
process that is started is ended, whatever happens.
"""

from toolguard_cli.live.canary import prove

__all__ = ["prove"]
