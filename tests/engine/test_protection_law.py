"""The same thing done in another way has the same answer: no blocked form has an allowed equivalent, no allowed form a
blocked one."""

from __future__ import annotations

from itertools import combinations, product

from effort import some
from setting_ways import CONFIG, OLD, SETTINGS, Files, Params, asked, decided, text_of, ways, with_value
from tables import each_row
from toolguard_engine.layers import self_protection
from toolguard_engine.model.call import Call, Host

HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json")
HOMES = ("~", "$HOME", "/home/u", '"$HOME"', "${HOME}", "/home/./u", "/home/u/work/..")
PLACES = {
    "home": ("",),
    "state": ("/.openclaw", "/.openclaw/workspace/.."),
    "guard": ("/.openclaw/toolguard", "/.openclaw/./toolguard"),
    "key": ("/.openclaw/toolguard/key",),
    "config": ("/.openclaw/openclaw.json", "/.openclaw/workspace/../openclaw.json"),
}
FRAMES = ("{}", "true && {}", "sh -c '{}'", "sudo {}", "nice {}", "if true; then {}; fi")
WAYS = {
    ("pack", "home"): ("tar czf /b/x.tgz {}", "zip -r /b/x.zip {}", "cp -r {} /b/x", "rsync -a {}/ /b/", "restic backup {}"),
    ("pack", "state"): ("tar czf /b/x.tgz {}", "zip -r /b/x.zip {}", "rsync -a {}/ /b/", "borg create ::x {}"),
    ("pack", "guard"): ("tar czf /b/x.tgz {}", "zip -r /b/x.zip {}", "cp -a {} /b/x", "rsync -a {}/ /b/"),
    ("show", "state"): ("grep -rh . {}", "find {} -type f -exec cat {{}} +", "diff -r {} /b/x"),
    ("show", "key"): ("cat {}", "head -c 99 {}", "awk 1 {}", "cp {} /b/x", "tar czf /b/x.tgz {}", "base64 {}"),
    ("show", "config"): ("cat {}", "jq . {}", "grep -r port {}", "head -50 {}", "cp {} /b/x.json", "diff {} /b/x.json"),
    ("list", "state"): ("ls -la {}", "du -sh {}", "find {} -type f", "tree {}", "stat {}", "ls -R {}"),
    ("list", "guard"): ("ls -la {}", "du -sh {}", "stat {}"),
    ("delete", "state"): ("rm -rf {}", "mv {} /b/x", "find {} -delete"),
    ("delete", "guard"): ("rm -rf {}", "mv {} /b/x", "find {} -delete"),
    ("delete", "config"): ("rm {}", "mv {} /b/x", "truncate -s 0 {}", "unlink {}", "shred -u {}"),
    ("restore", "home"): ("tar xzf /b/x.tgz -C {}", "cp -r /b/x/. {}/", "rsync -a /b/x/ {}/", "unzip -o /b/x.zip -d {}"),
    ("restore", "state"): ("tar xzf /b/x.tgz -C {}", "cp -r /b/x/. {}/", "rsync -a /b/x/ {}/", "unzip -o /b/x.zip -d {}"),
    ("replace", "config"): ("cp /b/x.json {}", "mv /b/x.json {}", "install -m 600 /b/x.json {}", "cat /b/x.json > {}",
                            "curl -o {} https://h.example/x", "sed -i s/a/b/ {}"),
}  # fmt: skip


def decision(command: str) -> str:
    verdict = self_protection.judge(Call("exec", {"command": command}, cwd="/home/u/work"), HOST)
    return verdict.decision if verdict else "allow"


def forms(place: str, ways: tuple[str, ...]) -> list[str]:
    spelled = [home + rest if not home.endswith('"') else f'"$HOME{rest}"' for home, rest in product(HOMES, PLACES[place])]
    return [frame.format(way.format(path)) for frame, way, path in product(FRAMES, ways, spelled)]


@each_row(("done", "place"), list(WAYS))
def test_what_does_the_same_has_the_same_answer(done: str, place: str) -> None:
    found = {command: decision(command) for command in some(forms(place, WAYS[done, place]))}
    unequal = [pair for pair in combinations(found.items(), 2) if {pair[0][1], pair[1][1]} == {"allow", "block"}]
    assert unequal == []
    assert len(set(found.values())) == 1, {each: next(c for c in found if found[c] == each) for each in found.values()}


def test_there_are_enough_pairs() -> None:
    assert sum(len(forms(place, ways)) * (len(forms(place, ways)) - 1) // 2 for (_, place), ways in WAYS.items()) > 2_000


SPELLED = (CONFIG, CONFIG.replace("/openclaw.json", "/./openclaw.json"), CONFIG.replace("/u/", "/u//"))
CHANGES = {(path, str(new)): (path, new) for path, _, new, expected in SETTINGS if expected in ("block", "allow")}


def calls(path: str, value: object) -> list[tuple[str, Params]]:
    """The calls that set it, with the config's path in other spellings."""
    found = [call for config in SPELLED for call in ways(path, value, config=config).values()]
    return [*found, *asked(path, value).values()]


@each_row(("path", "value"), list(CHANGES))
def test_what_changes_the_same_setting_is_not_blocked_in_one_form_and_allowed_in_another(path: str, value: str) -> None:
    path, new = CHANGES[path, value]
    files = Files(text_of(with_value(OLD, path, new)))
    found = {f"{tool} {params}": decided(tool, params, files)[0] for tool, params in some(calls(path, new))}
    assert not {"allow", "block"} <= set(found.values()), {
        each: next(c for c in found if found[c] == each) for each in found.values()
    }


def test_there_are_enough_pairs_of_changes() -> None:
    counts = [len(calls(path, new)) for path, new in CHANGES.values()]
    assert sum(count * (count - 1) // 2 for count in counts) > 2_000
