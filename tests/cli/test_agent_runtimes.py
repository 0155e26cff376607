"""Who runs an agent's tools, as the config says it, in the shapes of all supported releases."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tables import each_row
from toolguard_cli.doctor import agent_runtimes
from toolguard_cli.doctor.agent_runtimes import Agent, RuntimeConfig

NEW = (2026, 9, 6)
OPUS = "anthropic/claude-opus-5"
GPT = "openai/gpt-6-astra"
ON_CLAUDE = {OPUS: {"agentRuntime": {"id": "claude-cli"}}}
CODEX = {"entries": {"codex": {"enabled": True}}}
SERVERS = {"servers": {"files": {"command": "x"}}}


def only(agent: Any, *, defaults: Any = None, release: tuple[int, ...] = NEW, **parts: Any) -> Agent:
    value = {"entries": {"ann": agent}, "defaults": defaults or {}}
    (found,) = agent_runtimes.agents(RuntimeConfig(agents=value, release=release, **parts))
    return found


GUARDED: list[tuple[str, dict[str, Any]]] = [
    ("no model at all", {"agent": {}}),
    ("a model of the API", {"agent": {"model": OPUS}}),
    (
        "the runtime of OpenClaw, named",
        {"agent": {"model": GPT, "models": {GPT: {"agentRuntime": {"id": "openclaw"}}}}, "plugins": CODEX},
    ),
    ("the Claude CLI", {"agent": {"model": OPUS, "models": ON_CLAUDE}}),
    ("the Claude CLI by its provider", {"agent": {"model": "claude-cli/claude-opus-5"}}),
    ("a server that is off", {"agent": {"model": "claude-cli/x"}, "mcp": {"servers": {"files": {"enabled": False}}}}),
    ("servers, and the embedded runtime", {"agent": {"model": OPUS}, "mcp": SERVERS}),
    (
        "Codex installed and switched off",
        {"agent": {"model": GPT}, "codex_installed": True, "plugins": {"entries": {"codex": {"enabled": False}}}},
    ),
    ("OpenAI without Codex", {"agent": {"model": GPT}}),
    (
        "OpenAI's models from elsewhere",
        {
            "agent": {"model": GPT},
            "plugins": CODEX,
            "models": {"providers": {"openai": {"baseUrl": "http://127.0.0.1:8080"}}},
        },
    ),
    ("Google's API", {"agent": {"model": "google/gemini-3-pro"}}),
    ("auto", {"agent": {"model": OPUS, "models": {OPUS: {"agentRuntime": {"id": "auto"}}}}}),
    ("the embedded runtime of an agent", {"agent": {"model": OPUS, "runtime": {"type": "embedded"}}}),
]

IN_PART: list[tuple[str, dict[str, Any], str]] = [
    (
        "the Claude CLI with servers",
        {"agent": {"model": OPUS, "models": ON_CLAUDE}, "mcp": SERVERS},
        "MCP servers itself (files)",
    ),
    ("Codex by its plugin", {"agent": {"model": GPT}, "plugins": CODEX}, "cannot be pinned"),
    ("Codex by its installed plugin", {"agent": {"model": GPT}, "codex_installed": True}, "cannot be pinned"),
    ("Codex by name", {"agent": {"model": GPT, "models": {GPT: {"agentRuntime": {"id": "codex"}}}}}, "cannot be pinned"),
    ("Codex by its old provider", {"agent": {"model": "openai-codex/gpt-5"}}, "cannot be pinned"),
    (
        "Gemini as a fallback",
        {"agent": {"model": {"primary": OPUS, "fallbacks": ["google-gemini-cli/x"]}}},
        "Gemini CLI runs its own tools",
    ),
    (
        "Gemini for subagents",
        {"agent": {"model": OPUS, "subagents": {"model": "google-gemini-cli/x"}}},
        "Gemini CLI runs its own tools",
    ),
    (
        "a runtime nobody knows",
        {"agent": {"model": "x/y", "models": {"x/*": {"agentRuntime": {"id": "zeta"}}}}},
        "does not know the runtime zeta",
    ),
    (
        "a conversation bound to a harness",
        {"agent": {"model": OPUS}, "bindings": [{"type": "acp", "agentId": "ann"}]},
        "over ACP",
    ),
]

NOT_GUARDED: list[tuple[str, dict[str, Any], str]] = [
    ("the Gemini CLI", {"agent": {"model": "google-gemini-cli/gemini-3-pro"}}, "Gemini CLI runs its own tools"),
    (
        "the Gemini CLI by the defaults",
        {"agent": {}, "defaults": {"model": {"primary": "google-gemini-cli/x"}}},
        "Gemini CLI",
    ),
    (
        "the Gemini CLI by a runtime",
        {
            "agent": {"model": "google/x"},
            "defaults": {"models": {"google/*": {"agentRuntime": {"id": "google-gemini-cli"}}}},
        },
        "Gemini CLI",
    ),
    (
        "the Gemini CLI by its provider's runtime",
        {"agent": {"model": "google/x"}, "models": {"providers": {"google": {"agentRuntime": {"id": "gemini-cli"}}}}},
        "Gemini CLI",
    ),
    (
        "the Gemini CLI by an alias",
        {"agent": {"model": "fast"}, "defaults": {"models": {"google-gemini-cli/x": {"alias": "fast"}}}},
        "Gemini CLI",
    ),
    ("the Gemini CLI, oddly spelled", {"agent": {"model": "Google-Gemini-CLI/x"}}, "Gemini CLI"),
    ("an ACP agent", {"agent": {"runtime": {"type": "acp", "acp": {"agent": "cursor"}}}}, "cursor runs over ACP"),
    ("a harness among the models", {"agent": {"model": "acp-copilot/gpt-5"}}, "ACP harness"),
    ("the Claude CLI before it relayed", {"agent": {"model": "claude-cli/x"}, "release": (2026, 7, 35)}, "calls no hook"),
    (
        "a whole agent, as older releases had it",
        {"agent": {"model": OPUS, "agentRuntime": {"id": "google-gemini-cli"}}},
        "Gemini CLI",
    ),
]


@each_row("parts", [parts for _, parts in GUARDED], ids=[name for name, _ in GUARDED])
def test_guarded(parts: dict[str, Any]) -> None:
    assert only(**parts).guards == "guarded"


@each_row(
    ("parts", "grade", "why"),
    [
        (parts, grade, why)
        for grade, cases in (("partly guarded", IN_PART), ("not guarded", NOT_GUARDED))
        for _, parts, why in cases
    ],
    ids=[name for name, _, _ in (*IN_PART, *NOT_GUARDED)],
)
def test_exposed(parts: dict[str, Any], grade: str, why: str) -> None:
    found = only(**parts)
    assert found.guards == grade
    assert any(why in route.why and route.fix for route in found.routes)


def test_the_list_of_older_releases_and_the_agent_that_is_always_there() -> None:
    listed = {"list": [{"id": "a", "model": "google-gemini-cli/x"}, {"id": "b"}, "odd"]}
    assert [(each.id, each.guards) for each in agent_runtimes.agents(RuntimeConfig(agents=listed))] == [
        ("a", "not guarded"),
        ("b", "guarded"),
    ]
    assert [each.id for each in agent_runtimes.agents(RuntimeConfig())] == ["main"]


def test_the_agents_own_word_counts_before_the_defaults() -> None:
    defaults = {"models": {OPUS: {"agentRuntime": {"id": "google-gemini-cli"}}}}
    assert (
        only({"model": OPUS, "models": {OPUS: {"agentRuntime": {"id": "openclaw"}}}}, defaults=defaults).guards == "guarded"
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.sampled_from([OPUS, GPT, "google-gemini-cli/x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "entries",
                    "list",
                    "defaults",
                    "model",
                    "models",
                    "primary",
                    "fallbacks",
                    "agentRuntime",
                    "id",
                    "runtime",
                    "x",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON, JSON, JSON, JSON, JSON)
def test_whatever_a_config_holds_there_is_an_answer(agents: Any, models: Any, plugins: Any, mcp: Any, bindings: Any) -> None:
    for agent in agent_runtimes.agents(RuntimeConfig(agents, models, plugins, mcp, bindings)):
        assert agent.guards in agent_runtimes.GRADES
        assert (agent.guards == "guarded") == all(route.guards == "guarded" for route in agent.routes)
