"""The shape of the packages: the order of their components, and names that mean one thing."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from sources import nodes, parsed

ROOT = Path(__file__).parent.parent
ENGINE = (
    "packed_code", "start_signals", "spared_imports", "lazy_re", "any_of", "quick_search", "packaged", "wire", "model",
    "host", "wording", "config", "effects", "rules", "approvals", "containment", "layers", "guard", "stores", "metrics",
    "server",
)  # fmt: skip
"""From the bottom up: a component imports only from components before it."""

EFFECTS = (
    "manuals", "facts", "syntax", "control_plane", "landings", "programs", "languages", "tools", "commands",
    "terminal_input", "calls",
)  # fmt: skip
"""The floors of `toolguard_engine.effects`, from the bottom up."""

FLEET = (
    "fleet_errors", "connection_options", "missing_rights", "blocking_connection", "deadline_connection",
    "schema", "shipping", "audit_trail",
    "registry_rows", "person_access", "registration", "page_database", "engine_pipe", "hold_questions", "direct_link",
    "sync_loop", "policy_follower", "courier",
)  # fmt: skip
"""May also import the engine; the engine never imports it."""

COMMAND_LINE = (
    "system", "terminal", "rig", "person", "hostconfig", "setup", "approvals", "policy", "migrations", "validation",
    "operations", "notify", "dashboard", "fleet", "status", "doctor", "commands", "fast_path", "main",
)  # fmt: skip
PACKAGES = {
    "toolguard_engine": ("plugin", ENGINE),
    "toolguard_fleet": ("plugin", FLEET),
    "toolguard_cli": ("cli", COMMAND_LINE),
}


@cache
def modules(package: str) -> list[tuple[tuple[str, ...], ast.Module]]:
    """The dotted parts below the package, and the syntax tree, of each module."""
    folder = ROOT / PACKAGES[package][0] / package
    found = [(path.relative_to(folder).with_suffix("").parts, path) for path in sorted(folder.rglob("*.py"))]
    return [(parts, parsed(path)) for parts, path in found if parts != ("__main__",)]


def imported(tree: ast.Module, package: str) -> Iterator[str]:
    """The components that a module imports from."""
    for name in imported_modules(tree):
        if name.startswith(f"{package}."):
            yield name.removeprefix(f"{package}.").partition(".")[0]


@cache
def imported_modules(tree: ast.Module) -> list[str]:
    """Everything that a module imports, as dotted names; `from a import b` is `a.b`."""
    found = []
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def test_only_the_fleet_imports_psycopg() -> None:
    """And the engine does not import the fleet: without it, nothing of it is loaded."""
    found = [
        f"{package}.{'.'.join(parts)} imports {name}"
        for package in PACKAGES
        for parts, tree in modules(package)
        for name in imported_modules(tree)
        if (name.partition(".")[0] == "psycopg" and package != "toolguard_fleet")
        or (name.partition(".")[0] == "toolguard_fleet" and package == "toolguard_engine")
    ]
    assert found == []


SYSTEM_MODULES = {"toolguard_engine.stores.system_calls", "toolguard_cli.system.operating_system"}


def test_one_module_of_each_package_asks_which_system_this_is() -> None:
    """Everything else is the same everywhere, or is chosen there."""
    found = {
        f"{package}.{'.'.join(parts)}"
        for package in PACKAGES
        for parts, tree in modules(package)
        for node in nodes(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if (node.value.id, node.attr) in {("sys", "platform"), ("os", "uname"), ("os", "name"), ("platform", "system")}
    }
    assert found == SYSTEM_MODULES


BACKENDS = ("toolguard_engine.stores.files", "toolguard_engine.stores.sqlite")


def test_only_the_stores_name_their_backends() -> None:
    """Others open a store with `stores.open` and know it by its protocol in `stores.ports`."""
    found = [
        f"{package}.{'.'.join(parts)} imports {name}"
        for package in PACKAGES
        for parts, tree in modules(package)
        for name in imported_modules(tree)
        if name.startswith(BACKENDS) and (package, parts[0]) != ("toolguard_engine", "stores")
    ]
    assert found == []


def test_stores_are_constructed_in_one_place() -> None:
    opened = parsed(ROOT / "plugin/toolguard_engine/stores/open.py")
    classes = {name.rpartition(".")[2] for name in imported_modules(opened) if name.startswith(BACKENDS)}
    assert len(classes) > 10
    calls = [
        f"{package}.{'.'.join(parts)} calls {node.func.id}"
        for package in PACKAGES
        for parts, tree in modules(package)
        for node in nodes(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in classes
        if (package, parts[0]) != ("toolguard_engine", "stores")
    ]
    assert calls == []


def test_only_stores_metrics_and_what_sends_them_use_sqlite() -> None:
    found = {
        f"{package}.{parts[0]}"
        for package in PACKAGES
        for parts, tree in modules(package)
        if any(name.partition(".")[0] == "sqlite3" for name in imported_modules(tree))
    }
    assert found == {"toolguard_engine.stores", "toolguard_engine.metrics", "toolguard_fleet.shipping"}


@pytest.mark.parametrize("package", PACKAGES)
def test_components_import_only_from_components_below_them(package: str) -> None:
    order = PACKAGES[package][1]
    found = {parts[0] for parts, _ in modules(package) if parts[0] != "__init__"}
    assert found == set(order)
    upward = [
        f"{'.'.join(parts)} imports {component}"
        for parts, tree in modules(package)
        for component in imported(tree, package)
        if parts[0] in order and component in order and order.index(component) > order.index(parts[0])
    ]
    assert upward == []


MAX_ARROWS = 32
"""Pairs of floors of effects of which one imports from the other: a new one has to be worth it, or to replace one."""


def test_floors_of_effects_import_only_from_floors_below_them() -> None:
    floors = {parts[1] for parts, _ in modules("toolguard_engine") if parts[0] == "effects" and len(parts) > 1}
    assert floors - {"__init__"} == set(EFFECTS)
    arrows = {
        (parts[1], floor)
        for parts, tree in modules("toolguard_engine")
        if parts[0] == "effects" and parts[1] in EFFECTS
        for floor in imported(tree, "toolguard_engine.effects")
        if floor in EFFECTS and floor != parts[1]
    }
    assert [arrow for arrow in arrows if EFFECTS.index(arrow[1]) > EFFECTS.index(arrow[0])] == []
    assert len(arrows) <= MAX_ARROWS


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Not for types either: whoever reads one module need not have read another that needs it."""
    trees = {".".join((package, *parts)): tree for package in PACKAGES for parts, tree in modules(package)}
    graph: dict[str, set[str]] = {}
    for name, tree in trees.items():
        if not name.endswith("__init__"):
            graph[name] = {other for each in imported_modules(tree) if (other := nearest(each, trees)) and other != name}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def nearest(name: str, known: Container[str]) -> str:
    """The module that this imported name is, or is taken from."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name


def test_no_module_name_is_used_twice() -> None:
    places = defaultdict(list)
    for package in PACKAGES:
        for parts, _ in modules(package):
            *folders, name = parts
            if name not in ("__init__", "__main__"):
                places[name].append(".".join((package, *folders)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_no_public_class_name_is_used_twice() -> None:
    places = defaultdict(list)
    for package in PACKAGES:
        for parts, tree in modules(package):
            for node in tree.body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(".".join((package, *parts)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


INSTEAD = {
    "told": "reported", "mend": "fix", "mends": "fixes", "mended": "fixed", "dear": "expensive", "grave": "severe",
    "heard": "received", "looks": "reads", "came": "result", "said": "stated",
}  # fmt: skip
"""Words that are not used in names, and the field's own that stand for them."""

