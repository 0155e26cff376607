"""Finds out what file a tool of the real gateway opens for a spelling of a path.

Every spelling gets files of its own, whose names and contents nothing else has. All spellings are sent in a few messages of
a scripted model; afterwards the content of the home, or the tool's answer, tells which file was opened. The gateway runs
without the guard.
"""

from __future__ import annotations

import json
import secrets
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.rig.path_spellings import PathSpelling, ProbePlace
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway

IN_FOLDER = "here.txt"
BATCH = 60
"""Calls in one message of the model."""

LOOKED_AT = scripted_model.ASIDE
"""What the model answers that a picture is shown to."""

SETTINGS: dict[str, Any] = {"tools": {"exec": {"applyPatch": {"workspaceOnly": False}}}}
_TOOL_SEARCH_SINCE = "2026.8"


@dataclass(frozen=True)
class Opened:
    """What was opened for a spelling: empty if nothing was. `text`: what the tool was given; `name`: of its files."""

    spelling: PathSpelling
    text: str
    name: str
    path: str


@dataclass(frozen=True)
class Prober:
    """How one parameter of a tool is tried. `made`: the content of the files that are there before; None for none.
    `arguments`: those of a call; `shows`: whether a result shows this content; None if the content of the home tells.
    `folders`: the spellings are of folders."""

    tool: str
    ending: str
    made: Callable[[str], bytes] | None
    arguments: Callable[[str, str], dict[str, Any]]
    shows: Callable[[str, str], bool] | None
    folders: bool = False


def _text(mark: str) -> bytes:
    return f"before {mark}\n".encode()


def _png(mark: str) -> bytes:
    """A picture of one pixel; the mark is in a comment."""
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)),
        (b"tEXt", b"Comment\0" + mark.encode()),
        (b"IDAT", zlib.compress(b"\0\x10\x20\x30")),
        (b"IEND", b""),
    ]
    packed = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


def _patch(text: str, mark: str) -> dict[str, Any]:
    return {"input": f"*** Begin Patch\n*** Add File: {text}\n+after {mark}\n*** End Patch"}


def _is_looked_at(result: str, _: str) -> bool:
    return LOOKED_AT in result


PROBERS: tuple[Prober, ...] = (
    Prober("read", ".txt", _text, lambda text, _: {"path": text}, lambda result, mark: f"before {mark}" in result),
    Prober("write", ".txt", None, lambda text, mark: {"path": text, "content": f"after {mark}\n"}, None),
    Prober(
        "edit", ".txt", _text,
        lambda text, mark: {"path": text, "edits": [{"oldText": "before", "newText": f"after {mark}"}]}, None,
    ),
    Prober("apply_patch", ".txt", None, _patch, None),
    Prober("view_image", ".png", _png, lambda text, _: {"path": text, "prompt": "what is it"}, _is_looked_at),
    Prober("image", ".png", _png, lambda text, _: {"image": text, "prompt": "what is it"}, _is_looked_at),
    Prober(
        "exec", "", None, lambda text, mark: {"command": f"echo 'after {mark}' > {IN_FOLDER}", "workdir": text}, None,
        folders=True,
    ),
)  # fmt: skip


