"""How texts are written: command lines, and the files that say what other programs run. No file is read here.

`parse` (with `part_reader`, `word_parts`, `syntax_tree`) builds the tree of a command line, `expand` works out its words,
`outputs` what a command prints. `build_scripts` (CMake, Ant, Ninja), `configured_values` (YAML, JSON, TOML, INI),
`tool_scripts` (editors, debuggers, SSH, Git), `playbooks`, `container_files` and `project_files` give the shell commands in
a file with their positions; `quoted_commands` searches a language that is not parsed; `language_table` has all of them by
name. Everything is bounded.
"""
