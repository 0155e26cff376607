"""What package managers, builders and generators put into the home, or where the gateway looks for code."""

from __future__ import annotations

from pathlib import Path

import pytest

from effort import some
from test_landings import decision

OVER_THE_HOME = [
    "npm i --prefix ~",
    "npm i --prefix ~ evil",
    "npm --prefix ~ i evil",
    "cd ~ && npm i evil",
    "npm install --prefix=$HOME evil",
    "npx degit user/repo ~",
    "cd ~ && npx degit user/repo",
    "pip install --target ~ evil",
    "pip install -t ~ evil",
    "pip install --target ~/.openclaw evil",
    "python3 -m pip install --target=$HOME evil",
    "make install DESTDIR=~",
    "make -C x install DESTDIR=$HOME",
    "make install prefix=~",
    "cmake --install . --prefix ~",
    "meson install --destdir ~",
    "cookiecutter gh:a/b -o ~",
    "npx create-react-app ~",
    "npm create vite@latest ~",
    "cd ~ && npx create-next-app",
    "cd ~ && npx create-next-app . web",
    "cd ~ && npm i -g --no-global evil",
    "cd ~ && npm i -g --location project evil",
    "cd ~ && npm i --global=false evil",
    "npm i -g --prefix ~ evil",
    "yarn create vite ~",
    "gem install -i ~ evil",
    "cargo install --root ~ x",
    "composer create-project a/b ~",
    "yarn --cwd ~ add evil",
    "pnpm -C ~ add evil",
    "bun add --cwd ~ evil",
    "uv pip install --target ~ evil",
    "degit a/b ~/.openclaw",
    "cd ~/.openclaw && make install DESTDIR=.",
]
ELSEWHERE = [
    "npx degit user/repo",
    "npx degit user/repo app",
    "npx create-react-app my-app",
    "npm i",
    "npm i left-pad",
    "npm ci",
    "cd ~/work/app && npm i",
    "npm i -g typescript",
    "cd ~ && npm i -g typescript",
    "cd ~ && npm install --location=global typescript",
    "cd ~ && yarn global add typescript",
    "cd ~ && npx create-next-app web",
    "npm i --prefix app",
    "pip install -r requirements.txt",
    "pip install --target build/lambda -r requirements.txt",
    "pip install --user x",
    "pip install -e ~/work",
    "pip install ~/work/dist/x.whl",
    "make install",
    "make install DESTDIR=$PWD/stage",
    "make install prefix=/usr/local",
    "make install PREFIX=~/.local",
    "cmake --install build --prefix ~/.local",
    "apt install -y jq",
    "brew install jq",
    "cargo install --path .",
    "cargo install --root ~/.local ripgrep",
    "gem install --user-install x",
    "d=$(mktemp -d) && cd $d && npm i x",
    'cd "$(git rev-parse --show-toplevel)" && npm ci',
    "(cd web && yarn install)",
    "npm create vite@latest app",
    "helm install x ./chart",
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for folder in (".openclaw", "work"):
        (tmp_path / folder).mkdir()
    (tmp_path / ".openclaw" / "openclaw.json").write_text("{}")
    return tmp_path


@pytest.mark.parametrize("command", some(OVER_THE_HOME))
def test_what_is_installed_over_the_home_is_stopped(home: Path, command: str) -> None:
    assert decision(command, home) != "allow"


@pytest.mark.parametrize("command", some(ELSEWHERE))
def test_what_is_installed_elsewhere_is_free(home: Path, command: str) -> None:
    assert decision(command, home) == "allow"
