"""Files that describe containers, as the `docker run` with the same options, and those that give rights in a cluster, as
`kubectl create`; lists of packages as `pip install`."""

from __future__ import annotations

import re
from shlex import quote

from toolguard_engine import lazy_re
from toolguard_engine.effects.syntax.project_files import Lines

MAX_OPTIONS = 8
_ROOTED = lazy_re.compile(
    r"(?:^\s{0,40}-\s{1,9}|[\[,]\s{0,9})['\"]?((?:/|~|\$\{?HOME\}?)[^:'\"\s]{0,200}:/[^'\"\s]{1,200})", re.MULTILINE
)
_HOST_PATH = lazy_re.compile(r"hostPath:\s{0,9}\{?\s{1,40}path:\s{0,9}['\"]?([^'\"\s},]{1,200})")
_HOSTED = lazy_re.compile(
    r"^[\s{,]{0,40}(?:-\s)?(privileged|hostPID|pid|hostNetwork)\s{0,9}:\s{0,9}['\"]?(?:true|host)\b", re.MULTILINE
)
_ADDED_RIGHTS = lazy_re.compile(r"\b(?:SYS_ADMIN|SYS_PTRACE|SYS_MODULE|ALL|DAC_READ_SEARCH)\b")
_BINDING = lazy_re.compile(r"\bkind['\"]?:\s{0,9}['\"]?(?:Cluster)?RoleBinding\b")
_BOUND = lazy_re.compile(
    r"\b(?:roleRef|subjects)\b[^\0]{0,200}?\bname['\"]?:\s{0,9}['\"]?"
    r"(?:cluster-admin|system:(?:anonymous|unauthenticated|authenticated|masters))(?![\w-])"
)
_ADDRESS = lazy_re.compile(
    r"^[ \t]{0,40}+(?:-e[ \t]{1,9}+)?((?:[\w.\[\]-]{1,80}+[ \t]{0,9}+@[ \t]{0,9}+)?(?:git\+|https?://)[^\s;#]{1,400})",
    re.MULTILINE,
)


def _options_of(text: str) -> list[str]:
    """The options of `docker run` for what a file asks of the machine."""
    options = [
        "--privileged" if one[1] == "privileged" else "--pid=host"
        for one in _HOSTED.finditer(text)
        if one[1] != "hostNetwork"
    ]
    options += [f"-v {quote(one[1])}" for one in _ROOTED.finditer(text)]
    options += [f"-v {quote(one[1])}:/host" for one in _HOST_PATH.finditer(text)]
    if "cap_add" in text or "capabilities" in text:
        options += [f"--cap-add={one[0]}" for one in _ADDED_RIGHTS.finditer(text)]
    return list(dict.fromkeys(options))[:MAX_OPTIONS]


def described(text: str) -> Lines:
    """The commands that would do what a description of containers or of a cluster's rights asks for."""
    options = _options_of(text)
    lines = [(1, f"docker run {' '.join(options)} image")] if options else []
    if _BINDING.search(text) and (bound := _BOUND.search(text)):
        lines.append((bound.start() + 1, "kubectl create clusterrolebinding any --clusterrole=cluster-admin"))
    return lines


def required(text: str) -> Lines:
    """Addresses in lists of packages: `pip install -r x`."""
    matches = _ADDRESS.finditer(text)
    return [(match.start(1) + 1, f"pip install {quote(match[1].strip())}") for match in matches]
