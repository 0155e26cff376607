"""Names that are nearly those of well-known packages and hosts: one letter wrong, missing, added or swapped, a look-alike
letter, or a well-known name with a usual addition. The effect is `lookalike`, its target `name (name that is meant?)`; a
host has the flag `host`.

The names are the most downloaded packages of PyPI and npm, and hosts that software is fetched from. A name that is itself
well known is never a look-alike.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from urllib.parse import urlsplit

from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun
from toolguard_engine.effects.facts.place_names import word_set
from toolguard_engine.effects.facts.places import Where

MAX_NAMES = 20
MAX_NAME = 60
_SHORTEST = 6
"""Shorter names have too many neighbours that are packages of their own."""

_PYPI = word_set(
    "aiohttp alembic anyio asyncio attrs azure-core babel bcrypt beautifulsoup4 black boto3 botocore bottle celery "
    "certifi cffi charset-normalizer click colorama cryptography cython dask django djangorestframework docker "
    "docutils elasticsearch fastapi filelock flask gevent gitpython google-auth grpcio gunicorn httpx huggingface-hub "
    "hypothesis idna ipython isort jinja2 jmespath joblib jsonschema jupyter jupyterlab keras kubernetes langchain "
    "lxml markdown markupsafe matplotlib mypy mysqlclient networkx nltk notebook numpy oauthlib openai opencv-python "
    "openpyxl packaging pandas paramiko passlib pathlib2 pillow pipenv platformdirs playwright plotly poetry polars "
    "protobuf psutil psycopg psycopg-binary "
    "psycopg2 psycopg2-binary pyarrow pycparser pycryptodome pydantic pygments pyinstaller pyjwt "
    "pylint pymongo pymysql pyopenssl pyparsing pytest pytest-cov python-dateutil python-dotenv pytorch pytz pyyaml "
    "redis regex requests requests-oauthlib rsa ruamel.yaml s3transfer scikit-learn scipy scrapy seaborn selenium "
    "sentry-sdk setuptools simplejson sphinx sqlalchemy starlette streamlit sympy tabulate tenacity tensorflow "
    "tokenizers tornado transformers twisted typing-extensions ujson urllib3 uvicorn virtualenv watchdog websocket- "
    "client websockets werkzeug wheel xgboost xlsxwriter python-telegram-bot discord.py anthropic tiktoken "
    "torchvision torchaudio httplib2 httpcore colorlog colored requests-toolbelt requests-cache aiofiles aiosqlite "
    "asyncpg pymssql mysql-connector-python tqdm six toml tomli tomlkit rich typer ruff nox tox pip uv"
)
_NPM = word_set(
    "angular axios babel-core bluebird body-parser bootstrap chalk cheerio chokidar classnames commander concurrently "
    "cors cross-env cross-spawn crypto-js css-loader dayjs debug dotenv ejs electron esbuild eslint ethers execa "
    "express express-session fastify firebase formik fs-extra glob graphql gulp handlebars helmet husky immutable "
    "inquirer ioredis jquery jsonwebtoken karma koa lerna less lodash lodash-es marked material-ui mime minimatch "
    "minimist mkdirp mocha moment mongodb mongoose morgan multer mysql mysql2 nanoid nestjs next node-fetch node-sass "
    "nodemailer nodemon nuxt nyc parcel passport path-to-regexp pg pino playwright postcss preact prettier prisma "
    "prop-types puppeteer ramda react react-dom react-native react-redux react-router react-router-dom react-scripts "
    "redux redux-thunk request rimraf rollup rxjs sass sass-loader semver sequelize sharp shelljs socket.io "
    "socket.io-client solid-js storybook styled-components supertest svelte swagger-ui-express tailwindcss terser "
    "through2 ts-jest ts-node tslib typeorm typescript underscore uuid validator vite vitest vue vue-router vuex "
    "webpack webpack-cli webpack-dev-server winston ws yargs yup zod zustand jest jsdom event-stream ua-parser-js "
    "colors color chart.js d3 three gsap swiper lodash.merge lodash.debounce discord.js telegraf web3 bignumber.js"
)
_HOSTS = word_set(
    "github.com gitlab.com bitbucket.org raw.githubusercontent.com githubusercontent.com pypi.org pythonhosted.org "
    "npmjs.com npmjs.org yarnpkg.com rubygems.org crates.io docker.com docker.io quay.io google.com googleapis.com "
    "microsoft.com apple.com amazonaws.com cloudflare.com debian.org ubuntu.com python.org nodejs.org golang.org "
    "rust-lang.org openai.com anthropic.com huggingface.co telegram.org discord.com slack.com paypal.com stripe.com "
    "dropbox.com openclaw.ai"
)
_ADDED = ("python-", "py-", "node-", "-python", "-py", "-js", "-node", "js", "2", "3", "s")
_SKELETON = str.maketrans("01\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u04cf", "olaeopcyxil")
"""Digits and Cyrillic letters that look like Latin ones."""

_INSTALLERS: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {
    **dict.fromkeys(("pip", "pip3", "pipx", "uv", "poetry", "pdm", "conda", "mamba"), (("install", "add"), _PYPI)),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), (("install", "i", "add"), _NPM)),
}
_VERB_WORDS = 2


def packages(program: ProgramRun, _: Where) -> Iterator[Effect]:
    """Checks the names that installers of packages are given."""
    verbs, known = _INSTALLERS[program.name]
    texts = program.words.texts
    verb = next((at for at, word in enumerate(texts[:_VERB_WORDS]) if word in verbs), len(texts))
    for word in texts[verb + 1 :][:MAX_NAMES]:
        name = _package(word)
        if name and (meant := _meant(name, known)):
            yield Effect("lookalike", f"{name} ({meant}?)", "", frozenset(), program)


def of_host(url: str, program: ProgramRun | None = None) -> Iterator[Effect]:
    """Checks a host that something is fetched from."""
    try:
        host = (urlsplit(url if "://" in url else f"//{url}").hostname or "").rstrip(".")
    except ValueError:
        return
    if UNKNOWN in host or len(host) > MAX_NAME * 4:
        return
    site = _site(_readable(host))
    if meant := _meant(site, _HOSTS):
        yield Effect("lookalike", f"{host} ({meant}?)", "remote", frozenset(["host"]), program)


def _readable(host: str) -> str:
    try:
        return host.encode("ascii").decode("idna") if "xn--" in host else host
    except UnicodeError:
        return host


def _site(host: str) -> str:
    """The last two labels, which somebody registered."""
    return ".".join(host.split(".")[-2:])


def _package(text: str) -> str:
    name = text.partition("[")[0].partition("@")[0] if not text.startswith("@") else ""
    for sign in ("==", ">", "<", "~", "!", ";"):
        name = name.partition(sign)[0]
    name = name.strip().lower().replace("_", "-")
    is_name = name.replace("-", "").replace(".", "").isalnum() and not name.startswith(".")
    return name if is_name and len(name) <= MAX_NAME else ""


@lru_cache(maxsize=256)
def _meant(name: str, known: frozenset[str]) -> str:
    """The well-known name that this one is nearly; empty if it is one, or near to none."""
    if name in known or len(name) < _SHORTEST:
        return ""
    skeleton = _plain(name)
    if skeleton in known:
        return skeleton
    for more in _ADDED if known is not _HOSTS else ():
        bare = name.removesuffix(more) if not more.endswith("-") else name.removeprefix(more)
        if bare != name and len(bare) >= _SHORTEST and bare in known:
            return bare
    near = _near(known)
    return next(
        (near[form] for form in (skeleton, *_shorter(skeleton)) if form in near and _is_near(skeleton, near[form])), ""
    )


def _plain(name: str) -> str:
    folded = unicodedata.normalize("NFKD", name.lower()).translate(_SKELETON)
    return "".join(sign for sign in folded if not unicodedata.combining(sign))


@cache
def _near(known: frozenset[str]) -> dict[str, str]:
    """Each well-known name, and what is left of it without one letter, to the name. Two names are one edit apart only if
    these forms meet (Garbe's symmetric deletion)."""
    return {form: name for name in sorted(known) if len(name) >= _SHORTEST for form in (name, *_shorter(name))}


def _shorter(name: str) -> list[str]:
    return [name[:at] + name[at + 1 :] for at in range(len(name))]


def _is_near(one: str, other: str) -> bool:
    """Whether a letter was added, left out, changed, or swapped with the next. The first letter is seldom mistyped."""
    if one[0] != other[0] or one == other:
        return False
    start = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    a, b = one[start:], other[start:]
    return a[1:] == b or a == b[1:] or a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


def _git(program: ProgramRun, _: Where) -> Iterator[Effect]:
    for word in program.argv[2:MAX_NAMES] if program.argv[1:2] == ("clone",) else ():
        if "://" in word or word.startswith("git@"):
            yield from of_host(word if "://" in word else word.partition("@")[2].replace(":", "/", 1), program)


PROGRAMS = {**dict.fromkeys(_INSTALLERS, packages), "git": _git}
