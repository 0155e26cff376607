"""Whether a person started this command, decided from what the system says about processes and terminals.

A yes must come from a person, and a program that an agent wrote can run `toolguard` as well as a person can. It can clear
its environment, leave its parents behind and make terminals of its own, so each of these alone proves nothing. There are
three answers:

- **below an agent**: refused. A process that this one descends from is the gateway, an engine or marked by OpenClaw; or it
  is in the gateway's session, in the gateway's own control group, or an orphan in the gateway's session or audit session.
- **a person**: nothing is asked. The parents are unbroken up to a process that ran before the guard did (so no agent made
  it), to a login from another machine, or to outside of this container.
- **unknown**: `--yes` does not count; the question is asked on the terminal, with a new code to type. An orphan is unknown,
  and so is what was started by a program that runs things for whoever asks (cron, systemd, tmux, a terminal emulator's
  server). The terminal has to be a person's: the process at its other side is judged in the same way, since anybody can
  make a pseudo-terminal.

Decisions:

- "Before the guard" is the time of the key that signs approvals, or the start of the oldest running gateway if that is
  earlier. The running gateway alone is not enough: an orphan could wait for the gateway's restart.
- Orphans go to process 1 or to the next ancestor that asked for them (a subreaper). Linux does not say which processes did,
  so we leave an orphan behind and see where it goes (`linux.reaper`).
- A shell in tmux or screen counts as unknown however old it is: `tmux send-keys` types into it.
- `origin` and `terminals` do no I/O: they ask a `System`, which is `linux`, `macos` or a record in a test.
- A program that reads and types on a terminal of yours, reads the signing key, or is root is not stopped by this.
"""
