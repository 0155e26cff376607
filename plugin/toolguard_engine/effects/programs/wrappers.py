"""Programs that run other programs, as data: the position of the inner command among their arguments.

Short options with a value are written as for C's `getopt`. Long ones are in `LONG`, one set for all programs.
"""

from __future__ import annotations

from msgspec import Struct

from toolguard_engine.effects.facts import program_catalogue

NEVER = 99


class Wrapper(Struct, frozen=True):
    """`short`: short options with a value; `skip`: words before the program that are not options (a host, a duration).

    `joined`: the rest is one text for a shell, as is the value of `text`, an option such as `-c`; programs that take only
    such a text have `skip=NEVER`. `away`: it runs on another machine or in a container. `verb`: sub-commands, one of which
    is required.
    `dashes`: the program follows `--`, if there is one. `flags`: long options that have a value elsewhere but none here.
    `folder`: options that set the folder the program starts in.
    """

    short: str = ""
    skip: int = 0
    joined: bool = False
    text: tuple[str, ...] = ()
    away: bool = False
    verb: tuple[tuple[str, ...], ...] = ()
    dashes: bool = False
    flags: frozenset[str] = frozenset()
    folder: tuple[str, ...] = ()


_PREFIX = Wrapper()
_SPACES = frozenset({"--user", "--mount", "--net", "--pid", "--ipc", "--uts"})
_RUNNER = Wrapper(verb=(("run",), ("exec",), ("x",), ("dlx",), ("tool", "run")))

