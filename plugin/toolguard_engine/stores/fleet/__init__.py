"""Held calls in a fleet's database, as the engine sees them. It asks the courier (`python -m toolguard_fleet`), a process of
its own, over a pipe: nothing here imports a database driver or waits for a network."""
