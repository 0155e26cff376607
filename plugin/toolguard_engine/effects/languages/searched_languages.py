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
        calls=r"(?:\brun|\bread|\bpipeline)",
        quotes=r"`([^`]{1,400}+)`",
    ),
    Language(
        "elixir",
        "elixir",
        calls=r"(?:System\.(?:cmd|shell)|:os\.cmd)",
    ),
    Language(
        "groovy",
        "groovy",
        calls=r"(?:Runtime\.getRuntime\(\)\.exec)",
        quotes=r"""["']([^"'\n]{1,400}+)["']\.execute\(""",
    ),
    Language(
        "scala",
        "scala",
        calls=r"(?:Process|Runtime\.getRuntime\(\)?\.exec)",
        quotes=r"""["']([^"'\n]{1,400}+)["']\s{0,4}+\.?!{1,2}""",
    ),
    Language(
        "tcl",
        "tclsh expect",
        calls=r"(?:\bexec|\bspawn|\bsystem)",
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
        calls=r"(?:callCommand|callProcess|system|readProcess)",
    ),
    Language(
        "lisp",
        "racket guile emacs",
        calls=r"(?:\(system\*?|shell-command|call-process|start-process|\((?:ansi-)?term)",
    ),
    Language(
        "octave",
        "octave octave-cli slsh",
        calls=r"(?:\bsystem|\bshell_cmd|\bunix)",
    ),
)
