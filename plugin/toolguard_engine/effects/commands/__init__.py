"""What a whole command line does.

`unwrap` is the entry point: `walk` goes through the tree of a command line. Its classes build on one another, and each walks
what the one above it meets: `program_walk` a program and its wrappers, `code_walk` the code of interpreters, `change_walk`
what programs write to files, `file_walk` the files that they run; `walk_state` is what all of them remember, `written_files`
what the command has written so far. `specials` (with `shell_builtins`, `list_runners`), `guesses`, `code_sources` and
`code_commands` find the programs that other programs run, `interpreters` says what their code does. `run_files` (with
`asked_files`) and `code_files` follow the files that run; `project_programs` and `runners` (with `runner_table`,
`runner_files`, `package_scripts`, `read_files`, `handed_code`) those that a project's programs run, `carried_commands` what
a program that nobody knows is given to run. `data_flows` follows what goes from one program to the next, `made_then_run` and
`unknown_landings` what is first put somewhere and then run. `effects` lists what all of it does.
"""