WRAPPERS: dict[str, Wrapper] = {
    "sudo": Wrapper("ugphCTRDrt", flags=frozenset({"--shell"}), folder=("-D", "--chdir")),
    "doas": Wrapper("uCa"),
    "pkexec": _PREFIX,
    "env": Wrapper("uCS", text=("-S", "--split-string"), folder=("-C", "--chdir")),
    "nohup": _PREFIX,
    **dict.fromkeys(
        ("ld.so", "ld-linux-x86-64.so.2", "ld-linux.so.2", "ld-linux-aarch64.so.1", "ld-musl-x86_64.so.1"), _PREFIX
    ),
    "time": Wrapper("fo"),
    "gtime": Wrapper("fo"),
    "timeout": Wrapper("sk", 1),
    "gtimeout": Wrapper("sk", 1),
    "nice": Wrapper("n"),
    "ionice": Wrapper("cnpPu"),
    "chrt": Wrapper("TPD", 1),
    "taskset": Wrapper("p", 1),
    "aa-exec": Wrapper("pn"),
    "choom": Wrapper("n"),
    "chpst": Wrapper("uUbe/nmdopfcr"),
    "cgexec": Wrapper("g"),
    "numactl": Wrapper("NCmipP"),
    "logsave": Wrapper("", 1),
    "setlock": Wrapper("", 1),
    "softlimit": Wrapper("mdsloapfcrt"),
    "envdir": Wrapper("", 1),
    "setuidgid": Wrapper("", 1),
    "s6-setuidgid": Wrapper("", 1),
    "faketime": Wrapper("", 1),
    "multitime": Wrapper("nsr"),
    "chronic": _PREFIX,
    "dumb-init": Wrapper("r"),
    "tini": Wrapper("pe"),
    "ccache": _PREFIX,
    "distcc": _PREFIX,
    "pexec": _PREFIX,
    "cross-env": _PREFIX,
    "cross-env-shell": Wrapper(joined=True),
    "setsid": _PREFIX,
    "stdbuf": Wrapper("ioe"),
    "unbuffer": _PREFIX,
    "exec": Wrapper("a"),
    "command": _PREFIX,
    "builtin": _PREFIX,
    "noglob": _PREFIX,
    "nocorrect": _PREFIX,
    "chroot": Wrapper("", 1),
    "fakeroot": Wrapper("sib"),
    "proot": Wrapper("rbRwq", folder=("-w", "--cwd")),
    "firejail": _PREFIX,
    "bwrap": _PREFIX,
    "strace": Wrapper("aeEoOpPsSuUX"),
    "ltrace": Wrapper("aeDlnopsuwxF"),
    "valgrind": _PREFIX,
    "busybox": _PREFIX,
    "toybox": _PREFIX,
    "systemd-run": Wrapper(
        "HMpu", flags=frozenset({"--user", "--wait", "--shell"}), folder=("--working-directory",)
    ),
    "systemd-inhibit": _PREFIX,
    "caffeinate": Wrapper("tw"),
    "cpulimit": Wrapper("lpe"),
    "prlimit": Wrapper("p"),
    "setpriv": _PREFIX,
    "runcon": Wrapper("turl"),
    "setarch": Wrapper("", 1),
    "linux32": _PREFIX,
    "linux64": _PREFIX,
    "unshare": Wrapper("SGRw", flags=_SPACES, folder=("-w", "--wd")),
    "nsenter": Wrapper("tSGrw", flags=_SPACES, folder=("-w", "--wd")),
    "dbus-run-session": _PREFIX,
    **dict.fromkeys(("xinit", "startx", "sx", "cage", "catchsegv"), Wrapper("ds")),
    **dict.fromkeys(("ts", "tsp"), Wrapper("LDWON")),
    "xvfb-run": Wrapper("efnpsw"),
    "gosu": Wrapper("", 1),
    "su-exec": Wrapper("", 1),
    "runuser": Wrapper("ugGcs", text=("-c", "--command")),
    "su": Wrapper("cgGsTw", NEVER, text=("-c", "--command")),
    "sg": Wrapper("c", 1, joined=True),
    "script": Wrapper("cIOTmEo", NEVER, text=("-c", "--command")),
    "flock": Wrapper("wEc", 1, text=("-c", "--command")),
    "watch": Wrapper("nq", joined=True),
    "entr": _PREFIX,
    "ssh-agent": Wrapper("aEtO"),
    "coproc": _PREFIX,
    "dtach": Wrapper("rez", 1),
    "abduco": Wrapper("e", 1),
    "daemonize": Wrapper("acepoluELv", folder=("-c",)),
    "tsocks": _PREFIX,
    "torsocks": _PREFIX,
    "torify": _PREFIX,
    "proxychains": Wrapper("f"),
    "proxychains4": Wrapper("f"),
    "rlwrap": _PREFIX,
    "ssh": Wrapper("BbcDEeFIiJLlmoOPpQRSWw", 1, joined=True, away=True),
    "mosh": Wrapper("p", 1, joined=True, away=True),
    "sshpass": Wrapper("pfdP"),
    "wsl": _PREFIX,
    "eval": Wrapper(joined=True),
    "trap": Wrapper("", 0, joined=True),
    "npx": Wrapper("cp", text=("-c", "--call")),
    "bunx": _PREFIX,
    "uvx": _PREFIX,
    "pipx": Wrapper(verb=(("run",),)),
    "npm": Wrapper("c", text=("-c", "--call"), verb=(("exec",), ("x",))),
    "pnpm": Wrapper(verb=(("exec",), ("dlx",))),
    "yarn": Wrapper(verb=(("exec",), ("dlx",), ("workspaces", "foreach"))),
    "bun": Wrapper(verb=(("x",),)),
    "uv": Wrapper(verb=(("run",), ("tool", "run"))),
    "poetry": _RUNNER,
    "pipenv": _RUNNER,
    "pdm": _RUNNER,
    "hatch": _RUNNER,
    "rye": _RUNNER,
    "conda": Wrapper("np", verb=(("run",),)),
    "mamba": Wrapper("np", verb=(("run",),)),
    "bundle": _RUNNER,
    "mise": _RUNNER,
    "asdf": _RUNNER,
    "rtx": _RUNNER,
    "direnv": Wrapper("", 1, verb=(("exec",),)),
    "dotenv": Wrapper("fe", verb=(("run",), ())),
    "doppler": Wrapper("pc", verb=(("run",),), dashes=True),
    "op": Wrapper(verb=(("run",),), dashes=True),
    "infisical": Wrapper(verb=(("run",),), dashes=True),
    "aws-vault": Wrapper("dn", 1, verb=(("exec",),)),
    "chamber": Wrapper("", 1, verb=(("exec",),), dashes=True),
    "nix-shell": Wrapper("pIA", NEVER, text=("--run", "--command")),
    "nix": Wrapper("", NEVER, text=("-c", "--command")),
    "devbox": _RUNNER,
    "tmux": Wrapper("Lfsntc", joined=True, folder=("-c",),
                    verb=(("new-session",), ("new",), ("new-window",), ("neww",), ("split-window",), ("splitw",),
                    ("send-keys",), ("send",), ("respawn-pane",), ("run-shell",), ("run",), ("if-shell",))),
    "screen": Wrapper("SceshTtpX"),
    "xdotool": Wrapper(joined=True, verb=(("type",),)),
    "ydotool": Wrapper(joined=True, verb=(("type",),)),
    "wtype": Wrapper("MmPpksd", joined=True),
    "docker": Wrapper("euwvphmla", 1, away=True, verb=(("exec",), ("run",), ("container", "exec"), ("container", "run"),
                      ("compose", "exec"), ("compose", "run"), ("create",))),
    "docker-compose": Wrapper("euwvpf", 1, away=True, verb=(("exec",), ("run",))),
    "podman": Wrapper("euwvp", 1, away=True, verb=(("exec",), ("run",), ("container", "exec"), ("container", "run"))),
    "nerdctl": Wrapper("euwvp", 1, away=True, verb=(("exec",), ("run",))),
    "kubectl": Wrapper("ncf", 1, away=True, verb=(("exec",), ("run",), ("debug",)), dashes=True),
    "oc": Wrapper("ncf", 1, away=True, verb=(("exec",), ("rsh",), ("run",), ("debug",)), dashes=True),
    "lxc": Wrapper("", 1, away=True, verb=(("exec",),), dashes=True),
    "incus": Wrapper("", 1, away=True, verb=(("exec",),), dashes=True),
    "multipass": Wrapper("", 1, away=True, verb=(("exec",),), dashes=True),
    "vagrant": Wrapper("c", NEVER, text=("-c", "--command"), away=True, verb=(("ssh",),)),
    "toolbox": Wrapper("c", verb=(("run",),)),
    "distrobox": Wrapper("n", verb=(("enter",),), dashes=True),
    "adb": Wrapper("sHPLt", joined=True, away=True, verb=(("shell",), ("exec-out",))),
    "crictl": Wrapper("", 1, away=True, verb=(("exec",),)),
    "buildah": Wrapper("uv", 1, away=True, verb=(("run",),), dashes=True),
    "apptainer": Wrapper("BH", 1, verb=(("exec",),)),
    "singularity": Wrapper("BH", 1, verb=(("exec",),)),
    "guix": Wrapper("", 1, verb=(("shell",), ("environment",)), dashes=True),
    "lerna": Wrapper(verb=(("exec",),), dashes=True),
    "nx": Wrapper(verb=(("exec",),), dashes=True),
    "pm2": Wrapper("nicfo", joined=True, verb=(("start",),)),
    "nodemon": Wrapper("x", NEVER, text=("-x", "--exec")),
    "hyperfine": Wrapper("wmMrNSLDuPpcsn", joined=True),
    "perf": Wrapper("eCptorF", verb=(("stat",), ("record",), ("trace",))),
    "qm": Wrapper("", 1, away=True, verb=(("guest", "exec"),), dashes=True),
    "pct": Wrapper("", 1, away=True, verb=(("exec",),), dashes=True),
    "minikube": Wrapper("pn", joined=True, away=True, verb=(("ssh",),)),
    "fly": Wrapper("Cas", NEVER, text=("-C", "--command"), away=True, verb=(("ssh", "console"),)),
    "flyctl": Wrapper("Cas", NEVER, text=("-C", "--command"), away=True, verb=(("ssh", "console"),)),
    "gcloud": Wrapper("", NEVER, text=("--command",), away=True, verb=(("compute", "ssh"),)),
    "salt-call": Wrapper("lc", joined=True, verb=(("cmd.run",), ("cmd.shell",))),
    "repo": Wrapper("c", NEVER, text=("-c",), verb=(("forall",),)),
    "meta": Wrapper(joined=True, verb=(("exec",),)),
    "flatpak-spawn": Wrapper(flags=frozenset({"--host", "--sandbox"})),
    "ip": Wrapper("", 1, verb=(("netns", "exec"),)),
}  # fmt: skip

