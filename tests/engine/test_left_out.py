"""What a program that copies or packs takes and leaves out by lists and patterns: unknown ones leave out nothing."""

from __future__ import annotations

from tables import each_row
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.layers import self_protection
from toolguard_engine.model.call import Call, Host
from toolguard_engine.model.file_memory import ExpectedText, FileMemory
from toolguard_engine.model.files import FileText, Unread

HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json", ())
WORKSPACE = "/home/u/.openclaw/workspace"


class Disk:
    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts

    def read(self, path: str) -> FileText | Unread:
        text = self._texts.get(path)
        return Unread("absent") if text is None else FileText(path, text, "", (0, 0, 0, 0))

    def resolve(self, path: str) -> str:
        return path

    def is_unchanged(self, path: str) -> bool:  # noqa: ARG002
        return False


def protects(command: str, texts: dict[str, str] | None = None, made: FileMemory | None = None) -> str:
    call = Call("exec", {"command": command}, cwd=WORKSPACE)
    found = self_protection.of_reading(CallReading(call, HOST, files=Disk(texts or {}), made=made))
    return found.decision if found else "allow"


LISTS = [
    "tar czf /b/h.tgz {option}--exclude-from=/e/list ~", "bsdtar -c -f /b/h.tgz {option}-X /e/list ~",
    "zip -r /b/h.zip ~ -x@/e/list", "7z a /b/h.7z ~ -xr@/e/list", "rar a /b/h.rar ~ -x@/e/list",
    "rsync -a --exclude-from=/e/list ~/ /b/", "rclone copy ~ /b --exclude-from /e/list",
    "s3cmd sync ~ s3://b --exclude-from /e/list", "rclone copy ~ r:x --filter-from /e/list",
]  # fmt: skip
"""The same backup with a list of what to leave out, by programs whose patterns differ."""

UNKNOWN_EXCLUSIONS = [
    *(each.format(option="") for each in LISTS),
    "tar czf /b/h.tgz --exclude-tag=CACHEDIR.TAG ~", "tar czf /b/h.tgz --exclude-vcs-ignores ~",
    "tar czf /b/h.tgz --exclude-ignore=.ignore ~", "tar czf /b/h.tgz --anchored ~",
    "rclone copy ~ r:x --exclude-if-present .nobackup", "rclone copy ~ r:x --include-from /e/list",
    "rsync -a --include='*.md' ~/ /b/", "rsync -aF ~/ /b/", "rsync -a --filter='merge /e/list' ~/ /b/",
    "mksquashfs ~ /b/h.sq -ef /e/list", "gsutil -m rsync -r -x 'cache' ~ gs://b", "zip -r /b/h.zip ~ -i@/e/list",
    "zip -r /b/h.zip ~ -x '*/node_modules/*'", "aws s3 sync ~ s3://b --include '*.md'",
]  # fmt: skip


@each_row("command", UNKNOWN_EXCLUSIONS)
def test_what_is_not_known_leaves_out_nothing(command: str) -> None:
    assert protects(command) == "hold"


@each_row(
    ("command", "pattern"),
    [
        (LISTS[0], ".openclaw"), (LISTS[1], "*/.openclaw"), (LISTS[2], "*/.openclaw/*"), (LISTS[3], ".openclaw"),
        (LISTS[5], ".openclaw/"), (LISTS[5], "- .openclaw"), (LISTS[6], ".openclaw/**"), (LISTS[8], "- .openclaw/**"),
    ],
)  # fmt: skip
def test_a_list_that_was_read_counts_like_words(command: str, pattern: str) -> None:
    command = command.format(option="")
    assert protects(command, {"/e/list": f"# caches\n.cache\n{pattern}\n\n"}) == "allow"
    assert protects(command, {"/e/list": ".cache\n*.o\n"}) == "hold"
    assert protects(command, {"/e/list": pattern.replace("claw", "claw.old")}) == "hold"
    assert protects(f"cd /srv && {command}", {"/e/list": pattern}) == "allow"


def test_a_list_may_be_another_one_when_the_program_reads_it() -> None:
    command, texts = LISTS[0].format(option=""), {"/e/list": ".openclaw\n"}
    assert protects(f"echo x > /e/list; {command}", texts) == "hold"
    assert protects(f"sort -o /e/list x; {command}", texts) == "hold"
    assert protects(f"./prepare && {command}", texts) == "hold"
    assert protects(command.replace("/e/list", "$LIST"), texts) == "hold"
    made = FileMemory()
    made.expect("/e/list", ExpectedText("call-1", "x", whole=True))
    assert protects(command, texts, made) == "hold"
    assert protects(command, texts, FileMemory()) == "allow"


