"""Who started a process, on records of what systems report: desktops, servers, containers, and agents on each of them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from tables import each_row
from toolguard_cli.person import origin, terminals
from toolguard_cli.person.system_facts import Agents, ProcessInfo

GUARD = 1000.0
"""When the guard first ran. Processes that start at 2000 are younger, at 10 older."""
ME, SHELL, GATEWAY, USER = 900, 800, 500, 1000
SERVICE = "/user.slice/user-1000.slice/user@1000.service/app.slice/openclaw-gateway.service"
TERMINAL = "/usr/libexec/gnome-terminal-server"


@dataclass
class Record:
    """What a system reports. `ptys`: who holds each pseudo-terminal."""

    processes: dict[int, ProcessInfo]
    reapers: frozenset[int] = frozenset({1})
    ptys: dict[str, list[int]] | None = None
    attached: tuple[int, ...] = ()
    from_here: bool = False

    def process(self, pid: int) -> ProcessInfo | None:
        return self.processes.get(pid)

    def adopters(self) -> frozenset[int]:
        return self.reapers

    def local_logins(self) -> bool:
        return self.from_here

    def holders(self, tty: str) -> list[int] | None:
        return None if self.ptys is None else self.ptys.get(tty, [])

    def clients(self, server: ProcessInfo) -> list[int]:
        assert server
        return list(self.attached)


def proc(pid: int, ppid: int, name: str = "bash", **more: object) -> ProcessInfo:
    usual: dict[str, object] = {"started": 2000.0, "sid": pid, "uid": USER, "program": f"/usr/bin/{name}", "trusted": True}
    return ProcessInfo(pid, ppid, name=name, **{**usual, **more})  # type: ignore[arg-type]


GATEWAY_SERVICE = proc(GATEWAY, 400, "node", group=SERVICE, audit=7)
MANAGER = proc(400, 1, "systemd", started=10.0, group="/user.slice/user-1000.slice/user@1000.service/init.scope", audit=7)
SSHD = proc(60, 1, "sshd", started=10.0, uid=0, program="", trusted=True)
SSHD_PRIV = proc(61, 60, "sshd-session", uid=0, program="", trusted=True)
SSHD_USER = proc(62, 61, "sshd-session", program="", trusted=False)
AGENTS = Agents(frozenset({GATEWAY}), frozenset({501}), GUARD)


def record(*processes: ProcessInfo, reapers: tuple[int, ...] = (), **more: object) -> Record:
    known = {each.pid: each for each in (GATEWAY_SERVICE, MANAGER, SSHD, SSHD_PRIV, SSHD_USER)}
    known |= {each.pid: each for each in processes}
    return Record(known, frozenset({1, *reapers}), **more)  # type: ignore[arg-type]


def me(ppid: int = SHELL, **more: object) -> ProcessInfo:
    return proc(ME, ppid, "python3", **{"sid": ppid, "trusted": False, **more})


def judged(found: Record) -> tuple[str, str]:
    answer = origin.trace(found, ME, AGENTS)
    return answer.kind, answer.why


PERSONS = {
    "a shell by ssh": record(me(), proc(SHELL, 62)),
    "a command by ssh": record(me(62)),
    "sudo in ssh": record(me(850), proc(850, SHELL, "sudo", uid=0), proc(SHELL, 62)),
    "a login at the console": record(me(), proc(SHELL, 70), proc(70, 1, "login", uid=0, program="", trusted=True)),
    "a shell that is older than the guard": record(me(), proc(SHELL, 90, started=10.0), proc(90, 1, "gnome-terminal-")),
    "a test runner in tmux": record(
        me(850), proc(850, SHELL, "pytest", started=10.0), proc(SHELL, 90), proc(90, 1, "tmux: server")
    ),
    "from outside of the container": record(me(0)),
    "a shell from outside of the container": record(me(), proc(SHELL, 0)),
    "a service that is older, and not the gateway's": record(me(), proc(SHELL, 90, "make", started=10.0), proc(90, 1)),
    "the same service with an older shell": record(
        me(group=SERVICE), proc(SHELL, 90, started=10.0, group=SERVICE), proc(90, 1, "code-server", group=SERVICE)
    ),
}


@each_row("name", PERSONS)
def test_a_person(name: str) -> None:
    assert judged(PERSONS[name]) == ("person", "")


AGENTS_DOING = {
    "below a shell that its debugger controls": (
        record(me(), proc(SHELL, 90, started=10.0, tracer=95), proc(90, 1), proc(95, GATEWAY, "gdb")),
        "by a program that an agent's debugger controls",
    ),
    "a child": (record(me(GATEWAY)), "by the gateway"),
    "a grandchild": (record(me(), proc(SHELL, GATEWAY)), "by the gateway"),
    "a child of the engine": (record(me(501), proc(501, GATEWAY)), "by the gateway"),
    "another gateway's": (record(me(), proc(SHELL, 90, "openclaw-gatewa"), proc(90, 1)), "by the gateway"),
    "a paired node's": (record(me(), proc(SHELL, 90), proc(90, 1, "openclaw-node", started=10.0)), "by the gateway"),
    "marked": (record(me(62, marked=True)), "by an agent's exec"),
    "below what is marked": (record(me(), proc(SHELL, 62, marked=True)), "by an agent's exec"),
    "in a session that the gateway began": (record(me(1, sid=SHELL), proc(SHELL, GATEWAY)), "in a session of the gateway"),
    "in the gateway's own session": (record(me(1, sid=GATEWAY)), "in a session of the gateway"),
    "an orphan in the gateway's service": (record(me(400, group=SERVICE)), "in the gateway's control group"),
    "deeper in the gateway's service": (record(me(400, group=f"{SERVICE}/x")), "in the gateway's control group"),
    "an orphan in the terminal in which the gateway runs": (
        record(proc(GATEWAY, 300, "node", sid=300), proc(300, 62), me(1, sid=300)),
        "in the gateway's session",
    ),
    "an orphan of the login in which the gateway runs": (
        record(proc(GATEWAY, 300, "node", audit=9), proc(300, 62, audit=9), me(1, audit=9)),
        "in the gateway's audit session",
    ),
}


@each_row("name", AGENTS_DOING)
def test_an_agent(name: str) -> None:
    found, why = AGENTS_DOING[name]
    assert judged(found) == ("agent", why)


UNKNOWN = {
    "below a shell that a debugger controls": (
        record(me(), proc(SHELL, 90, started=10.0, tracer=95), proc(90, 1), proc(95, 62, "gdb")),
        "by a program that a debugger controls",
    ),
    "an orphan": (record(me(1)), "has ended"),
    "an orphan's child": (record(me(), proc(SHELL, 1)), "has ended"),
    "an orphan that a manager took in": (record(me(90), proc(90, 1, "supervise", started=10.0), reapers=(90,)), "has ended"),
    "an orphan above whose reaper another is": (
        record(me(95), proc(95, 90), proc(90, 1, "supervise", started=10.0), reapers=(95, 90)),
        "has ended",
    ),
    "systemd-run": (record(me(400, group="/x/run-u3.service"), reapers=(400,)), "by systemd"),
    "cron": (
        record(me(), proc(SHELL, 91, "sh"), proc(91, 90, "cron", uid=0), proc(90, 1, "cron", uid=0, started=10.0)),
        "by cron",
    ),
    "at": (record(me(), proc(SHELL, 90, "sh"), proc(90, 1, "atd", uid=0, started=10.0)), "by atd"),
    "a new shell in tmux": (record(me(), proc(SHELL, 90), proc(90, 1, "tmux: server", started=10.0)), "by tmux: server"),
    "an old shell in tmux": (
        record(me(), proc(SHELL, 90, started=10.0), proc(90, 1, "tmux: server", started=10.0)),
        "in tmux or screen",
    ),
    "a terminal's server": (
        record(me(), proc(SHELL, 90), proc(90, 400, "gnome-terminal-", program=TERMINAL), reapers=(400,)),
        "by gnome-terminal-server",
    ),
    "what calls itself sshd": (record(me(62), replace(SSHD_USER, ppid=1)), "has ended"),
    "an sshd of the agent's own": (
        record(me(63), proc(63, 64, "sshd", program="/usr/sbin/sshd"), proc(64, 1, "sshd", program="/usr/sbin/sshd")),
        "has ended",
    ),
    "ssh from this machine": (record(me(), proc(SHELL, 62, local_login=True)), "login from this machine"),
    "ssh while somebody came from this machine": (record(me(62), from_here=True), "login from this machine"),
    "what calls itself login": (record(me(70), proc(70, 1, "login")), "has ended"),
    "parents that are hidden": (record(me(77)), "does not show"),
    "a container without the gateway": (Record({ME: me(0)}), "in a container in which the gateway does not run"),
}


@each_row("name", UNKNOWN)
def test_nobody_can_tell(name: str) -> None:
    found, why = UNKNOWN[name]
    kind, said = judged(found)
    assert kind == "unknown"
    assert why in said


def test_where_no_guard_ever_ran_everything_is_older() -> None:
    assert origin.trace(record(me(1)), ME, Agents()).kind == "person"


def test_a_shared_group_is_not_the_gateways_own() -> None:
    scope = "/user.slice/user-1000.slice/session-3.scope"
    found = record(replace(GATEWAY_SERVICE, group=scope), me(group=scope), proc(SHELL, 62, group=scope))
    assert judged(found) == ("person", "")


def test_a_container_is_one_session() -> None:
    """With an init of its own all that runs in it may be in session 1, the person's shell too."""
    found = record(proc(GATEWAY, SHELL, "node", sid=1), me(sid=1), proc(SHELL, 1, sid=1))
    assert judged(found)[0] == "unknown"


