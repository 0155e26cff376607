"""`${VAR}` in the config, as the gateway fills it in: capital names only, and `$${VAR}` stands for itself.

What is not set, or empty, stays as it is written. Nothing here is ever written into a config.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

NAME = re.compile(r"(\$?)\$\{([A-Z_][A-Z0-9_]*)\}")


def filled(value: Any, env: Mapping[str, str] = os.environ) -> Any:
    """A copy of `value` with the variables of all its strings filled in; keys stay as they are."""
    if isinstance(value, str):
        return NAME.sub(lambda found: found[0][1:] if found[1] else env.get(found[2]) or found[0], value)
    if isinstance(value, list):
        return [filled(item, env) for item in value]
    if isinstance(value, dict):
        return {key: filled(item, env) for key, item in value.items()}
    return value


def unset(value: Any, env: Mapping[str, str] = os.environ) -> Iterator[str]:
    """The names of the variables in `value` that are not set here; the gateway may know them all the same."""
    if isinstance(value, str):
        yield from (found[2] for found in NAME.finditer(value) if not found[1] and not env.get(found[2]))
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from unset(item, env)


def whole_numbers(value: Any) -> Any:
    """A copy in which every whole number is an integer, as it is once the gateway has passed it on."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, list):
        return [whole_numbers(item) for item in value]
    return {key: whole_numbers(item) for key, item in value.items()} if isinstance(value, dict) else value
