"""What programs' options and words mean, as data, and the parser that reads a command line by it.

The data are the files `toolguard_manifests/manuals/*.toml`, one entry for each program. `manual_form` states their format,
`manual_catalogue` loads them, `option_parser` reads one command line. Everybody else asks `ProgramRun.readings` or
`ProgramRun.words`.
"""
