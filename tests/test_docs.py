"""The documentation against what it describes: links, commands, the components, and the README's size."""

from __future__ import annotations

import html
import re
from pathlib import Path

import yaml

from tables import each_row
from test_release import script
from test_structure import COMMAND_LINE, ENGINE, FLEET

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
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
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        linked = {(page.parent / name).resolve() for name in re.findall(r"\]\(([^)\s#]+\.md)", page.read_text("utf-8"))}
        waiting += [each for each in linked - reached if each in PAGES]
    assert set(PAGES) - reached == set()


def test_commands_exist_with_their_options_and_arguments() -> None:
    commands = script("doc_commands")
    shown = [each for page in PAGES for each in commands.commands(page) if page.name != "CHANGELOG.md"]
    assert {each.page for each in shown} > {"README.md", "quickstart.md", "troubleshooting.md"}
    assert [(each.page, each.text, why) for each in shown if (why := commands.wrong(each))] == []


@each_row(
    ("text", "where", "why"),
    [
        ("toolguard nosuch", "block", "no such command: nosuch"),
        ("toolguard config nosuch", "sentence", "no such command: nosuch"),
        ("toolguard pending --nosuch", "sentence", "No such option: --nosuch"),
        ("toolguard grant make --for", "sentence", "requires an argument"),
        ("toolguard revoke", "block", "Missing"),
        ("toolguard revoke", "sentence", ""),
        ("toolguard pending 3fa9 3fa9", "block", "unexpected extra argument"),
        ("toolguard config set mode shadow", "block", ""),
    ],
)
def test_what_is_wrong_with_a_command(text: str, where: str, why: str) -> None:
    commands = script("doc_commands")
    found = commands.wrong(commands.Shown("x.md", text, whole=where == "block"))
    assert (why.lower() in found.lower()) if why else not found


def test_what_counts_as_a_command(tmp_path: Path) -> None:
    page = tmp_path / "x.md"
    page.write_text(
        "Run `toolguard pending`, then:\n\n    toolguard deny 3fa9   # refuses it\n    ls | toolguard x\n\n"
        "```\n$ toolguard grants && true\ntoolguard is a guard\n```\ntoolguard is a guard\n"
    )
    found = [(each.text, each.whole) for each in script("doc_commands").commands(page)]
    assert found == [
        ("toolguard pending", False),
        ("toolguard deny 3fa9", True),
        ("toolguard grants", True),
        ("toolguard is a guard", True),
    ]


def test_the_site_has_every_page() -> None:
    site = yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), yaml.BaseLoader)  # noqa: S506 - it makes texts only
    entries, named = [site["nav"]], []
    while entries:
        entry = entries.pop()
        if isinstance(entry, str):
            named.append(entry)
        else:
            entries += entry if isinstance(entry, list) else entry.values()
    beside = set(script("docs").BESIDE)
    assert {name for name in named if name not in beside} == {
        str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")
    }
    assert beside < set(named)
    assert len(named) == len(set(named))


def test_the_checker_of_the_site_finds_broken_links(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="x"></h1><a href="b.html#y">1</a><a href="#x">2</a><a href="https://x.example">3</a>'
    )
    (tmp_path / "b.html").write_text('<img src="c.png"><a href="a.html#x">4</a><a href="../d.html">5</a>')
    (tmp_path.parent / "d.html").touch()
    wrong, elsewhere = script("docs").broken(tmp_path)
    assert sorted(wrong) == ["a.html: b.html#y", "b.html: ../d.html", "b.html: c.png"]
    assert elsewhere == {"https://x.example"}


def test_the_recorded_session_is_of_the_commands_that_are_there() -> None:
    recorder = script("record_session")
    text = recorder.TEXT.read_text("utf-8")
    assert re.findall(r"^\$ (.*)$", text, re.MULTILINE) == [command for command, _ in recorder.SESSION]
    picture = html.unescape(recorder.PICTURE.read_text("utf-8")).replace("\xa0", " ")
    assert [word for word in text.split() if word not in picture] == []
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "").replace("https://www.textualize.io", "")


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
