"""What code does, read from its text: its acts become the programs and effects that a shell command of the same act has.

`code_deeds`: the acts, for every language. `python_code` reads Python: `python_reader` follows the syntax tree
and `python_calling` the calls in it, `python_values` holds what is known of a value, `python_folding` works out operations
on values. The tables of what libraries do are in `python_files`, `python_programs`, `python_requests` and `python_builtins`;
`python_methods` has the methods of values and joins the tables.

`script_code` reads JavaScript and TypeScript, Perl, Ruby, PHP, awk, Lua, AppleScript and PowerShell with one reader:
`script_tokens` knows how each is written; `script_places`, `script_calling`, `script_statements` and `script_reader` walk
the tokens; `script_run` holds what is known meanwhile. `script_calls` has the acts that languages share, `common_calls` what
names of several of them mean; the module of calls in the folder of each has its own.

Each language that is read has a folder with its facts (`ruby/ruby_language`): its interpreters, how it is read, how its code
runs commands and loads files. Languages of which only commands are searched are in `searched_languages`, and
`language_catalogue` has them all. The reader of Python is outside its folder, since scripts have the same values.
"""
