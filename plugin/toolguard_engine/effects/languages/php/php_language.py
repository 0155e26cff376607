"""The facts of PHP."""

from __future__ import annotations

from toolguard_engine.effects.languages.language import Language, ReadBy
from toolguard_engine.effects.languages.php.php_calls import PHP_LIBRARY
from toolguard_engine.effects.languages.php.php_syntax import PHP

LANGUAGE = Language(
    "php",
    "php psysh",
    reading=ReadBy(PHP, PHP_LIBRARY),
    calls=r"(?:\bsystem|\bexec|shell_exec|passthru|popen|proc_open|pcntl_exec)",
    quotes=r"`([^`]{1,400}+)`",
    tool_words="php",
    command="php -r",
    runs="php",
    files=".php",
    loads="include include_once require require_once",
    nearby="include include_once require require_once",
)