class PathProbe:
    """One gateway for all tries. Use it as a context manager."""

    def __init__(self, real: downloads.Runtime) -> None:
        self._real = real
        self._model = scripted_model.ScriptedModel(scripted_model.sequence([]))
        self._count = 0

    def __enter__(self) -> PathProbe:
        self._model.__enter__()
        self._home = Home(self._model.base_url, extra=self._settings())
        try:
            self._gateway = Gateway(self._real, self._home).start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if hasattr(self, "_gateway"):
            self._gateway.stop()
        self._home.__exit__(None, None, None)
        self._model.__exit__(None, None, None)

    @property
    def place(self) -> ProbePlace:
        return ProbePlace(self._home.workspace_dir, self._home.root, self._home.state_dir / "media" / "inbound")

    @property
    def state_dir(self) -> Path:
        return self._home.state_dir

    def _settings(self) -> dict[str, Any]:
        looking = {
            "id": "looking-1",
            "name": "Looking",
            "input": ["text", "image"],
            "contextWindow": 100_000,
            "maxTokens": 1_000,
        }
        cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
        provider = {
            "baseUrl": self._model.base_url, "apiKey": "rehearsal", "api": "openai-completions",
            "models": [
                {"id": scripted_model.MODEL, "name": "Scripted", "reasoning": False, "input": ["text"], "cost": cost,
                 "contextWindow": 1_000_000, "maxTokens": 32_000},
                {"reasoning": False, "cost": cost, **looking},
            ],
        }  # fmt: skip
        settings = {
            **SETTINGS,
            "models": {"providers": {scripted_model.PROVIDER: provider}},
            "agents": {"defaults": {"imageModel": {"primary": f"{scripted_model.PROVIDER}/looking-1"}}},
        }
        if self._real.version >= _TOOL_SEARCH_SINCE:
            settings["tools"] = {**settings["tools"], "toolSearch": False}
        return settings

    def offered(self) -> frozenset[str]:
        """The tools that the model is offered."""
        self._play([])
        return frozenset(self._model.requests[-1].tool_names)

    def tried(self, prober: Prober, spellings: Iterable[PathSpelling]) -> list[Opened]:
        """What the tool opens for each of these spellings."""
        spelled = list(spellings)
        tries = [self._prepared(prober, spelling) for spelling in spelled]
        calls = [scripted_model.ToolCall(prober.tool, prober.arguments(text, mark)) for _, text, mark, _ in tries]
        results = self._play(calls)
        replaced = {} if prober.shows else self._written()
        opened = []
        for (name, text, mark, files), spelling, result in zip(tries, spelled, results, strict=True):
            if prober.shows is None:
                path = replaced.get(mark, "").removesuffix(f"/{IN_FOLDER}")
            else:
                path = next((file for file, content in files.items() if prober.shows(result, content)), "")
            opened.append(Opened(spelling, text, name, path))
        return opened

    def _prepared(self, prober: Prober, spelling: PathSpelling) -> tuple[str, str, str, dict[str, str]]:
        """Creates the files of one try; returns their name, the text for the tool, the mark of the try, and those of the
        files."""
        self._count += 1
        mark = f"m{self._count}z"
        stem = spelling.file.rpartition("{}")[2]
        name = f"t{self._count}" if stem.startswith(".") else f"t{self._count}{prober.ending}"
        files: dict[str, str] = {}
        for number, path in enumerate(self._files(spelling, name, prober)):
            if prober.folders:
                path.mkdir(parents=True, exist_ok=True)
            elif prober.made is not None:
                files[str(path)] = f"{mark}{number}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(prober.made(f"{mark}{number}"))
        return name, self.place.filled(spelling.text, name), mark, files

    def _files(self, spelling: PathSpelling, name: str, prober: Prober) -> Iterator[Path]:
        if spelling.file:
            yield self.place.workspace / self.place.filled(spelling.file, name)
            return
        yield self.place.workspace / name
        if prober.ending != ".png":  # a picture is recognized by being found at all
            yield self.place.home / name

    def _written(self) -> dict[str, str]:
        """The files that hold the mark of a try, by that mark."""
        written: dict[str, str] = {}
        for path in self._home.root.rglob("*"):
            if path.is_symlink() or not path.is_file():
                continue
            with path.open("rb") as file:
                head = file.read(64)
            if head.startswith(b"after m"):
                written.setdefault(head.split()[1].decode(), str(path))
        return written

    def _play(self, calls: list[scripted_model.ToolCall]) -> list[str]:
        """The results of these calls, in their order."""
        results: list[str] = []
        for start in range(0, max(1, len(calls)), BATCH):
            batch = calls[start : start + BATCH]
            marker = f"({secrets.token_hex(8)})"
            replies = [scripted_model.Reply(calls=tuple(batch))] if batch else []
            self._model.play(scripted_model.sequence(replies, "Done."), marker)
            turn = self._gateway.turn(f"go {marker}", f"agent:main:probe-{marker[1:9]}")
            answers = self._model.requests[-1].texts("tool")
            if not turn.ok or len(answers) != len(batch):
                raise RuntimeError(f"{len(answers)} results of {len(batch)} calls: {json.dumps(turn.output)[:500]}")
            results += answers
        return results
