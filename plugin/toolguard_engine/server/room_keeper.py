"""The process that holds a room: a user and a mount namespace of its own. It ends when its standard input does.

Run as a script by a bare interpreter (`-I -S`) and imports next to nothing, so that it starts quickly and stays small. It
reads `KIND PATH` pairs, each part ended by NUL and all of them by an empty part, and answers `ready` or what failed.
"""

import ctypes
import os
import stat
import sys

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_SLAVE = 1, 2, 4, 32, 4096, 16384, 1 << 19
KEPT_FLAGS = 2 | 4 | 8 | 1024 | 2048
"""Flags of a mount that a user namespace may not drop: nosuid, nodev, noexec, noatime, nodiratime. `statvfs` has the same
values."""

ST_RELATIME, MS_RELATIME = 4096, 1 << 21
MOUNT_SETATTR, AT_RECURSIVE, ATTR_RDONLY = 442, 0x8000, 1
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
MAX_COPIES, MAX_COPY = 200, 1_000_000
MAX_INPUT = 1_000_000
O_PATH = 0o10000000
"""Only the module `os` of Linux has the name."""

libc = ctypes.CDLL(None, use_errno=True)


def checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    made = libc.mount(os.fsencode(source), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), data.encode())
    checked(made, f"mount {target}")


def enter_namespaces(extra: int) -> None:
    uid, gid = os.getuid(), os.getgid()
    checked(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS | extra), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    mount("none", "/", "", MS_REC | MS_SLAVE)


def start_loopback() -> None:
    import fcntl
    import socket
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP))


def kept_flags(path: str) -> int:
    flags = os.statvfs(path).f_flag
    return flags & KEPT_FLAGS | (MS_RELATIME if flags & ST_RELATIME else 0)


def make_read_only(path: str) -> None:
    mount("none", path, "", MS_REMOUNT | MS_BIND | MS_RDONLY | kept_flags(path))


def make_all_read_only(path: str, *, undo: bool = False) -> None:
    """Makes a path read-only, with all that is mounted below it."""
    change = (ctypes.c_uint64 * 4)(0 if undo else ATTR_RDONLY, ATTR_RDONLY if undo else 0, 0, 0)
    changed = libc.syscall(MOUNT_SETATTR, -100, os.fsencode(path), AT_RECURSIVE, change, ctypes.sizeof(change))
    checked(changed, f"mount_setattr {path}")


def bind(source: str, target: str) -> None:
    mount(source, target, "", MS_BIND | MS_REC)


def new_folder(path: str) -> None:
    mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=8m")


def copies(folder: str) -> list[tuple[str, bytes, int]]:
    copied = []
    for name in sorted(os.listdir(folder))[:MAX_COPIES]:
        path = os.path.join(folder, name)
        try:
            if stat.S_ISREG(os.stat(path).st_mode):
                with open(path, "rb") as file:
                    copied.append((name, file.read(MAX_COPY), os.stat(path).st_mode & 0o777))
        except OSError:
            continue  # a file of root's that we may not read: nobody needs a copy of it
    return copied


def pins(kinds: dict[str, set[str]]) -> set[str]:
    """The folders above a rule's path that the user could rename: the path would then lead past the rule. A mount point
    cannot be renamed."""
    return {
        above
        for path in kinds
        for above in folders_above(path)
        if os.access(os.path.dirname(above), os.W_OK) and not is_hidden(above, kinds)
    }.difference(kinds)


def is_hidden(path: str, kinds: dict[str, set[str]]) -> bool:
    """Whether the innermost rule that a path lies under hides it."""
    around = next((folder for folder in (path, *folders_above(path)) if folder in kinds), "")
    return "hide" in kinds.get(around, ())


def folders_above(path: str) -> list[str]:
    folders = []
    while path != "/" and (path := os.path.dirname(path)) != "/":
        folders.append(path)
    return folders


def furnish(rules: list[tuple[str, str]]) -> None:
    """Makes the mounts, outer folders first. What is shown in a hidden folder is opened before it is hidden.

    All stays open as long as the keeper runs: no other file then gets the number of one that is removed outside, by which
    the engine sees that a mask is lost.
    """
    kinds: dict[str, set[str]] = {}
    for kind, path in rules:
        real = os.path.realpath(path)
        if os.path.exists(real):
            kinds.setdefault(real, set()).add(kind)
    hidden = [path for path, found in kinds.items() if "hide" in found and os.path.isdir(path)]
    pinned = pins(kinds)
    opened = {path: os.open(path, O_PATH | os.O_CLOEXEC) for path in kinds}
    everywhere = sorted([*kinds, *pinned], key=lambda path: path.count("/") if path != "/" else 0)
    for path in everywhere:
        if path in pinned:
            bind(path, path)
        else:
            place(path, kinds[path], opened[path])
    for path in hidden:
        make_read_only(path)


def place(path: str, kinds: set[str], handle: int) -> None:
    source = f"/proc/self/fd/{handle}"
    if path == "/":
        make_all_read_only(path)
    elif "hide" in kinds:
        hide(path, os.path.isdir(source))
    elif "own" in kinds:
        files = copies(path)
        new_folder(path)
        for name, content, mode in files:
            with open(os.path.join(path, name), "wb") as file:
                file.write(content)
                os.fchmod(file.fileno(), mode)
        make_read_only(path)
    else:
        make_target(path, os.path.isdir(source))
        bind(source, path)
        if "read-only" in kinds:
            make_read_only(path)
        elif "write" in kinds:
            make_all_read_only(path, undo=True)


def hide(path: str, is_folder: bool) -> None:  # noqa: FBT001 - what it is
    if is_folder:
        new_folder(path)
    else:
        bind("/dev/null", path)


def make_target(path: str, is_folder: bool) -> None:  # noqa: FBT001 - as above
    """What a path is mounted on; in a hidden folder it is not there yet."""
    if os.path.lexists(path):
        return
    os.makedirs(path if is_folder else os.path.dirname(path), mode=0o755, exist_ok=True)
    if not is_folder:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))


def received() -> list[tuple[str, str]]:
    data = b""
    while not data.endswith(b"\0\0"):
        more = os.read(0, 65_536)
        if not more or len(data) > MAX_INPUT:
            sys.exit(2)
        data += more
    parts = [os.fsdecode(part) for part in data[:-2].split(b"\0")]
    return list(zip(parts[::2], parts[1::2], strict=False))


def main() -> None:
    os.umask(0o022)
    rules = received()
    is_offline = ("offline", "/") in rules
    try:
        os.chdir("/")
        enter_namespaces(CLONE_NEWNET if is_offline else 0)
        if is_offline:
            start_loopback()
        furnish([rule for rule in rules if rule[0] != "offline"])
    except OSError as error:
        os.write(1, f"{error.errno} {error.strerror}: {error.filename or ''}\n".encode(errors="replace"))
        sys.exit(1)
    os.write(1, b"ready\n")
    while os.read(0, 4096):
        pass


if __name__ == "__main__":
    main()
