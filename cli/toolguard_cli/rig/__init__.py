"""A test rig: the real OpenClaw in a temporary home, with a scripted model on loopback.

Used by the demo, the gateway tests and the benchmarks. It does not touch the user's own state.
"""
