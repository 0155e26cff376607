"""What code does, read from its text: its acts become the programs and effects that a shell command of the same act has.

`code_deeds`: the acts, for every language. `python_code` reads Python: `python_values` holds what is known of a value,
`python_folding` works out operations on values, `python_calls` and `python_requests` know what library calls do.
"""