LONG = frozenset(
    [
        "--user",
        "--group",
        "--host",
        "--prompt",
        "--chdir",
        "--close-from",
        "--role",
        "--type",
        "--other-user",
        "--signal",
        "--kill-after",
        "--unset",
        "--adjustment",
        "--class",
        "--classdata",
        "--max-args",
        "--max-procs",
        "--max-lines",
        "--max-chars",
        "--delimiter",
        "--arg-file",
        "--interval",
        "--format",
        "--output",
        "--input",
        "--error",
        "--unit",
        "--property",
        "--slice",
        "--description",
        "--uid",
        "--gid",
        "--working-directory",
        "--setenv",
        "--machine",
        "--timeout",
        "--wait",
        "--conflict-exit-code",
        "--root",
        "--wd",
        "--target",
        "--map-user",
        "--map-group",
        "--shell",
        "--whitelist-environment",
        "--supp-group",
        "--session-command",
        "--with",
        "--from",
        "--python",
        "--project",
        "--directory",
        "--package",
        "--profile",
        "--namespace",
        "--container",
        "--context",
        "--cluster",
        "--kubeconfig",
        "--name",
        "--env",
        "--env-file",
        "--volume",
        "--mount",
        "--publish",
        "--network",
        "--net",
        "--workdir",
        "--entrypoint",
        "--hostname",
        "--add-host",
        "--platform",
        "--memory",
        "--cpus",
        "--gpus",
        "--restart",
        "--label",
        "--device",
        "--cap-add",
        "--cap-drop",
        "--security-opt",
        "--pid",
        "--ipc",
        "--tmpfs",
        "--ulimit",
        "--log-driver",
        "--log-opt",
        "--dns",
        "--shm-size",
        "--pull",
        "--runtime",
        "--userns",
        "--uts",
        "--volumes-from",
        "--link",
        "--expose",
        "--stop-signal",
        "--annotation",
        "--cidfile",
        "--attach",
        "--filename",
        "--image",
        "--config",
        "--region",
        "--prefix",
        "--extra",
        "--session-name",
        "--window-name",
        "--argv0",
        "--host-name",
        "--detach-keys",
        "--file",
    ]
)
"""Long options with a separate value."""

