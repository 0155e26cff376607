"""Limits on `openclaw.json` with its includes, shared by the engine, the command line and the plugin."""

CONFIG_FILES = 500
CONFIG_BYTES = 20 * 1024 * 1024
"""Of all files together."""
