"""A target with several topics of ntfy: each gets a message once, and no error shows a token."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from notify_stage import Receiver, serving

from toolguard_cli.notify import ntfy_target, run_notifier
from toolguard_cli.notify.delivery import Delivery, OutgoingMessage, Sender
from toolguard_engine.config.settings import NotifyTarget

SECRET = "tk_secret99"
FIRST, SECOND = (OutgoingMessage(key, "title", "text", {}) for key in ("first", "second"))


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with serving(Receiver()) as receiver:
        yield receiver


def to(hook: Receiver, topics: str, **answers: int) -> Sender:
    """A target of these topics. `answers`: the status that a topic answers for now, if it is not 200."""
    hook.answer = lambda: answers.get(hook.bodies[-1]["topic"], 200)
    return run_notifier.sender(NotifyTarget(url=f"ntfy://127.0.0.1:{hook.port}/{topics}"), None)


def posted(hook: Receiver) -> list[str]:
    return [body["topic"] for body in hook.bodies]


def test_a_topic_that_took_a_message_does_not_get_it_again(hook: Receiver) -> None:
    sender = to(hook, "one/two/three", two=429)
    assert sender.send(FIRST) == Delivery("the server answered 429")
    assert sender.send(FIRST).error
    hook.answer = lambda: 200
    assert sender.send(FIRST) == Delivery()
    assert posted(hook) == ["one", "two", "three", "two", "two"]
    sender.send(SECOND)
    assert posted(hook)[5:] == ["one", "two", "three"]


def test_a_topic_that_is_forbidden_does_not_keep_the_others_from_another_attempt(hook: Receiver) -> None:
    sender = to(hook, "one/two", one=403, two=503)
    assert sender.send(FIRST) == Delivery("the server answered 503")
    hook.answer = lambda: 200
    assert sender.send(FIRST) == Delivery("the server answered 403", again=False)
    assert posted(hook) == ["one", "two", "two"]


def test_messages_that_nobody_sends_again_are_forgotten(hook: Receiver) -> None:
    sender = to(hook, "one/two", two=429)
    for number in range(100):
        sender.send(OutgoingMessage(f"{number}", "title", "text", {}))
    sender.send(OutgoingMessage("99", "title", "text", {}))
    sender.send(OutgoingMessage("0", "title", "text", {}))
    assert posted(hook)[200:] == ["two", "one", "two"]


@pytest.mark.parametrize("after", ["%0aX", "%0d%0aX%3a%20y", "%00", "%7f", "%e2%80%a6"])
def test_no_error_shows_a_token(hook: Receiver, after: str) -> None:
    address = f"ntfy://{SECRET}{after}@127.0.0.1:{hook.port}/a"
    done = run_notifier.sender(NotifyTarget(url=address), None).send(FIRST)
    assert done == Delivery(ntfy_target.BAD_LOGIN, again=False)
    assert hook.received == []


def test_a_short_topic_leaves_an_error_readable() -> None:
    target = NotifyTarget(url="ntfy://127.0.0.1:1/e")
    assert run_notifier.sender(target, None).send(FIRST).error == "connection refused"
