"""What a whole command line does.

`unwrap` is the entry point: `walk` goes through the tree of a command line, and `specials`, `guesses` and `interpreters`
find the programs that other programs run. `run_files` and `code_files` follow the files that run; `project_programs` and
`runners` (with `runner_table`, `runner_files`, `package_scripts`, `read_files`, `handed_code`) those that a project's
programs run, `carried_commands` what a program that nobody knows is given to run.
`data_flows` follows what goes from one program to the next, `made_then_run` and `unknown_landings` what is first put
somewhere and then run. `effects` lists what all of it does.
"""
