"""The documentation against what it describes: links, commands, the components, and the README's size."""

from __future__ import annotations

import re
from pathlib import Path

from test_structure import COMMAND_LINE, ENGINE, FLEET
from toolguard_cli.commands.command_table import RootGroup

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
README_LIMIT = 8_000


def prose(page: Path) -> str:
    """The page without its fenced and indented blocks."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"^ {4}.*$", "", text, flags=re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts make them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_is_one_page() -> None:
    assert len((ROOT / "README.md").read_bytes()) <= README_LIMIT


def test_links_lead_somewhere() -> None:
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
            if target.startswith(("https://", "../../")):  # ../../ is a page of the code host
                continue
            name, _, anchor = target.partition("#")
            file = page.parent / name if name else page
            if not file.is_file() or (anchor and anchor not in anchors(file)):
                broken.append(f"{page.name}: {target}")
    assert broken == []


def test_every_page_is_reachable_from_the_readme() -> None:
    linked = set(re.findall(r"\]\(([^)\s#]+)", (ROOT / "README.md").read_text("utf-8")))
    pages = {str(page.relative_to(ROOT)) for page in PAGES} - {"README.md"}
    assert pages - linked == set()


def test_quoted_commands_exist() -> None:
    known = set(RootGroup.table)
    quoted = {
        (page.name, command)
        for page in PAGES
        for command in re.findall(r"(?:`|^ {4})toolguard ([a-z][a-z-]*)", page.read_text("utf-8"), re.MULTILINE)
    }
    assert quoted
    assert {(page, command) for page, command in quoted if command not in known} == set(), known


def test_modules_that_are_named_exist() -> None:
    """`facts/places`, `server/loop`: the folder and the module, wherever a page or a docstring names one."""
    engine = ROOT / "plugin" / "toolguard_engine"
    sources = [*PAGES, *engine.rglob("*.py")]
    folders = {path.name for path in engine.rglob("*") if path.is_dir() and path.name != "__pycache__"} | {"shell", "code"}
    named = {
        (source.name, folder, name)
        for source in sources
        if source.name != "CHANGELOG.md"
        for folder, name in re.findall(r"`(?:[a-z_]+/)*([a-z_]+)/([a-z_]+)`", source.read_text("utf-8"))
        if folder in folders and (folder, name) != ("host", "path")  # of an address
    }
    known = {(path.parent.name, path.stem) for path in engine.rglob("*.py")}
    known |= {(path.parent.name, path.name) for path in engine.rglob("*") if path.is_dir()}
    known |= {(path.parent.name, path.name) for path in (ROOT / "cli").rglob("*") if path.is_dir()}
    known |= {(path.parent.name, path.stem) for path in (ROOT / "cli").rglob("*.py")}
    assert len(named) > 20
    assert {entry for entry in named if entry[1:] not in known} == set()


def test_the_codes_that_troubleshooting_explains_exist() -> None:
    code = "".join(path.read_text("utf-8") for path in (ROOT / "plugin" / "toolguard_engine").rglob("*.py"))
    code += "".join(path.read_text("utf-8") for path in (ROOT / "plugin" / "gateway").glob("*.mjs"))
    page = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
    named = set(re.findall(r"`((?:guard|approval|kill-switch|budget|limit)\.[a-z-]+)`", page))
    named -= {"budget.mode", "approval.signers"}  # settings
    assert len(named) > 10
    assert {name for name in named if f'"{name}"' not in code} == set()


def test_the_components_are_documented_in_order() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    _, engine, fleet, command_line = re.split(
        r"^### (?:Engine|Fleet|Command line)$", text.partition("## The path of a call")[0], flags=re.MULTILINE
    )
    assert re.findall(r"^\| `(\w+)` \|", engine, re.MULTILINE) == list(ENGINE)
    assert re.findall(r"^\| `(\w+)` \|", fleet, re.MULTILINE) == list(FLEET)
    assert re.findall(r"^\| `(\w+)` \|", command_line, re.MULTILINE) == list(COMMAND_LINE)
