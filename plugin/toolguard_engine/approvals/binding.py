"""What an approval is bound to: exactly one call of one agent in one session, or of one automation, of one gateway, and what
that call means.

Format 2 added the gateway's id, format 3 adds the call's meaning (see `call_meaning`). Entries of earlier formats answer for
their calls until they expire. No earlier version computes a binding of format 3, so none uses such an approval.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import msgspec
import rfc8785

from toolguard_engine.approvals import canonical_json
from toolguard_engine.approvals.call_meaning import Meaning
from toolguard_engine.host import session_names
from toolguard_engine.model.call import Call

FORMAT = 2
MEANT = 3


def bind(call: Call, files: Iterable[str] = (), gateway: str = "") -> str:
    """SHA-256, in hex, of the canonical JSON (RFC 8785) of tool, params, agent, session, working directory, `gateway`, and
    of the digests of the `files` that the call runs, so that another content needs another approval. Without `gateway` it is
    of format 1.

    Never bound to the run or to who asked: a woken agent has another run and another requester. Raises `ValueError` for
    params that have no canonical form (nested too deeply, a number that JavaScript cannot hold, half a surrogate pair).
    """
    bound: dict[str, Any] = {
        "tool": call.tool,
        "params": call.params,
        "agent": call.agent,
        "session": session_names.lasting(call.session),
        "cwd": call.cwd,
    }
    if gateway:
        bound |= {"v": FORMAT, "gateway": gateway}
    if digests := sorted(files):
        bound["files"] = digests
    try:
        return sha256(canonical_json.dumps_exactly(bound)).hexdigest()
    except (rfc8785.CanonicalizationError, RecursionError, OverflowError, UnicodeEncodeError) as error:
        raise ValueError(f"params without a canonical form: {type(error).__name__}") from error


def bind_meaning(meaning: Meaning) -> str:
    """The binding of format 3: of the words (`Meaning.call`, which is a binding of format 2) and of what they mean."""
    return sha256(canonical_json.dumps({"v": MEANT, "meaning": msgspec.to_builtins(meaning)})).hexdigest()
