"""Decides whether a person started this command, from the system's information about processes and terminals.

An approval must come from a person, but a program that an agent wrote can run `toolguard` too. It can clear its
environment, detach from its parents and create terminals of its own, so none of these alone proves anything. There are three
results:

- **agent**: refused. An ancestor is the gateway, an engine or marked by OpenClaw; or the process is in the gateway's
  session or its own control group, or an orphan in the gateway's session or audit session.
- **person**: nothing is asked. The chain of parents is unbroken up to a process that ran before the guard did (so no agent
  started it), to a login from another machine, or to outside of this container.
- **unknown**: `--yes` does not count; the question is asked on the terminal, with a new code to type. Orphans are unknown,
  and so is anything started by a program that runs commands for any caller (cron, systemd, tmux, a terminal emulator's
  server). The terminal has to be a person's: the process at its other end is judged in the same way, since any program can
  create a pseudo-terminal.

Decisions:

- "Before the guard" means before the key that signs approvals was created, or before the oldest running gateway started if
  that is earlier. The running gateway alone is not enough: an orphan could wait for its restart.
- Orphans are adopted by process 1 or by the nearest ancestor that asked for them (a subreaper). Linux does not reveal which
  processes did, so `linux.orphans_go_to` creates an orphan and checks its new parent.
- A shell in tmux or screen is unknown regardless of its age: `tmux send-keys` types into it.
- `origin` and `terminals` do no I/O: they query a `System`, which is `linux`, `macos` or a record in a test.
- This does not stop a program that types on the user's terminal, reads the signing key, or is root.
"""
