"""The inner vocabulary of the guard: calls, runs, history, verdicts."""