def test_exceptions_in_a_list_take_an_exclusion_back() -> None:
    assert protects(LISTS[5], {"/e/list": "+ .openclaw/\n- .openclaw\n"}) == "hold"
    assert protects(LISTS[8], {"/e/list": "+ *.md\n- .openclaw/**\n"}) == "hold"
    assert protects("rsync -a --exclude .openclaw --exclude-from=/e/list ~/ /b/", {}) == "allow"
    assert protects("rsync -a --exclude-from=/e/list --exclude .openclaw ~/ /b/", {}) == "hold"
    assert protects("rsync -a --exclude-from=/e/list --exclude .openclaw ~/ /b/", {"/e/list": ".cache"}) == "allow"
    assert protects("rsync -a --filter='. /e/list' --exclude .openclaw ~/ /b/") == "hold"
    assert protects("rsync -a --filter=':- .gitignore' --exclude .openclaw ~/ /b/") == "allow"


def test_only_what_is_asked_for_is_taken() -> None:
    """Whether a pattern of what is wanted may be about a secret is a person's to decide, unless it certainly is."""
    for command in (
        "bsdtar -c -f /b/h.tgz --include '{}' ~",
        "zip -r /b/h.zip ~ -i '{}'",
        "rclone copy ~ r:x --include '{}'",
    ):
        assert protects(command.format("*.md")) == "hold"
        assert protects(command.format("*")) == "hold"
        assert protects(command.format("*key*")) == "hold"
        assert protects(command.format("*.openclaw*")) == "hold"


@each_row(
    "command",
    [
        "rclone copy ~ r:x --filter '- .openclaw/**'", "rsync -a --exclude=.openclaw --delete-excluded ~/ /b/",
        "tar czf /b/h.tgz --exclude=.openclaw --exclude-tag=CACHEDIR.TAG --exclude-vcs-ignores ~",
        "restic backup ~ --exclude .openclaw --exclude-if-present .nobackup", "7z a k.7z docs -ir!*.md",
        "tar czf /b/p.tgz --exclude-from=/e/list ~/projects", "rclone copy ~/photos r:x --exclude-from /e/list",
        "rsync -a --exclude-from=.gitignore src/ /b/", "zip -r x.zip src -x@/e/list",
    ],
)  # fmt: skip
def test_honest_neighbours_pass(command: str) -> None:
    assert protects(command) == "allow"


LIST = "docs/a.md\n.openclaw/toolguard/key\nb.md\n"
TAKEN_BY_LIST = [
    "tar czf /b/a.tgz -C ~ -T /e/list", "tar czf /b/a.tgz --directory=$HOME --null --files-from=/e/list",
    "cd ~; tar czf /b/a.tgz -T /e/list", "cd ~ && zip /b/a.zip -@ < /e/list", "cd ~ && cpio -o < /e/list > /b/a",
    "cd ~ && 7z a /b/a.7z @/e/list", "rsync -a --files-from=/e/list ~ /b", "rclone copy ~ r:x --files-from /e/list",
    "cd ~ && cat /e/list | cpio -o > /b/a",
]  # fmt: skip
PERHAPS_TAKEN_BY_LIST = [
    "cd ~ && xargs cat < /e/list", "cd ~ && cat /e/list | xargs cat", "cd ~; cat $(cat /e/list)", "cd ~; cat $(< /e/list)",
    'cd ~; while read f; do cat "$f"; done < /e/list', 'cd ~; for f in $(cat /e/list); do cat "$f"; done',
    'cd ~; mapfile -t all < /e/list; cat "${all[1]}"',
]  # fmt: skip


@each_row("command", TAKEN_BY_LIST)
def test_a_list_that_names_a_secret_is_like_its_name(command: str) -> None:
    assert protects(command, {"/e/list": LIST}) == "block"
    honest = protects(command, {"/e/list": LIST.replace("toolguard", "workspace")})
    assert honest == ("hold" if command.startswith(("rsync", "rclone")) else "allow")


@each_row("command", PERHAPS_TAKEN_BY_LIST)
def test_what_prints_files_of_a_list_with_a_secret_is_held(command: str) -> None:
    assert protects(command, {"/e/list": LIST}) == "hold"
    assert protects(command, {"/e/list": LIST.replace("toolguard", "workspace")}) == "allow"


def test_lists_of_folders_and_lists_to_come() -> None:
    pack = "tar czf /b/a.tgz -C ~ -T /e/list"
    above = (".\n", ".openclaw/\n", "docs\n.openclaw/toolguard\n", "/\n", "../u")
    assert [protects(pack, {"/e/list": line}) for line in above] == ["hold"] * len(above)
    assert protects(f"{pack} --no-recursion", {"/e/list": "."}) == "allow"
    assert protects(pack, {"/e/list": "docs/\npictures\n.openclaw/workspace\n"}) == "allow"
    made = FileMemory()
    made.expect("/e/list", ExpectedText("call-1", LIST, whole=True))
    assert protects(pack, {"/e/list": "docs"}, made) == "block"
    assert protects(pack, {}) == "allow"
    assert protects("wc -l < /e/list", {"/e/list": LIST}) == "allow"
    assert protects("git ls-files | tar czf x.tgz -T -", {}) == "allow"
    assert protects(pack, {"/e/list": "".join(f"/x/{at}/key\n" for at in range(3000))}) == "hold"
