"""The layers of the guard, one per file, all of one shape.

`judge(call, run, config) -> Verdict | None` answers for a call that is about to run; None passes it to the next layer.
The order is `guard.LAYERS`; the first answer wins.
"""
