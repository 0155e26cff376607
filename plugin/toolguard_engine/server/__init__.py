"""The engine as a process: the loop over messages, sessions, and what watches files in the background."""
