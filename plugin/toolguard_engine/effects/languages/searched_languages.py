"""Languages that are not read: the commands in their code are searched."""

from __future__ import annotations

from toolguard_engine.effects.languages.language import Language

LANGUAGES = (
    Language(
        "r",
        "Rscript R",
        calls=r"(?:\bsystem2?|\bshell)",
        tool_words="r",
        command="Rscript -e",
        loads="source",
        nearby="source",
    ),
    Language(
        "julia",
        "julia",
        tool_words="julia",
        command="julia -e",
        calls=r"(?:\brun|\bread|\bpipeline)",
        quotes=r"`([^`]{1,400}+)`",
    ),
    Language(
        "elixir",
        "elixir",
        tool_words="elixir",
        command="elixir -e",
        calls=r"(?:System\.(?:cmd|shell)|:os\.cmd)",
    ),
    Language(
        "groovy",
        "groovy",
        tool_words="groovy",
        command="groovy -e",
        calls=r"(?:Runtime\.getRuntime\(\)\.exec)",
        quotes=r"""["']([^"'\n]{1,400}+)["']\.execute\(""",
    ),
    Language(
        "scala",
        "scala",
        tool_words="scala",
        command="scala -e",
        calls=r"(?:Process|Runtime\.getRuntime\(\)?\.exec)",
        quotes=r"""["']([^"'\n]{1,400}+)["']\s{0,4}+\.?!{1,2}""",
    ),
    Language(
        "tcl",
        "tclsh expect",
        calls=r"(?:\bexec|\bspawn|\bsystem)",
        quotes=r"\b(?:exec|spawn)\s{1,4}+(?>(?:-[a-z]{1,20}\s{1,4}+){0,4})([^\s\"'{}\[\];$-][^\n;\[\]{}\"]{0,400}+)",
        loads="source",
    ),
    Language(
        "swift",
        "swift",
        calls=(
            r"(?:\bsystem|\bshell|\bpopen|exec\.Command|Command::new|\bexec[lv]p?e?|getRuntime\(\)\.exec"
            r"|ProcessBuilder|Process\.(?:run|start))"
        ),
    ),
    Language(
        "haskell",
        "ghc",
        tool_words="haskell",
        command="ghc -e",
        calls=r"(?:callCommand|callProcess|system|readProcess)",
    ),
    Language(
        "lisp",
        "racket guile emacs",
        tool_words="lisp scheme racket guile elisp",
        command="racket -e",
        calls=r"(?:\(system\*?|shell-command|call-process|start-process|\((?:ansi-)?term)",
    ),
    Language(
        "octave",
        "octave octave-cli slsh",
        tool_words="octave matlab",
        command="octave --eval",
        calls=r"(?:\bsystem|\bshell_cmd|\bunix)",
    ),
)
