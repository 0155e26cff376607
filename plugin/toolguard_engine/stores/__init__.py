"""What outlives a process: files under `<state dir>/toolguard/` and the log."""