WORDS = re.compile(rf"(?:^|_)({'|'.join(INSTEAD)})(?=_|$)", re.IGNORECASE)


def identifiers(tree: ast.Module) -> Iterator[str]:
    for node in nodes(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg


def better_words(name: str) -> str:
    """The words that a name has and should not have, each with the one to use; empty if there are none."""
    words = WORDS.findall(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name))
    return ", ".join(f"{INSTEAD[word.lower()]!r} for {word.lower()!r}" for word in words)


def test_the_words_to_use_are_named() -> None:
    assert better_words("whatCame_told") == "'result' for 'came', 'reported' for 'told'"
    assert better_words("camera") == ""


def test_identifiers_use_the_words_of_the_field() -> None:
    names = {
        f"{package}.{'.'.join(parts)}: {name}: use {better}"
        for package in PACKAGES
        for parts, tree in modules(package)
        for name in (*identifiers(tree), *parts)
        if (better := better_words(name))
    }
    if names:  # an assertion would cut the list
        pytest.fail("\n".join(("words that are not used in names:", *sorted(names))), pytrace=False)


VAGUE = {"found": 60, "each": 60}
"""Names that say nothing of what they hold, and how many variables may still have them. The numbers only fall."""


def variables(tree: ast.Module) -> Iterator[str]:
    """The names of variables and parameters, once for each place that binds them."""
    for node in nodes(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def test_variables_say_what_they_hold() -> None:
    """An element of `options` is an `option`, what a pattern matches is a `match`."""
    counts = Counter(name for package in PACKAGES for _, tree in modules(package) for name in variables(tree))
    assert {name: counts[name] for name, most in VAGUE.items() if counts[name] > most} == {}


NO_VERBS = re.compile(r"(?:of|at|by|to|for|from|in|into|with|on|found|each)")


def test_functions_are_not_named_by_a_preposition_alone() -> None:
    """`judgement.wrap(verdict)` says what is done with it, `judgement.of(verdict)` does not."""
    found = {
        f"{package}.{'.'.join(parts)}.{node.name}"
        for package in PACKAGES
        for parts, tree in modules(package)
        for node in nodes(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and NO_VERBS.fullmatch(node.name)
    }
    assert sorted(found) == []


MAX_LINES = 500
VENDORED = "cli/toolguard_cli/dashboard/static/vendor"


def test_no_source_file_is_long() -> None:
    """A longer one has more than one subject, and is split by them."""
    long = {
        f"{path.relative_to(ROOT)}: {lines}"
        for folder in ("plugin", "cli", "manifests")
        for suffix in ("py", "js", "mjs", "ts")
        for path in (ROOT / folder).rglob(f"*.{suffix}")
        if VENDORED not in path.as_posix() and "node_modules" not in path.parts
        if (lines := len(path.read_text("utf-8").splitlines())) > MAX_LINES
    }
    assert sorted(long) == []


PREPOSITIONS = re.compile(
    r"(?:About|Above|After|Against|Among|Around|As|At|Before|Behind|Below|Beside|Between|By|During|For|From|In|Inside|Into|Like|Of|"
    r"On|Over|Since|Through|To|Towards|Under|Until|Upon|With|Within|Without)\b"
)


def test_docstrings_say_what_they_are_about() -> None:
    """One that begins with a preposition is understood only with the name before it: "Of one that is not on disk"."""
    fragments = [
        f"{package}.{'.'.join(parts)}.{node.name}: {text.splitlines()[0]}"
        for package in PACKAGES
        for parts, tree in modules(package)
        for node in nodes(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if (text := ast.get_docstring(node)) and PREPOSITIONS.match(text)
    ]
    assert fragments == []
