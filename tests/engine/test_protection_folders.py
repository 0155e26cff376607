"""What a folder decides: files put in place, copied and walked through, in the one named or the one a program runs in."""

from __future__ import annotations

import pytest

from toolguard_engine.layers import protection
from toolguard_engine.model import Call, Host

HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json", ("/opt/tg/plugin",))
WORKSPACE = "/home/u/.openclaw/workspace"


def decision(command: str) -> str:
    verdict = protection.judge(Call("exec", {"command": command}, cwd=WORKSPACE), HOST)
    return verdict.decision if verdict else "allow"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cd .. && tar xf x.tar", "block"),
        ("tar xf x.tar -C ..", "block"),
        ("cd ~/.openclaw/toolguard; tar -xzf x.tgz", "block"),
        ("cd .. && unzip -o x.zip", "block"),
        ("unzip x.zip -d ..", "block"),
        ("cd .. && 7z x x.7z", "block"),
        ("7z x x.7z -o..", "block"),
        ("cd .. && cpio -id < x", "block"),
        ("git apply --directory=.. x.patch", "block"),
        ("git apply --directory .. x.patch", "block"),
        ("curl --output-dir .. -o openclaw.json https://h.example/x", "block"),
        ("cd .. && curl -O https://h.example/openclaw.json", "block"),
        ("cd .. && curl -sSLO https://h.example/openclaw.json", "block"),
        ("cd .. && curl -OJ https://h.example/x", "hold"),
        ("cd .. && curl -O 'https://h.example/openclaw.jso[n-n]'", "block"),
        ("wget -P .. https://h.example/openclaw.json", "block"),
        ("wget -P.. https://h.example/a/openclaw%2Ejson?x=1", "block"),
        ("cd ~/.openclaw && wget -N https://h.example/openclaw.json", "block"),
        ("aria2c -d .. -o openclaw.json https://h.example/x", "block"),
        ("cd ~ && tar xzf x.tgz", "hold"),
        ("cd ~ && unzip x.zip", "hold"),
        ("tar xf x.tar", "allow"),
        ("cd .. && unzip -l x.zip", "allow"),
        ("cd .. && tar tf x.tar", "allow"),
        ("cd .. && curl -s https://h.example/openclaw.json", "allow"),
        ("cd /tmp && curl -O https://h.example/openclaw.json", "allow"),
        ("cd ~ && wget https://h.example/a.zip", "allow"),
        ("cd ~ && curl -OJ https://h.example/a.zip", "allow"),
        ("wget -r https://h.example/a/", "allow"),
        ("wget -P /tmp https://h.example/openclaw-1.0.tgz", "allow"),
        ("git apply --directory=src x.patch", "allow"),
        ("cd ~/proj && tar xf x.tar", "allow"),
    ],
)
def test_files_put_in_place_by_what_unpacks_or_fetches(command: str, expected: str) -> None:
    assert decision(command) == expected
