"""What a trace of the gateway tells of the files that it starts, on lines as strace writes them."""

from __future__ import annotations

from pathlib import Path

from toolguard_cli.rig import started_files, syscall_trace
from toolguard_cli.rig.started_trace import TracedPlaces
from toolguard_cli.rig.syscall_trace import FileAccess
from toolguard_engine.host.started_catalogue import StartedFile, StartedList

HOME = Path("/h")
PLACES = TracedPlaces(HOME, HOME / ".openclaw", HOME / "work", HOME / "start", HOME / "tmp", Path("/opt/openclaw"))
MISSING = "-1 ENOENT (No such file or directory)"
HASH = "3f" * 32


def looked(path: str, result: str = "0", pid: int = 1) -> str:
    return (
        f'{pid} statx(AT_FDCWD</h/start>, "{path}", AT_STATX_SYNC_AS_STAT, STATX_ALL, {{stx_mode=S_IFREG|0644}}) = {result}'
    )


def opened(path: str, result: str = "3", pid: int = 1, how: str = "O_RDONLY|O_CLOEXEC") -> str:
    return f'{pid} openat(AT_FDCWD</h/start>, "{path}", {how}) = {result}'


def started(*lines: str) -> dict[str, tuple[str, bool]]:
    """Use and presence of each place, for a gateway with process id 1 and its shell with 2."""
    begun = ('1 execve("/opt/node/bin/node", ["node"], 0x1 /* 9 vars */) = 0',)
    shell = ("1 vfork() = 2", '2 execve("/bin/bash", ["bash"], 0x1 /* 9 vars */) = 0')
    found = started_files.started(list(syscall_trace.accesses([*begun, *shell, *lines])), PLACES)
    return {each.place: (each.use, each.present) for each in found}


def test_modules_are_imported_also_those_that_are_missing() -> None:
    assert started(
        opened("/h/.openclaw/hooks/planted/handler.js"),
        looked("/h/.openclaw/hooks/planted/handler.ts", MISSING),
        opened("/h/work/hooks/planted/handler.js"),
        opened("/h/work/hooks/planted/HOOK.md"),
        looked("dist/x.mjs", MISSING),
        looked("/h/.node_modules", MISSING),
        looked("/h/work/.openclaw/hooks", MISSING),
        opened("/opt/openclaw/dist/index.js"),
        looked("/opt/node_modules", MISSING),
        looked("/node_modules/x/index.js", MISSING),
    ) == {
        "above/node_modules/**": ("imported", False),
        "state/hooks/**": ("imported", True),
        "workspace/hooks/*/handler.js": ("imported", True),
        "workspace/hooks/*/HOOK.md": ("imported", True),
        "start/dist/x.mjs": ("imported", False),
        "home/.node_modules/**": ("imported", False),
        "workspace/.openclaw/hooks/**": ("imported", False),
    }


def test_what_a_shell_opens_is_sourced_and_where_it_looks_for_programs_counts() -> None:
    assert started(
        opened(f"/h/.openclaw/cache/shell-snapshots/{HASH}.sh", pid=2),
        opened("/h/.bashrc", MISSING, pid=2),
        looked("/h/.openclaw/tmp/agent-cli/date", MISSING, pid=2),
        looked("/h/.openclaw/tmp/agent-cli", pid=2),
        opened("/etc/profile", pid=2),
    ) == {
        "state/cache/shell-snapshots/**": ("sourced", True),
        "home/.bashrc": ("sourced", False),
        "state/tmp/agent-cli/**": ("runs", False),
    }


def test_settings_are_told_from_data() -> None:
    assert started(
        opened("/h/.openclaw/openclaw.json"),
        looked("/h/.openclaw/.env", MISSING),
        opened("/h/.openclaw/state/openclaw.sqlite"),
        opened("/h/.cache/x.sqlite"),
        opened("/h/work/memory/notes.json"),
        opened("/h/work/AGENTS.md"),
        opened("/h/.openclaw/agents/main/sessions/a.jsonl"),
        looked("/h/package.json", MISSING),
        opened("/h/.openclaw/update.json", how="O_WRONLY|O_CREAT"),
    ) == {
        "state/openclaw.json": ("config", True),
        "state/.env": ("config", False),
        "state/state/openclaw.sqlite": ("config", True),
    }


def test_programs_that_are_run_or_looked_for() -> None:
    assert started(
        f'1 execve("/h/.local/bin/pnpm", ["pnpm"], 0x1 /* 9 vars */) = {MISSING}',
        '2 execve("/usr/bin/ls", ["ls"], 0x1 /* 9 vars */) = 0',
    ) == {"home/.local/bin/pnpm": ("runs", False)}


def test_calls_that_another_process_interrupts_are_put_together() -> None:
    lines = [
        '7 openat(AT_FDCWD</h>, "a.js", O_RDONLY <unfinished ...>',
        "8 vfork( <unfinished ...>",
        "7 <... openat resumed>) = 3</h/a.js>",
        "8 <... vfork resumed>) = 9",
        "8 +++ exited with 0 +++",
        '9 access("b.js", F_OK) = 0',
    ]
    assert list(syscall_trace.accesses(lines)) == [FileAccess("", "open", "/h/a.js", found=True)]


def test_a_list_lacks_what_a_release_does_besides() -> None:
    known, new = (StartedFile(f"state/{name}.json", "config", present=True) for name in "ab")
    listed = StartedList((), ()).with_release("2026.9.6", frozenset({known}))
    absent = StartedFile(known.place, known.use, present=False)
    assert started_files.missing(frozenset({absent, new}), listed) == ["state/b.json (config)"]
