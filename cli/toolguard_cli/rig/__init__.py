"""A rehearsal stage: the real OpenClaw in a throw-away home, with a scripted model on loopback.

The demo, the gateway tests and the benchmarks play on it. Nothing here touches the user's own state.
"""
