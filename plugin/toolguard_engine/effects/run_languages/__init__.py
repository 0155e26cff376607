"""What files that other programs run say, as shell commands with their positions in the file.

`configured_values`: the values of YAML, JSON, TOML and INI files with their keys. `build_scripts`: CMake, Ant, Ninja.
`tool_scripts`: the scripts of editors and debuggers, SSH and Git configurations. `quoted_commands`: what is searched in a
language that is not parsed. `language_table`: all of them by their names. Texts only: nothing is read here, and everything
is bounded.
"""
