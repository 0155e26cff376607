"""Tools of plugins and servers are trusted on first use: the first call of one that acts is held, once for each agent.

A yes to any call of the tool counts from then on (`server.tool_trust` keeps it). What a call of a trusted tool does is
judged as before. A refused tool is blocked, one that only reads as well.
"""

from __future__ import annotations

from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model.call import Verdict
from toolguard_engine.model.tool_use import ToolUse
from toolguard_engine.rules import judgement
from toolguard_engine.rules.judgement import Judgement

CODE = "tool.first-use"
REFUSED = "tool.refused"
TRUSTED = "tool.trusted"
"""Of a call that the store was asked about because this engine did not know yet that its tool is trusted."""

_REFUSED = "{what} is refused here; toolguard tools lists who may use which tools."
_NEW = "This agent has not used {what} before; a yes lets it from now on.{about}"
_UNREAD = "It is not known who may use {what}: the answers about tools cannot be read. Run `toolguard tools` to see why."
_CHANGED = "{what} describes itself differently than when it was allowed; a yes allows it as it is now.{about}"


def judge(given: LayerInput, earlier: Judgement) -> Judgement | None:
    """A block of what is refused, and a hold in place of an allow."""
    use = given.tools.use_of(given.call) if given.tools and not given.is_typed else None
    if given.tools is None or use is None or earlier.decision == "block":
        return None
    standing = given.tools.standing(use)
    if standing == "refused":
        return judgement.changed(earlier, Verdict("block", REFUSED, reason=refusal(use)))
    if standing == "trusted" or use.reads or earlier.decision != "allow":
        return None
    if given.tools.unread:
        return judgement.changed(earlier, Verdict("hold", CODE, reason=_sentence(_UNREAD.format(what=_what(use)))))
    if given.config.tool_trust.first_use == "allow":
        return None
    return judgement.changed(earlier, Verdict("hold", CODE, reason=reason(use, is_changed=standing == "changed")))


def reason(use: ToolUse, *, is_changed: bool) -> str:
    about = f' It says of itself: "{use.about}"' if use.about else ""
    return _sentence((_CHANGED if is_changed else _NEW).format(what=_what(use), about=about))


def refusal(use: ToolUse) -> str:
    return _sentence(_REFUSED.format(what=_what(use)))


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _what(use: ToolUse) -> str:
    return f"the tool {use.tool}" + (f" of {use.server}" if use.server and not use.tool.startswith(use.server) else "")
