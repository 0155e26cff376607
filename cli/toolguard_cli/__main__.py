"""`python -m toolguard_cli`: the same as `toolguard`."""

from toolguard_cli.main import run

run()