def test_parents_in_a_ring_end() -> None:
    assert judged(record(me(), proc(SHELL, ME)))[0] == "unknown"


@given(
    links=st.lists(
        st.tuples(st.integers(2, 12), st.sampled_from([10.0, 2000.0]), st.sampled_from(["sh", "sshd", "tmux", "cron", "x"])),
        max_size=8,
    ),
    trusted=st.booleans(),
)
def test_no_parents_make_a_child_of_the_gateway_a_person(links: list[tuple[int, float, str]], *, trusted: bool) -> None:
    """Whatever stands between."""
    pids = [ME, *range(20, 20 + len(links)), GATEWAY]
    between = [
        proc(pid, above, name, started=started, sid=sid, trusted=trusted, uid=0)
        for (pid, above), (sid, started, name) in zip(itertools.pairwise(pids), [(ME, 2000.0, "x"), *links], strict=True)
    ]
    assert judged(record(*between))[0] == "agent"


# Terminals


def asked(found: Record) -> str:
    return terminals.refusal(found, ME, AGENTS)


def on(tty: str, ppid: int = SHELL) -> ProcessInfo:
    return me(ppid, tty=tty)


DESKTOP = (proc(SHELL, 90, tty="pts/3"), proc(90, 400, "gnome-terminal-", program=TERMINAL))
TMUX = proc(95, 1, "tmux: server", program="/usr/bin/tmux", started=2000.0)
PANE = proc(SHELL, 95, tty="pts/5")

