"""Programs that run other programs: where the inner command is among their words."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

import pytest

from tables import each_row
from toolguard_engine import packaged
from toolguard_engine.effects.manuals import manual_catalogue, wrapper_catalogue
from toolguard_engine.effects.manuals.manual_form import OptionEntry
from toolguard_engine.effects.manuals.wrapper_catalogue import Wrapper
from toolguard_engine.effects.programs.wrappers import started

COMMAND = ("ls", "-u", "x", "-c", "y")


def _spellings(option: OptionEntry) -> Iterator[tuple[str, ...]]:
    for name in option.names:
        if option.takes == "nothing":
            yield (name,)
        elif option.takes == "attached" or name.startswith("--"):
            yield (f"{name}=V",)
        if option.takes == "value":
            yield name, "V"


def test_no_option_hides_the_command() -> None:
    wrong = []
    for name in sorted(wrapper_catalogue.names()):
        manual = wrapper_catalogue.wrapper(name).manual
        usages = {tuple(verb.split()): usage for verb, usage in manual.usages.items()} or {(): manual.usage}
        for verb, usage in usages.items():
            before = ("w",) * (len(usage.words) - 1)
            for option in manual.usage.options:
                for words in _spellings(option):
                    argv = (name, *verb, *words, *before, *COMMAND)
                    found = wrapper_catalogue.read(name, argv)
                    if option.role == "script":
                        right = "V" in [text.text for text in found.texts] or argv[found.at : found.at + 1] == ("V",)
                    elif "asks" in option.traits:
                        right = not found.runs
                    else:
                        right = not usage.words or argv[found.at :] == COMMAND
                    if not right:
                        wrong.append(argv)
    assert not wrong


@each_row(
    ("command", "inner"),
    [
        ("sudo -u bob ls -l", "ls -l"),
        ("sudo -nu bob -- ls -l", "ls -l"),
        ("sudo --user=bob --login ls", "ls"),
        ("timeout -k 5 10 ls", "ls"),
        ("docker run -it --rm -v /:/host alpine sh -c x", "sh -c x"),
        ("docker compose -f x.yml exec web sh", "sh"),
        ("docker ps -a", None),
        ("kubectl exec pod -c main -- sh -c x", "sh -c x"),
        ("kubectl exec pod sh", "sh"),
        ("ssh host -p 22 ls -l", "ls -l"),
        ("uv tool run --with a b -c d", "b -c d"),
        ("uv pip install x", None),
        ("dotenv -f .env ls", "ls"),
        ("dotenv run ls", "ls"),
        ("command -v ls", None),
        ("command -pV ls", None),
        ("command ls", "ls"),
        ("nix develop -c rm -rf x", "rm -rf x"),
        ("nix develop -c rm", ""),
        ("su bob", ""),
        (f"env {'-i ' * 60}ls", "ls"),
        (f"nice ls {'x ' * 60}y", f"ls {'x ' * 60}y"),
    ],
)
def test_where_the_command_is(command: str, inner: str | None) -> None:
    argv = tuple(command.split())
    found = wrapper_catalogue.read(argv[0], argv)
    assert (" ".join(argv[found.at :]) if found.runs else None) == inner


@each_row(
    ("argv", "text"),
    [
        (("su", "-", "bob", "-c", "ls -l"), "ls -l"),
        (("su", "-lc", "ls -l", "bob"), "ls -l"),
        (("flock", "file", "-c", "ls -l"), "ls -l"),
        (("script", "-q", "file", "--command=ls -l"), "ls -l"),
        (("npm", "exec", "-c", "ls -l"), "ls -l"),
        (("nix", "develop", "-c", "ls -l"), "ls -l"),
        (("nix", "develop", "--command=ls -l"), "ls -l"),
        (("su", "-c", "ls -l", "-c", "id"), "ls -l; id"),
        (("sudo", "-c", "ls -l", "id"), ""),
    ],
)
def test_a_text_for_a_shell(argv: tuple[str, ...], text: str) -> None:
    assert "; ".join(each.text for each in wrapper_catalogue.read(argv[0], argv).texts) == text


def test_the_folder() -> None:
    assert wrapper_catalogue.read("env", ("env", "-C", "/x", "ls", "-C", "/y")).folder == "/x"
    assert wrapper_catalogue.read("sudo", ("sudo", "--chdir=/x", "ls")).folder == "/x"


@each_row(
    ("command", "name"),
    [("nice -n 5 /usr/bin/yes", "yes"), ("env A=b sudo timeout 5 yes", "yes"), ("ssh host yes", ""), ("sudo", "")],
)
def test_the_program_that_runs_in_the_end(command: str, name: str) -> None:
    assert started(tuple(command.split())) == name


def test_verbs() -> None:
    assert ("container", "exec") in wrapper_catalogue.verbs("docker")
    assert not wrapper_catalogue.verbs("dotenv")
    assert not wrapper_catalogue.verbs("sudo")


def test_a_wrapper_has_options_of_its_manual_and_only_known_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    sudo = next(each for each in wrapper_catalogue.from_toml() if "sudo" in each.manual.names)
    assert isinstance(sudo, Wrapper)
    assert any("--user" in option.names for option in sudo.manual.usage.options)
    monkeypatch.setattr(wrapper_catalogue.tomllib, "loads", lambda _: {"w": {"words": "command...", "odd": 1}})
    with pytest.raises(ValueError, match="the manual of w: unknown keys: odd"):
        wrapper_catalogue.from_toml()


def test_a_program_has_one_page() -> None:
    """What runs another program and has a manual says so in that manual."""
    alone = tomllib.loads((packaged.FOLDER / "wrappers.toml").read_text("utf-8"))
    names = {name for wrapper, entry in alone.items() for name in (wrapper, *entry.get("names", "").split())}
    assert sorted(names & manual_catalogue.programs()) == []
    ssh = wrapper_catalogue.wrapper("ssh").manual
    assert (ssh.usage.words, ssh.stops) == (("host", "command..."), 2)
    assert "--mount" in wrapper_catalogue.spellings("podman")
    assert "gksudo" not in wrapper_catalogue.names()
