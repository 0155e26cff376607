"""What a call may have cost: the list is plausible, and the price that fits best counts."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import each_row
from toolguard_engine.config.settings import ModelPrice
from toolguard_engine.metrics import prices
from toolguard_engine.metrics.prices import Price, Table
from toolguard_engine.metrics.row_writer import CallRecord

LISTED = tomllib.loads(files("toolguard_manifests").joinpath("prices.toml").read_text("utf-8"))
ROWS = list(LISTED["prices"].items())
TABLE = prices.load()
OPUS = Price(4, 20, 0.2, 5)
CALL = CallRecord(
    1, provider="anthropic", model="claude-opus-5-5", input=1_000_000, output=10_000, cache_read=100_000, total=1_110_000
)


# ---- the list


def test_the_list_is_dated_and_long_enough() -> None:
    assert re.fullmatch(r"20\d\d-\d\d", LISTED["as_of"])
    assert 60 <= len(ROWS) <= 200


def test_each_entry() -> None:
    for name, four in ROWS:
        provider, _, model = name.partition("/")
        assert re.fullmatch(r"(?:\*|[a-z-]+)/[^.]+", name)
        cost = Price(*four) if four else None
        assert TABLE.price("openai" if provider == "*" else provider, model.replace("*", "x-")) == cost, name
        if cost:
            assert 0 <= cost.cache_read <= cost.input <= cost.output <= 1_000, name
            assert cost.input <= cost.cache_write <= 1.5 * cost.input, name


def test_each_entry_is_plain_already() -> None:
    """Or nothing would ever fit it."""
    names = [name for name, _ in ROWS if "*" not in name.partition("/")[2]]
    assert [name for name in names if name.partition("/")[2] not in {prices.plain(name), prices.dated(name)}] == []


# ---- which one fits

FITS: list[tuple[str, str, str]] = [
    ("anthropic", "claude-sonnet-4-5-20250929", "*/claude-sonnet-4-5"),
    ("openrouter", "anthropic/claude-opus-4.8", "*/claude-opus-4-8"),
    ("litellm", "openrouter/anthropic/claude-opus-4.8", "*/claude-opus-4-8"),
    ("amazon-bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "*/claude-sonnet-4-5"),
    ("anthropic-vertex", "claude-opus-5@20260101", "*/claude-opus-5"),
    ("openai", "gpt-5-2025-08-07", "*/gpt-5"),
    ("openai", "gpt-4-0613", "*/gpt-4-0613"),
    ("openai", "gpt-4-1106-preview", "*/gpt-4-1106"),
    ("openai", "gpt-4-turbo-preview", "*/gpt-4-turbo"),
    ("openai", "gpt-4o-2024-05-13", "*/gpt-4o-2024-05-13"),
    ("openrouter", "openai/gpt-4o-2024-05-13", "*/gpt-4o-2024-05-13"),
    ("openai", "gpt-4o-2024-11-20", "*/gpt-4o"),
    ("OpenAI", "GPT-5.4-Mini", "*/gpt-5-4-mini"),
    ("google", "gemini-3.1-pro-preview", "*/gemini-3-1-pro"),
    ("mistral", "mistral-large-latest", "*/mistral-large"),
    ("xai", "grok-4.20-0309", "*/grok-4-20-0309"),
    ("groq", "openai/gpt-oss-120b", "groq/gpt-oss-120b"),
    ("ollama", "gpt-oss:120b", "ollama/*"),
    ("ollama", "claude-opus-5-5", "ollama/*"),
    ("openrouter", "deepseek/deepseek-v4-pro:free", "openrouter/*:free"),
    ("kilocode", "x/deepseek-chat:free", "kilocode/*:free"),
    ("perplexity", "sonar-pro", "perplexity/sonar-pro"),
]


@each_row(("provider", "model", "name"), FITS, ids=[f"{row[0]} {row[1]}" for row in FITS])
def test_the_price_that_fits(provider: str, model: str, name: str) -> None:
    assert TABLE.price(provider, model) == Price(*LISTED["prices"][name])


UNKNOWN = [
    ("ollama", "gpt-oss:120b-cloud"), ("openai", "gpt-5-something"), ("scripted", "scripted-1"), ("", ""), ("x", "/"),
    ("anthropic", "claude"), ("openai", "*"),
    # another price than the one without a date
    ("mistral", "mistral-large-2407"), ("mistral", "codestral-2405"), ("mistral", "mistral-medium-2312"),
    ("openai", "gpt-3.5-turbo-0613"), ("openai", "ft:gpt-4o-mini-2024-07-18:org::abc"),
    # plans
    ("claude-cli", "claude-opus-4-6"), ("github-copilot", "claude-haiku-4.5"), ("openai-codex", "gpt-5.5"),
    ("google-gemini-cli", "gemini-3.1-pro-preview"), ("minimax-portal", "MiniMax-M2.5"), ("ollama-cloud", "kimi-k2.5"),
    # machines of one's own, under names of one's own
    ("myvllm", "deepseek-v3.2"), ("local", "gpt-5"), ("", "gpt-5"),
    # hosts
    ("groq", "claude-opus-5-5"), ("qwen", "deepseek-v4-pro"), ("perplexity", "openai/gpt-5.3-codex"),
]  # fmt: skip


@each_row(("provider", "model"), UNKNOWN)
def test_what_nobody_knows(provider: str, model: str) -> None:
    assert TABLE.price(provider, model) is None


OWN: list[tuple[str, str, str]] = [
    ("openai/gpt-5.4", "openai", "gpt-5.4"),
    ("openai/*", "openai", "gpt-5.4"),
    ("OpenAI/GPT-*", "openai", "gpt-5.4"),
    ("scripted-1", "any", "scripted-1"),
    ("*", "any", "thing"),
    ("ollama/*cloud", "ollama", "gpt-oss:120b-cloud"),
]


@each_row(("name", "provider", "model"), OWN, ids=[row[0] for row in OWN])
def test_prices_of_the_config_count_first(name: str, provider: str, model: str) -> None:
    assert prices.load({name: ModelPrice(7, 8, 0.5, 9)}).price(provider, model) == Price(7, 8, 0.5, 9)


@pytest.mark.parametrize(("name", "other"), [("claude[1m]", "claude1"), ("claude?", "claudex"), ("[!x]*", "claude")])
def test_only_a_star_stands_for_something_else(name: str, other: str) -> None:
    table = prices.load({name: ModelPrice(7, 8)})
    assert table.price("any", name.replace("*", "y")) == Price(7, 8, 7, 7)
    assert table.price("any", other) is None


def test_what_runs_at_home_costs_what_the_config_says() -> None:
    table = prices.load({"myvllm/*": ModelPrice(0, 0)})
    assert prices.estimate(CALL._replace(provider="myvllm"), table).cost_usd == 0


def test_of_the_config_too_the_one_that_says_more_counts() -> None:
    reported = {"*": 1.0, "openai/*": 2.0, "openai/gpt-*": 3.0, "gpt-5.4": 4.0, "openai/gpt-5.4": 5.0}
    for given_names in (reported, dict(reversed(reported.items()))):
        table = prices.load({name: ModelPrice(price, price) for name, price in given_names.items()})
        found = [table.price(*each) for each in (("x", "y"), ("openai", "o3"), ("openai", "gpt-x"), ("x", "gpt-5.4"))]
        assert [price.input for price in found if price] == [1.0, 2.0, 3.0, 4.0]
        assert table.price("openai", "gpt-5.4") == Price(5, 5, 5, 5)


def test_the_cache_costs_what_input_does_unless_it_is_said() -> None:
    assert prices.load({"a/b": ModelPrice(3, 4, cache_read=0)}).price("a", "b") == Price(3, 4, 0, 3)


def test_what_it_remembers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prices, "MAX_KNOWN", 3)
    table = Table((("a/*", OPUS),))
    assert [table.price("a", str(number)) for number in range(10)] == [OPUS] * 10
    assert len(table._known) <= 3


# ---- an estimate


def test_an_estimate() -> None:
    assert prices.estimate(CALL, TABLE) == CALL._replace(cost_usd=4 + 0.2 + 0.02, cost_estimated=1)


LEFT: list[tuple[str, CallRecord]] = [
    ("a cost that is known", CALL._replace(cost_usd=1.5)),
    ("no cost that is known", CALL._replace(cost_usd=0.0)),
    ("a model that is not", CALL._replace(model="unknown")),
    ("nothing used", CALL._replace(input=0, output=0, cache_read=0, total=0)),
    ("only a sum", CALL._replace(input=0, output=0, cache_read=0)),
    ("only what came out", CALL._replace(input=0, cache_read=0)),
]


@each_row("call", [row[1] for row in LEFT], ids=[row[0] for row in LEFT])
def test_what_is_left_alone(call: CallRecord) -> None:
    assert prices.estimate(call, TABLE) == call


def test_what_is_free_costs_nothing_and_that_is_known() -> None:
    call = CALL._replace(provider="vllm")
    assert prices.estimate(call, TABLE) == call._replace(cost_usd=0.0, cost_estimated=1)


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_name_has_a_price_or_none(provider: str, model: str) -> None:
    found = TABLE.price(provider, model)
    assert found is None or isinstance(found, Price)
    assert prices.plain(prices.plain(model)) == prices.plain(model)


counts = st.integers(0, 10**12)


@given(counts, counts, counts, counts)
def test_more_never_costs_less(input_: int, output: int, read: int, write: int) -> None:
    call = CALL._replace(input=input_, output=output, cache_read=read, cache_write=write)
    more = call._replace(output=output + 1)
    costs = [prices.estimate(each, TABLE).cost_usd or 0.0 for each in (call, more)]
    assert 0 <= costs[0] <= costs[1]
