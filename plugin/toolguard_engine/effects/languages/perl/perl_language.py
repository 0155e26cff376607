"""The facts of Perl."""

from __future__ import annotations

from toolguard_engine.effects.languages.language import Language, ReadBy
from toolguard_engine.effects.languages.perl.perl_calls import PERL_LIBRARY
from toolguard_engine.effects.languages.perl.perl_syntax import PERL, with_names_for_lines

LANGUAGE = Language(
    "perl",
    "perl",
    reading=ReadBy(PERL, PERL_LIBRARY, prepared=with_names_for_lines),
    calls=r"(?:\bsystem|\bexec|\bpopen|open[23])",
    quotes=(
        r"`([^`]{1,400}+)`|\bqx\s{0,2}+(?:\{([^}]{1,400}+)\}|\(([^)]{1,400}+)\)|/([^/]{1,400}+)/|!([^!]{1,400}+)!"
        r"|\[([^\]]{1,400}+)\])"
    ),
    tool_words="perl",
    command="perl -e",
    runs="perl",
    files=".pl .pm",
    loads="require do use",
    module_role="loads",
    folders=("PERL5LIB", "PERLLIB"),
)
