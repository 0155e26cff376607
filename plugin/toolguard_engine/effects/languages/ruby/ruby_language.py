"""The facts of Ruby."""

from __future__ import annotations

from toolguard_engine.effects.languages.language import Language, ReadBy
from toolguard_engine.effects.languages.ruby.ruby_calls import RUBY_LIBRARY
from toolguard_engine.effects.languages.ruby.ruby_syntax import RUBY

LANGUAGE = Language(
    "ruby",
    "ruby jruby rails irb rake",
    reading=ReadBy(RUBY, RUBY_LIBRARY),
    calls=r"(?:\bsystem|\bexec|\bspawn|popen[23]?e?|capture[23]e?|Open3\.\w{1,12}|pipeline)",
    quotes=r"`([^`]{1,400}+)`|%x\s{0,2}+(?:\{([^}]{1,400}+)\}|\(([^)]{1,400}+)\)|\[([^\]]{1,400}+)\]|\|([^|]{1,400}+)\|)",
    tool_words="ruby",
    command="ruby -e",
    runs="ruby",
    files=".rb",
    loads="require require_relative load autoload",
    nearby="require_relative load",
    endings=(".rb",),
    module_role="loads",
    folders=("RUBYLIB",),
)
