"""`${VAR}` in the config, substituted like the gateway does: uppercase names only; `$${VAR}` is an escaped `${VAR}`.

Variables that are unset or empty are left as written. Substituted values are never written into a config.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

NAME = re.compile(r"(\$?)\$\{([A-Z_][A-Z0-9_]*)\}")


def filled(value: Any, env: Mapping[str, str] = os.environ) -> Any:
    """A copy of `value` with the variables in all its strings substituted; keys are not changed."""
    if isinstance(value, str):
        return NAME.sub(lambda match: match[0][1:] if match[1] else env.get(match[2]) or match[0], value)
    if isinstance(value, list):
        return [filled(item, env) for item in value]
    if isinstance(value, dict):
        return {key: filled(item, env) for key, item in value.items()}
    return value


def unset(value: Any, env: Mapping[str, str] = os.environ) -> Iterator[str]:
    """The names of the variables in `value` that are not set here; they may be set for the gateway."""
    if isinstance(value, str):
        yield from (match[2] for match in NAME.finditer(value) if not match[1] and not env.get(match[2]))
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from unset(item, env)


def whole_numbers(value: Any) -> Any:
    """A copy in which every whole number is an int, as after a round trip through the gateway."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, list):
        return [whole_numbers(item) for item in value]
    return {key: whole_numbers(item) for key, item in value.items()} if isinstance(value, dict) else value
