"""No edited text leaves this package before it was read again, and held the intended value."""

from __future__ import annotations

from toolguard_cli.hostconfig.json5_edit.json_values import loads, same
from toolguard_cli.hostconfig.json5_edit.syntax_errors import EditError, Json5Error
from toolguard_cli.hostconfig.json5_edit.text_spans import JsonValue

JUDGED_BY_JSON5 = 20_000  # characters; json5 takes some 0.2 ms a line, too long for longer texts


def checked(before: str, after: str, intended: JsonValue) -> str:
    """`after`, once it was read again: by this package, and by json5 as long as that is quick. Raises EditError."""
    try:
        value = loads(after)
    except Json5Error as error:
        raise EditError(f"the edited text is not JSON5: {error}") from error
    if not same(value, intended):
        raise EditError("the edited text does not hold the intended value")
    if len(after) <= JUDGED_BY_JSON5 and not _judged_right(before, after, intended):
        raise EditError("the edited text does not hold the intended value, as json5 reads it")
    return after


def _judged_right(before: str, after: str, intended: JsonValue) -> bool:
    import json5  # noqa: PLC0415 - 20 ms that only an edit should pay

    try:
        return same(json5.loads(after, allow_duplicate_keys=False), intended)
    except RecursionError:
        return True  # json5 gives up below 100 levels, and is no judge of deeper texts
    except ValueError:
        return not _readable(before)


def _readable(text: str) -> bool:
    """Whether json5 reads `text` at all; integers of more than 4300 digits are beyond it."""
    import json5  # noqa: PLC0415 - as above

    try:
        json5.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
