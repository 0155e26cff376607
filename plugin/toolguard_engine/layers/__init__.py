"""The layers of the guard, one per file.

`judge(call, ...) -> Verdict | None` answers for a call that is about to run; None passes it to the next layer. Each takes
what it needs besides the call: settings, run, host, rules. The order is `Guard._first`; the first answer wins.
"""
