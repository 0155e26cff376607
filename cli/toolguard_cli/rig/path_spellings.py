"""Odd spellings of a path, as models, people and attackers write them: what a tool opens for each is found out by trying.

In a spelling, `{}` is the name of the file, `{abs}` its path in the workspace, `{home}` the home folder, `{store}` the
gateway's folder of received files, `{above}` the folder above the workspace. `file`: the file that is made for it, besides
the one of that name in the workspace and the one in the home folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_ENDS = (
    "", "</arg_value>>", "</arg_value>>>>", "</arg_value>", "</arg_value>></arg_value>>", "</ARG_VALUE>>", "</arg_value>> ",
    "</arg_key>>", "</path>", "</parameter>", "<|im_end|>", " ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u3000", "\ufeff",
    "\u200b", "\u200d", "\u202e", "\u2060", "\u2800", "\u3164", "\u00ad", "\u034f", "\x7f", "\x1b", "\x01", "/", "//", "/.",
    "/./", ".", "..", "...", "\\", ">", "<", ">>", '"', "'", "`", ")", "]", "}", ",", ";", ":", ":1", "?", "?x=1", "#",
    "#x.md", "&", "|", "!", "*", "%20", "%00", "%0a", "```", "@", "~", "$", "=",
)  # fmt: skip
_BEGINNINGS = (
    "@", "@@", "@@@", "@ ", " @", "@./", "@/../", " ", "\t", "\n", "\u00a0", "\u3000", "\ufeff", "\u200b", "\u2800", "./",
    ".//", "././", "\\", ".\\", "~", "~root/", "~+/", "~-/", "~\\", "\\~/", "~/", "~//", "~/./", " ~/", "@~/", "\u00a0~/",
    "$HOME/", "${HOME}/", "$PWD/", "$OPENCLAW_STATE_DIR/", "%HOME%/", "$(pwd)/", '"', "'", "`", "(", "[", "<", "<path>", "|",
    "path=", "path:", "=", "+", "-", "--", "!", "#", ":", ",", ";", "&", "*", "?", "file:", "file:./", "FILE:", "file:/",
    "file:///", "file://", "FILE://", "file://./", "MEDIA:", "MEDIA: ", "MEDIA :", "media:", "Media:\t", "MEDIA:MEDIA:",
    "@MEDIA:", "MEDIA:@", "MEDIA:./", "MEDIA:~/", "MEDIA:file:", "media://", "media://inbound/", "MEDIA:media://inbound/",
    "sandbox:", "sandbox:/", "vscode://file", "attachment:", "x://", "x:", "C:", "C:\\", "C:/", "\\\\",
)  # fmt: skip
_ADDRESSES = (
    "file://{abs}", "file:{abs}", "file:/{abs}", "file:///{abs}", "File://{abs}", "FILE:{abs}", "file://localhost{abs}",
    "file://LOCALHOST{abs}", "file://127.0.0.1{abs}", "file://host.invalid{abs}", "file:\\\\{abs}", "file://{abs}#x.md",
    "file://{abs}?x=1", "file://{abs}%20", "file://{abs} ", " file://{abs}", "@file://{abs}", "@@file://{abs}",
    "MEDIA:file://{abs}", "file://{abs}</arg_value>>", "file://{abs}\n", "file://{home}/x/%2e%2e/{}", "file://{home}/x/../{}",
    "file://{home}/%2E%2e/%2e/x/../{}", "file://{home}%2f{}", "file://{home}\\{}", "file://{home}/\t{}", "file://{home}/%74%2e",
    "file://~/{}", "file://{home}/%zz{}", "{abs}", "//{abs}", "@{abs}", "@ {abs}", " {abs}", "{abs} ", "{abs}/", "@{abs}@",
    "MEDIA:{abs}", "@MEDIA:{abs}", "MEDIA: {abs}</arg_value>>", "/.{abs}", "/../..{abs}", "/proc/self/root{abs}",
    "{home}/x/../{}", "{home}/./{}", "{home}//{}", "sandbox:{abs}", "\ufeff{abs}", "\u00a0{abs}",
)  # fmt: skip
_WRAPPED = (
    '"{}"', "'{}'", "`{}`", "<{}>", "[{}]", "({})", "[x]({})", "**{}**", "\u201c{}\u201d", "<path>{}</path>", "$({})",
)  # fmt: skip
_OUT = (
    " ", "@", "@ ", "~x", "~root", "$HOME", "${HOME}", "$PWD", "file:", "FILE:", "file://x", "x:", "x:/", "https:/",
    "MEDIA:", "media:/", "\ufeff", "\u200b", "%2e%2e", "*", "[a]", "a b", ".", "...", "\\", "a\\b", "</arg_value>>", "@@",
    "~+",
)  # fmt: skip
"""Names of folders that something may take for more than a name; `..` leads out of them."""

_NAMED: tuple[tuple[str, str], ...] = (
    ("{}.docodex", "{}.docx"), ("{}.DOCcodex", "{}.docx"), ("{}.xlsxodex", "{}.xlsx"), ("{}.pptxcodex", "{}.pptx"),
    ("{}.docodex</arg_value>>", "{}.docx"), ("{}.docodex ", "{}.docx"), ("@{}.docodex", "{}.docx"),
    ("it\u2019s {}", "it's {}"), ("it's {}", "it\u2019s {}"), ("it\u2018s {}", "it's {}"), ("a\u00a0b {}", "a b {}"),
    ("a\u202fb {}", "a b {}"), ("9 AM {}", "9\u202fAM {}"), ("9 pm {}", "9\u202fpm {}"), ("cafe\u0301 {}", "caf\u00e9 {}"),
    ("caf\u00e9 {}", "cafe\u0301 {}"), ("\ufb01 {}", "fi {}"), ("\uff41 {}", "a {}"), ("A {}", "a {}"),
    ("\u212a {}", "K {}"), ("a\u00a0x/{}", "a x/{}"), ("caf\u00e9/{}", "cafe\u0301/{}"), ("it\u2019s/{}", "it's/{}"),
    ("@a/{}", "@a/{}"),
    ("@b {}", "@b {}"), ("~x/{}", "~x/{}"), ("file:/{}", "file:/{}"), ("$HOME/{}", "$HOME/{}"), (" s/{}", " s/{}"),
    ("a%20b {}", "a b {}"), ("a%20b {}", "a%20b {}"), ("%7B {}", "{{ {}"), ("caf\u00e9 {}", "caf\u00e9 {}"),
    ("\u65e5\u672c {}", "\u65e5\u672c {}"), ("\U0001f600 {}", "\U0001f600 {}"), ("a  b {}", "a  b {}"),
    ("media://inbound/{}", "{store}/{}"), ("MEDIA:media://inbound/{}", "{store}/{}"), ("media://inbound//{}", "{store}/{}"),
    ("MEDIA://inbound/{}", "{store}/{}"), (" media://inbound/{}", "{store}/{}"), ("media://outbound/{}", "{store}/{}"),
    ("media://inbound/%74{}", "{store}/t{}"), ("media://inbound/x/../{}", "{store}/{}"),
)  # fmt: skip


@dataclass(frozen=True)
class PathSpelling:
    """One way to write a path."""

    text: str
    file: str = ""


@dataclass(frozen=True)
class ProbePlace:
    """The folders that spellings speak of."""

    workspace: Path
    home: Path
    store: Path

    def filled(self, text: str, name: str) -> str:
        return (
            text.replace("{abs}", f"{self.workspace}/{name}").replace("{home}", str(self.home))
            .replace("{store}", str(self.store)).replace("{}", name).replace("{{", "{")
        )  # fmt: skip

    def expected(self, spelling: PathSpelling, name: str) -> str:
        """The file that the spelling is one of."""
        return str(self.workspace / self.filled(spelling.file or "{}", name))


def spellings() -> list[PathSpelling]:
    """All of them, each once."""
    forms = [f"{{}}{end}" for end in _ENDS]
    forms += [f"{begin}{{}}" for begin in _BEGINNINGS]
    forms += [*_ADDRESSES, *_WRAPPED]
    forms += [f"{folder}/../../{{}}" for folder in _OUT]
    forms += [f"{begin}{{}}{end}" for begin in ("@", "MEDIA:", "~/", " ") for end in ("</arg_value>>", " ", "/", "#x")]
    return [*map(PathSpelling, dict.fromkeys(forms)), *(PathSpelling(text, file) for text, file in _NAMED)]
