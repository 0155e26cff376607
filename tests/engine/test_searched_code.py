"""What is kept about code depends on all that its answer depends on."""

from __future__ import annotations

import re

from toolguard_engine.layers import self_protection
from toolguard_engine.layers.self_protection.searched_code import MAX_ANSWERS, SearchedCode
from toolguard_engine.model.call import Call, Host
from toolguard_engine.model.text_answers import SHORTEST

LONG = "x = 1\n" * SHORTEST
HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json")


def of_code(code: str, host: Host = HOST, cwd: str = "/home/u/work") -> str:
    found = self_protection.judge(Call("exec", {"command": f"python3 - <<'E'\n{LONG}{code}\nE"}, cwd=cwd), host)
    return found.decision if found is not None else "allow"


def test_an_answer_is_found_once() -> None:
    asked = list[str]()

    def letters(text: str) -> frozenset[str]:
        asked.append(text[-1])
        return frozenset(text)

    for _ in range(2):
        assert SearchedCode(f"{LONG}a").all("letters", letters) == frozenset(f"{LONG}a")
        assert SearchedCode(f"{LONG}b").all("letters", letters) == frozenset(f"{LONG}b")
    assert asked == ["a", "b"]


def test_another_form_of_the_same_code_has_its_own_answers() -> None:
    pattern = re.compile("X = 1")
    assert not SearchedCode(LONG).has(pattern)
    assert SearchedCode(LONG, str.upper).has(pattern)
    assert "x =" in SearchedCode(LONG)
    assert "x =" not in SearchedCode(LONG, str.upper)


def test_what_is_behind_the_code_is_searched_as_well() -> None:
    code = SearchedCode(LONG, also=SearchedCode("'/etc/x'"))
    assert "/etc" in code
    assert code.has(re.compile("etc"))
    assert code.text == f"{LONG}\n'/etc/x'"
    assert "/etc" not in SearchedCode(LONG)


def test_the_answers_about_a_text_are_bounded() -> None:
    asked = list[int]()
    for number in (*range(MAX_ANSWERS + 1), 0, MAX_ANSWERS):
        SearchedCode(f"{LONG}bounded").all(number, lambda _, number=number: frozenset(asked.append(number) or ()))  # type: ignore[misc]
    assert asked == [*range(MAX_ANSWERS + 1), MAX_ANSWERS]


def test_the_same_code_in_another_folder_or_on_another_host() -> None:
    code = "open('toolguard/policy.json', 'w').write('{}')"
    other = Host("/home/v", "/srv/gateway", "/srv/gateway/openclaw.json")
    for _ in range(2):
        assert of_code(code) == "allow"
        assert of_code(code, cwd="/home/u/.openclaw") != "allow"
        assert of_code("open('/srv/gateway/toolguard/key')") == "allow"
        assert of_code("open('/srv/gateway/toolguard/key')", other) != "allow"
        assert of_code("open('/srv/gateway/toolguard/key')") == "allow"
