"""A call that the guard has not read is approved in a terminal only after all of it was shown."""

from __future__ import annotations

import pytest

from toolguard_cli.approvals import held_calls, watch_screen
from toolguard_cli.system.errors import UserError
from toolguard_cli.terminal import confirm
from toolguard_engine.approvals import held_text, held_view
from unread_calls import UNREAD_CALLS, held, lines_of


@pytest.mark.parametrize("name", UNREAD_CALLS)
def test_watch_takes_no_yes_before_all_lines_were_on_the_screen(name: str) -> None:
    tool, arguments = UNREAD_CALLS[name]
    text = held_text.squeezed([watch_screen._asked_text(held(arguments, tool), held_view.view)])
    assert [line for line in lines_of(arguments) if line not in text] == []


@pytest.mark.parametrize("name", UNREAD_CALLS)
def test_whoever_cannot_be_asked_is_shown_the_whole_call(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The message says to review the call above and to add `--yes`."""
    tool, arguments = UNREAD_CALLS[name]
    call = held_calls.laid_out(["00000001", "whose"], held_view.view(held(arguments, tool)))
    with pytest.raises(UserError, match="no terminal"):
        confirm.confirm(call.lines, "Approve?", as_json=False, whole=call.whole, needed=call.needed)
    text = held_text.squeezed([capsys.readouterr().err])
    assert [line for line in lines_of(arguments) if line not in text] == []