FIT = {
    "a desktop": record(on("pts/3"), *DESKTOP, ptys={"pts/3": [90]}),
    "a console": record(on("tty2"), proc(SHELL, 1)),
    "ssh, whose server is hidden from its user": record(on("pts/4"), proc(SHELL, 62, tty="pts/4"), ptys={}),
    "ssh without its server in sight": record(on("pts/4"), proc(SHELL, 77, tty="pts/4"), ptys={}),
    "a program of root's": record(
        on("pts/4"), proc(SHELL, 78, tty="pts/4"), proc(78, 1, "Relay", uid=0, program=""), ptys={}
    ),
    "a container's terminal": record(on("pts/0"), proc(SHELL, 0, tty="pts/0"), ptys={}),
    "macOS": record(on("ttys003"), proc(SHELL, 91, tty="ttys003"), proc(91, 1, "Terminal", program="/x/Terminal")),
    "tmux on a desktop": record(
        on("pts/5"),
        PANE,
        TMUX,
        *(replace(each, pid=each.pid + 10, ppid=each.ppid + 10 * (each.ppid == 90)) for each in DESKTOP),
        proc(96, SHELL + 10, "tmux", tty="pts/3"),
        ptys={"pts/3": [100], "pts/5": [95]},
        attached=(96,),
    ),
    "script on a desktop": record(
        me(97, tty="pts/6", sid=97),
        proc(97, 98, tty="pts/6"),
        proc(98, SHELL, "script", tty="pts/3"),
        *DESKTOP,
        ptys={"pts/3": [90], "pts/6": [98]},
    ),
}


@each_row("name", FIT)
def test_a_terminal_to_ask_on(name: str) -> None:
    assert asked(FIT[name]) == ""


UNFIT = {
    "none": (record(me(1)), "there is no terminal"),
    "script": (
        record(on("pts/6", 98), proc(98, 1, "script"), ptys={"pts/6": [98]}),
        "held by script, which was started by a process",
    ),
    "an agent's child": (
        record(on("pts/6", 98), proc(98, GATEWAY, "expect"), ptys={"pts/6": [98]}),
        "started by the gateway",
    ),
    "one good holder and one bad": (
        record(on("pts/3"), *DESKTOP, proc(98, 1, "python3", trusted=False), ptys={"pts/3": [90, 98]}),
        "held by python3",
    ),
    "a copy of a terminal": (
        record(on("pts/6", 98), proc(98, 1, "xterm", program="/home/u/xterm", trusted=False), ptys={"pts/6": [98]}),
        "held by xterm",
    ),
    "a shell called xterm": (
        record(on("pts/6", 98), proc(98, 1, "xterm", program="/usr/bin/bash"), ptys={"pts/6": [98]}),
        "held by xterm",
    ),
    "nobody in sight, and an orphan began it": (
        record(on("pts/6"), proc(SHELL, 1, tty="pts/6"), ptys={}),
        "is unknown",
    ),
    "nobody in sight, and nothing began it": (record(on("pts/6"), ptys={}), "is unknown"),
    "tmux with nobody": (record(on("pts/5"), PANE, TMUX, ptys={"pts/5": [95]}), "no person is attached to tmux: server"),
    "tmux with the agent": (
        record(
            on("pts/5"),
            PANE,
            TMUX,
            proc(96, 98, "tmux", tty="pts/6"),
            proc(98, 1, "script"),
            ptys={"pts/5": [95], "pts/6": [98]},
            attached=(96,),
        ),
        "no person is attached",
    ),
    "tmux with the gateway's client": (
        record(on("pts/5"), PANE, TMUX, proc(96, GATEWAY, "tmux", tty="tty1"), ptys={"pts/5": [95]}, attached=(96,)),
        "no person is attached",
    ),
    "tmux in itself": (
        record(on("pts/5"), PANE, TMUX, proc(96, 95, "tmux", tty="pts/5"), ptys={"pts/5": [95]}, attached=(96,)),
        "no person is attached",
    ),
}


@each_row("name", UNFIT)
def test_no_terminal_to_ask_on(name: str) -> None:
    found, why = UNFIT[name]
    assert why in asked(found)
