"""The manuals of programs: their format, how command lines are read by them, and whether installed programs agree."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess

import msgspec
import pytest

from tables import each_row
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.manuals import manual_catalogue, manual_form, manual_kinds
from toolguard_engine.effects.manuals.manual_form import OptionEntry
from toolguard_engine.effects.manuals.option_parser import MAX_UNKNOWN, parse, readings


def read(command: str) -> list[str]:
    """Each reading in a form to compare: `verb | OPTION=VALUE ... | role=word ...`."""
    argv = tuple(shlex.split(command))
    found = []
    for words in readings(argv[0], argv):
        options = [f"{each.entry.name}={each.value.text}" if each.valued else each.entry.name for each in words.given]
        roles = [f"{role}={word.text}" for role, word in words.roles]
        found.append(" | ".join((words.verb, " ".join(options), " ".join(roles))).strip())
    return found


@each_row(
    ("command", "expected"),
    [
        ("rsync -a d h:x --compress-level 9", "| --archive --compress-level=9 | source=d target=h:x"),
        ("rsync --compress-level=9 -a d h:x", "| --compress-level=9 --archive | source=d target=h:x"),
        ("rsync -a --compress-level 9 d h:x", "| --archive --compress-level=9 | source=d target=h:x"),
        ("rsync -ae 'ssh -p 2' a b c", "| --archive --rsh=ssh -p 2 | source=a source=b target=c"),
        ("rsync -a -- --delete h:x", "| --archive | source=--delete target=h:x"),
        ("rsync --exclude-f f a b", "| --exclude-from=f | source=a target=b"),
        ("rsync a --exclude -n b", "| --exclude=-n | source=a target=b"),
        ("cp -rt d a b", "| --recursive --target-directory=d | source=a source=b"),
        ("cp --target=d a", "| --target-directory=d | source=a"),
        ("cp --backup a b", "| --backup | source=a target=b"),
        ("cp -r - b", "| --recursive | source=- target=b"),
        ("install -Dm755 a b", "| -D --mode=755 | source=a target=b"),
        ("tar czf a.tgz -C /x b", "| --create --ungzip --file=a.tgz --directory=/x | member=b"),
        ("tar cfb a.tar 20 x", "| --create --file=a.tar --blocking-factor=20 | member=x"),
        ("tar -xfa.tar", "| --get --file=a.tar |"),
        ("zip -r x.zip a -x '*.o' y @ c", "| --recurse-paths --exclude=*.o --exclude=y | archive=x.zip member=a member=c"),
        ("zip -qrTT cmd x.zip a", "| --quiet --recurse-paths --unzip-command=cmd | archive=x.zip member=a"),
        ("unzip x.zip a -d t", "| -d=t | archive=x.zip member=a"),
        ("7z a x.7z b -pA -o/t", "a | -p=A -o=/t | archive=x.7z member=b"),
        ("7z a x.7z @l -- @m", "a |  | names=@l archive=x.7z member=@m"),
        ("unrar x x.rar a/ b/", "x |  | target=b/ archive=x.rar member=a/"),
        ("mksquashfs a b c.sq -comp gzip -e x y", "| -comp=gzip -e=x -e=y | member=a member=b archive=c.sq"),
        ("curl -sSLo f http://x", "| --silent --show-error --location --output=f | url=http://x"),
        ("wget -nc -qO- u", "| --no-clobber --quiet --output-document=- | url=u"),
        ("aws s3 sync d s3://b --region us", "s3 sync | --region=us | source=d target=s3://b"),
        ("aws s3 sync --sse AES256 d s3://b", "s3 sync | --sse=AES256 | source=d target=s3://b"),
        ("aws s3 sync d s3://b --sse --delete", "s3 sync | --sse --delete | source=d target=s3://b"),
        ("zip -r x.zip a -x@l -i@m", "| --recurse-paths -x@=l -i@=m | archive=x.zip member=a"),
        ("7z a x.7z a -ir!b -xr@l", "a | -ir!=b -xr@=l | archive=x.7z member=a"),
        ("aws --region us s3 sync d s3://b", "s3 sync | --region=us | source=d target=s3://b"),
        ("aws ec2 run", "|  |"),
        ("az storage fs file download -p a -d b", "storage fs file download | -p=a -d=b |"),
        ("rclone copy d r:x --transfers 8", "copy | --transfers=8 | source=d target=r:x"),
        ("gsutil -m cp -r a b gs://x", "cp | -m -R | source=a source=b target=gs://x"),
        ("scp -P 22 a h:b", "| -P=22 | source=a target=h:b"),
        ("ag -A 3 x f", "| --after=3 | pattern=x input=f"),
        ("ag -A x f", "| --after | pattern=x input=f"),
        ("sed -lE p f", "| -l --regexp-extended | script=p input=f"),
        ("sed -l5 p f", "| -l=5 | script=p input=f"),
        ("jq --arg a .b --argjson c 1 .d f", "| --arg=a --arg=.b --argjson=c --argjson=1 | script=.d input=f"),
        ("kill -9 -1", "| --signal=9 | process=-1"),
        ("kill -HUP 5", "| --signal=HUP | process=5"),
        ("kill -s 0 5 -l", "| --signal=0 | process=5 process=-l"),
        ("kill -1 -2 -l", "| --signal=1 | process=-2 process=-l"),
        ("pkill -SIGKILL -fu bob x", "| --signal=SIGKILL --full --euid=bob | pattern=x"),
        ("cpio -pdum d", "| --pass-through --make-directories --unconditional --preserve-modification-time | target=d"),
    ],
)
def test_words_get_their_roles(command: str, expected: str) -> None:
    assert read(command) == [expected]


def test_an_unknown_option_leaves_two_readings() -> None:
    assert read("rsync a h:b --frob 9") == ["|  | source=a source=h:b target=9", "|  | source=a target=h:b"]
    assert read("rsync --frob=9 a h:b") == ["|  | source=a target=h:b"]
    assert read("aws --frob s3 s3 cp a b") == ["|  |", "s3 cp |  | source=a target=b"]
    assert read("rsync a h:b -Y9") == ["|  | source=a target=h:b"]


def test_the_target_is_found_among_several_unknown_options() -> None:
    """Whichever options take values, some reading has the right target."""
    targets = [line.rpartition("target=")[2] for line in read("rsync a --x1 h:b --x2 9 --x3 8")]
    assert {"h:b", "9", "8"} <= set(targets)


def test_readings_are_bounded() -> None:
    argv = ("rsync", *(word for at in range(400) for word in (f"--frob{at}", "x")))
    found = readings("rsync", argv)
    assert len(found) <= 2 * MAX_UNKNOWN
    assert all(words.doubtful for words in found)


def test_an_unknown_option_may_revoke_a_rehearsal() -> None:
    def rehearses(command: str) -> list[bool]:
        argv = tuple(command.split())
        return [words.rehearses for words in readings(argv[0], argv)]

    assert rehearses("rsync -n a b") == [True]
    assert rehearses("rsync --dry-run --no-dry-run a b") == [False]
    assert rehearses("rsync -n a b --frob") == [False]
    assert rehearses("rsync --exclude -n a b") == [False]


def test_a_rehearsal_may_be_switched_off() -> None:
    """Programs in Go take a value for every switch; in others it is an error, and nothing runs."""

    def rehearses(command: str) -> bool:
        argv = tuple(command.split())
        return all(words.rehearses for words in readings(argv[0], argv))

    assert all(map(rehearses, ("rclone copy a r:b --dry-run=true", "rclone copy a r:b -n", "azcopy copy a b --dry-run")))
    for option in ("--dry-run=false", "--dry-run=0", "--dry-run=F", "--dry-run --dry-run=false", "--dry-run --no-dry-run"):
        assert not rehearses(f"rclone copy a r:b {option}"), option
    assert not rehearses("azcopy copy a b --dry-run=false")
    assert not rehearses("mc mirror a m/b --fake=false")


def test_the_words_are_kept_with_the_program() -> None:
    run = ProgramRun(("rsync", "a", "b"), "rsync")
    assert run.words is run.words is run.readings[0]
    assert ProgramRun(("nonesuch", "a"), "nonesuch").readings == ()
    assert run == ProgramRun(("rsync", "a", "b"), "rsync")


@each_row(
    ("toml", "message"),
    [
        ({"x": {"words": "a b"}}, "unknown roles"),
        ({"x": {"words": "source... member..."}}, "repeated"),
        ({"x": {"options": "-a\n-a"}}, "twice"),
        ({"x": {"options": "a="}}, "dash"),
        ({"x": {"options": "-a=nonsense"}}, "unknown role"),
        ({"x": {"options": "-a : flies"}}, "unknown role or trait"),
        ({"x": {"option": ""}}, "unknown keys"),
        ({"x": {"does": "dances"}}, "nobody knows"),
        ({"x": {"verbs": {"a": {"form": "long"}}}}, "unknown keys"),
        ({"x": {"verbs": {"a, b": {}, "b": {}}}}, "twice"),
        ({"x": {"signals": True, "options": "-s"}}, "values of --signal"),
    ],
)
def test_a_manual_that_is_wrong_is_refused(toml: dict[str, dict[str, object]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(manual_form.parse(toml))


SIGNALLERS = sorted(name for manual in manual_catalogue.from_toml() if manual.signals for name in manual.names)


@each_row("program", SIGNALLERS)
def test_a_signal_is_read_wherever_a_program_takes_one(program: str) -> None:
    for word, signal in {"-9": "9", "-KILL": "KILL", "-SIGHUP": "SIGHUP"}.items():
        [words, *_] = readings(program, (program, word, "x"))
        assert [value.text for value in words.values("--signal")] == [signal]
        assert words.texts == ("x",)


COPIER: dict[str, object] = {"words": "source... target", "does": "copies"}


@each_row(
    ("entry", "message"),
    [
        ({**COPIER, "kind": "cp", "options": "--mirror : deletes"}, r"newest: --mirror: .*'cp' for 'deletes'; take 'rsync'"),
        ({**COPIER, "kind": "cp", "options": "-n --dry-run : rehearses"}, r"newest: --dry-run: .*'rehearses'; take 'rsync'"),
        ({**COPIER, "kind": "cp", "options": "--from=names"}, r"newest: --from: .*'names'; take 'rsync'"),
        ({"kind": "cp", "does": "copies", "words": "source... url"}, r"newest: words: .*'url'"),
        ({**COPIER, "kind": "cp", "verbs": {"go": {"options": "-m : moves"}}}, r"newest: -m: .*'moves'"),
        ({**COPIER, "kind": "mv", "does": "restores"}, r"newest: does: .*'mv' for 'restores'"),
        ({"kind": "nonesuch"}, r"newest: kind: 'nonesuch'"),
    ],
)
def test_what_nobody_asks_a_program_of_the_kind_is_refused(entry: dict[str, object], message: str) -> None:
    """It would be lost without a word."""
    with pytest.raises(ValueError, match=message):
        manual_kinds.check([*manual_catalogue.from_toml(), *manual_form.parse({"newest": entry})])


@each_row(
    "entry",
    [
        {**COPIER, "kind": "rsync", "options": "--mirror : deletes\n-n : rehearses\n--from=names\n--not=exclude"},
        {"kind": "cp", "words": "source... target", "does": "copies recurses", "options": "-R : recursive\n-t=target"},
        {"kind": "zip", "words": "archive", "options": "-u : unpacks\n-C=folder\n-x=exclude...\n-a : absolute"},
        {"kind": "cp", "does": "copies", "options": "--from=source\n--to=target"},
        {"kind": "cp", "verbs": {"go": COPIER}},
    ],
)
def test_what_a_kind_is_asked_may_be_said(entry: dict[str, object]) -> None:
    manual_kinds.check([*manual_catalogue.from_toml(), *manual_form.parse({"newest": entry})])


@each_row("kind", ["cp", "mv", "rsync", "scp", "zip", "rclone"])
def test_a_program_of_a_kind_says_what_it_does_and_what_its_words_are(kind: str) -> None:
    """Nothing of both follows from the kind: without them it would count as one that does nothing."""
    manuals = manual_catalogue.from_toml()
    base = next(manual for manual in manuals if kind in manual.names)
    usage = next(usage for usage in (base.usage, *base.verbs.values()) if usage.does and usage.words)
    whole = {"kind": kind, "does": " ".join(sorted(usage.does)), "words": " ".join(usage.words)}
    manual_kinds.check([*manuals, *manual_form.parse({"newest": whole})])
    for key in ("does", "words"):
        entry = {name: value for name, value in whole.items() if name != key}
        for options in ("", "-r : recursive\n--mirror : deletes"):
            with pytest.raises(
                ValueError, match=rf"newest: without `{key}`, .*write .*`{key} = \".+\"` of '{base.names[0]}'"
            ):
                manual_kinds.check([*manuals, *manual_form.parse({"newest": {**entry, "options": options}})])


def test_a_kind_has_none_itself() -> None:
    table = {"newest": {**COPIER, "kind": "cp"}, "newer": {**COPIER, "kind": "newest"}}
    with pytest.raises(ValueError, match="newer: kind: 'newest'"):
        manual_kinds.check([*manual_catalogue.from_toml(), *manual_form.parse(table)])


# --- what installed programs say ----------------------------------------------------------------------------------------

_SHORT = re.compile(r"-[A-Za-z0-9@?#:](?![\w-])")


def _help(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
    return done.stdout + done.stderr


def _gnu(text: str) -> dict[str, bool]:
    """The options of a usual help text, and whether each takes a value as a word of its own."""
    found: dict[str, bool] = {}
    for line in text.splitlines():
        if row := _ROW.match(line):
            names = re.findall(r"(?:^|[\s,])(-{1,2}[A-Za-z0-9@#:][\w.-]*)", row[1])
            valued = re.search(r"[^\[]=", row[1]) is not None or row[2] is not None
            found |= {name: found.get(name, False) or valued for name in names}
    return found


_OPTION = r"-{1,2}[A-Za-z0-9@#:][^\s,=\[<]*(?:\[?=[^\s,]*)?"
_ROW = re.compile(rf"\s{{0,9}}({_OPTION}(?:,\s*{_OPTION})*)(\s[<\[])?")


def _spaced(text: str) -> dict[str, bool]:
    """`-d DIR, --dir=DIR`, or the same without a comma."""
    return _gnu(re.sub(r"(?m)^(\s+-\w) [A-Za-z][A-Za-z-]*,?\s+(--)", r"\1=X, \2", text))


def _upper(text: str) -> dict[str, bool]:
    """`-o, --output FILE`, `-cmd COMMAND`."""
    return _gnu(re.sub(r"(?m)^(\s+(?:-\w, *)?--?[\w-]+) ([A-Z][A-Z0-9-]*)\b", r"\1=\2", text))


def _usage(text: str) -> dict[str, bool]:
    """`usage: scp [-346A] [-c cipher]`."""
    found = {f"-{letter}": False for letters in re.findall(r"\[-(\w{2,})\]", text) for letter in letters}
    return found | {f"-{letter}": True for letter in re.findall(r"\[-(\w) [^\]]", text)}


def _zip(text: str) -> dict[str, bool]:
    """The table of `zip -so`."""
    found: dict[str, bool] = {}
    for line in text.splitlines()[3:]:
        row = re.match(r" (\S*) *(?:(?<=^.{5})([A-Za-z][\w-]+) *)?(req|list)? ", line)
        assert row is not None, line
        found |= {name: row[3] is not None for name in (row[1] and f"-{row[1]}", row[2] and f"--{row[2]}") if name}
    return found


def _pflag(text: str) -> dict[str, bool]:
    """Programs in Go: `-c, --checkers int   What it is`. What belongs to single storages comes last."""
    rows = re.finditer(r"(?m)^\s+(?:(-\w), )?(--[a-z0-9-]+)( (?!count )[\w=:\[\]]+ {2,})?", text.partition("Backend")[0])
    return {name: row[3] is not None for row in rows for name in (row[1], row[2]) if name}


def _seven(text: str) -> dict[str, bool]:
    return {match[1].lower(): False for match in re.finditer(r"(?m)^  (-[a-z]{1,4})", text)}


def _aws(text: str) -> dict[str, bool]:
    plain = re.sub(r".\x08", "", text)
    found = re.findall(r"(?m)^ {7}(--[a-z0-9-]+)\s+\((\w+)", re.sub(r"\s*\t", " ", plain))
    return {name: kind != "boolean" for name, kind in found}


_GNU = (
    "rm", "shred", "tee", "truncate", "sort", "split", "csplit", "chmod", "chown", "chgrp", "grep", "base64",
    "basename", "gawk", "ls", "du", "df", "fold", "man", "nl", "tail", "uniq",
)  # fmt: skip
HELPS = {
    "rsync": (("rsync", "--help"), _gnu), "tar": (("tar", "--help"), _gnu), "cp": (("cp", "--help"), _gnu),
    "mv": (("mv", "--help"), _gnu), "ln": (("ln", "--help"), _gnu), "install": (("install", "--help"), _gnu),
    "cpio": (("cpio", "--help"), _gnu), "curl": (("curl", "--help", "all"), _gnu), "wget": (("wget", "--help"), _gnu),
    "scp": (("scp",), _usage), "sftp": (("sftp", "-h"), _usage), "zip": (("zip", "-so"), _zip),
    "stow": (("stow", "--help"), _spaced), "patch": (("patch", "--help"), _spaced),
    "rclone": (("rclone", "help", "flags"), _pflag), "restic": (("restic", "backup", "--help"), _pflag),
    "s3cmd": (("s3cmd", "--help"), _spaced),
    **{name: ((name, "--help"), _gnu) for name in _GNU}, "ed": (("ed", "--help"), _gnu), "gpg": (("gpg", "--help"), _upper),
    "diff": (("diff", "--help"), _upper), "xargs": (("xargs", "--help"), _upper),
    "touch": (("touch", "--help"), _upper), "mkswap": (("mkswap", "--help"), _upper), "sed": (("sed", "--help"), _spaced),
    "less": (("less", "--help"), _gnu), "vim": (("vim", "--help"), _gnu), "psql": (("psql", "--help"), _gnu),
    "sqlite3": (("sqlite3", "-help"), _upper), "ssh": (("ssh",), _usage), "ssh-keyscan": (("ssh-keyscan",), _usage),
    "rg": (("rg", "--help"), _gnu), "fd": (("fd", "--help"), _gnu), "gh": (("gh", "--help"), _gnu),
    **{name: ((name, "--help"), _gnu) for name in ("pkill", "pgrep", "prlimit")},
    "killall": (("killall", "--help"), _upper),
    "7z": (("7z", "--help"), _seven), "aws": (("aws", "s3", "sync", "help"), _aws),
}  # fmt: skip

_EXAMPLES = {
    "rsync": {"--no-OPTION"},
    "tar": {"-cf", "-tvf", "-xf", "-f-", "-b20"},
    "cpio": set(),
    "grep": {"-NUM"},
    "gpg": {"-se"},
}
"""What stands in a help text and is no option."""

_OPTIONAL = {
    "ls": {"-p"},
    "killall": {"-y", "--younger-than", "-o", "--older-than"},
    "du": {"--time"},
    "diff": {"-c", "-u"},
    "xargs": {"--max-lines"},
    "sort": {"-c", "-C", "--check"},
    "vim": {"-s", "-S"},
    "less": {"-D"},
    "psql": {"--help"},
    "sqlite3": {"-A"},
    "gpg": {"--clear-sign", "--detach-sign", "--list-keys", "--fingerprint"},
    "wget": {"--max-redirect", "--hsts-file"},
    "restic": {"-v", "--verbose"},
    "s3cmd": {"-m"},
    "aws": {"--sse", "--sse-c", "--sse-c-copy-source", "--request-payer", "--version"},
}
"""Options of which a help text does not say clearly whether they take a value."""


@each_row("program", sorted(HELPS))
def test_the_manual_has_all_options_of_the_installed_program(program: str) -> None:
    command, parse = HELPS[program]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    printed = {name: valued for name, valued in parse(_help(*command)).items() if name not in _EXAMPLES.get(program, ())}
    if not printed:
        pytest.skip(f"{command[0]} has another help text")
    manual = manual_catalogue.manual(program)
    assert manual is not None
    known = manual.known({"aws": "s3 sync", "restic": "backup"}.get(program, ""))
    switches = manual.form == "switches"
    others = [name for name in printed if name not in known]
    missing = [name for name in others if not (switches and any(key.startswith(name) for key in known))]
    assert missing == []
    if not switches:
        takes = {
            name: known[name].takes in ("value", "number", "many")
            for name in printed
            if name not in _OPTIONAL.get(program, ())
        }
        assert takes == {name: printed[name] for name in takes}


def test_the_options_of_a_verb_may_take_its_own_words() -> None:
    """The words are read again once the verb is known, and an option of its own may take a value where none did before."""
    (manual,) = manual_form.parse({"x": {"options": "-a", "verbs": {"do it": {"options": "-a="}}}})
    found = parse(manual, ("x", "do", "-a", "it"), lambda _: False)
    assert (found.verb, found.operands) == ("do it", ())


def test_manuals_share_what_they_have_in_common() -> None:
    """An engine may have read all of them after a while, and most of their options are in several."""
    options: dict[OptionEntry, OptionEntry] = {}
    spellings: dict[str, str] = {}
    for program in sorted(manual_catalogue.programs()):
        manual = manual_catalogue.manual(program)
        assert manual is not None
        assert all(manual_catalogue.manual(name) is manual for name in manual.names)
        for usage in (manual.usage, *manual.verbs.values()):
            for option in usage.options:
                assert options.setdefault(option, option) is option
                assert all(spellings.setdefault(name, name) is name for name in option.names)
    assert len(options) < sum(
        len(usage.options) for each in manual_catalogue.from_toml() for usage in (each.usage, *each.verbs.values())
    )


def test_a_verb_that_stands_first_is_the_one_that_all_words_tell() -> None:
    """Words that may make a longer verb, or be options, stand behind it."""
    seen = 0
    for program in sorted(manual_catalogue.programs()):
        manual = manual_catalogue.manual(program)
        assert manual is not None
        slow = msgspec.structs.replace(manual)
        slow.__dict__["plain_verbs"] = frozenset()
        known = [*manual.usages, *manual.known("")]
        for verb in manual.plain_verbs:
            for words in (known[seen % len(known)], f"x {known[-seen % len(known)]} y", "-- x", "--acme x -z", "@x"):
                argv = (program, verb, *words.split())
                assert parse(manual, argv, lambda _: False) == parse(slow, argv, lambda _: False), argv
                seen += 1
    assert seen > 500, seen
