"""One command per file; each returns a `Result` and prints nothing."""