SHELLS = program_catalogue.programs("shell")


def after_verb(argv: tuple[str, ...], wrapper: Wrapper) -> int:
    """The position after the sub-command that makes this program a wrapper; 0 if there is none."""
    if not wrapper.verb:
        return 1
    at, _ = options(argv, 1, wrapper)
    for verb in wrapper.verb:
        if argv[at : at + len(verb)] == verb:
            return at + len(verb)
    return 0


def options(argv: tuple[str, ...], at: int, wrapper: Wrapper) -> tuple[int, str]:
    """The position after the options, and the text that one of them says to run."""
    text = ""
    while at < len(argv) and argv[at].startswith("-") and len(argv[at]) > 1:
        option = argv[at]
        at += 1
        if option == "--":
            break
        name, sign, value = option.partition("=")
        if name in wrapper.text:
            text = value if sign else "".join(argv[at : at + 1])
            at += not sign
        elif option.startswith("--"):
            at += not sign and name in LONG and name not in wrapper.flags
        elif option[0:2] in wrapper.text and len(option) > 2:  # noqa: PLR2004 - `-c` with its text
            text = option[2:]
        elif option[-1] in wrapper.short and not any(letter in wrapper.short for letter in option[1:-1]):
            if "-" + option[-1] in wrapper.text:
                text = "".join(argv[at : at + 1])
            at += 1
    return at, text


def started(argv: tuple[str, ...]) -> str:
    """The name of the program that runs in the end, where `nice`, `timeout` and the like start it; empty if none can be
    seen."""
    while argv and (wrapper := WRAPPERS.get(name := argv[0].rpartition("/")[2])):
        at = after_verb(argv, wrapper)
        if not at or wrapper.skip == NEVER or wrapper.joined:
            return ""
        at, _ = options(argv, at, wrapper)
        while name == "env" and "=" in "".join(argv[at : at + 1]):
            at += 1
        if wrapper.skip:
            at, _ = options(argv, min(at + wrapper.skip, len(argv)), wrapper)
        argv = argv[at:]
    return argv[0].rpartition("/")[2] if argv else ""


def value_of(argv: tuple[str, ...], names: tuple[str, ...]) -> str:
    """The value of the first option with one of these names, anywhere; empty if there is none."""
    for at, word in enumerate(argv[1:], 1):
        name, sign, value = word.partition("=")
        if name in names:
            return value if sign else "".join(argv[at + 1 : at + 2])
        if word[:2] in names and not word.startswith("--"):
            return word[2:]
        if word[:1] == "-" and word[1:2] != "-" and f"-{word[-1]}" in names:
            return "".join(argv[at + 1 : at + 2])
    return ""
