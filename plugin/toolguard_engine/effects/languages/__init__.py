"""What code does, read from its text: its acts become the programs and effects that a shell command of the same act has.

Each language that is read has a folder with all that is known of it, such as `ruby`: `ruby_language` has its facts (its
interpreters and files, how it is read, how its code runs commands and loads files), `ruby_syntax` how it is written, and
`ruby_calls` what its names do. Languages of which only commands are searched are in `searched_languages`, and
`language_catalogue` has them all.

Shared by all: `code_deeds` has the acts, `code_values` what is known of a value, `folded_values` operations on values, and
`outside_values` what comes from outside the code. `script_code` reads every language but Python with one reader:
`script_tokens` finds the tokens; `script_places`, `script_calling`, `script_statements` and `script_reader` walk them;
`script_run` holds what is known meanwhile. `script_calls` has the acts that languages share, `common_calls` what names of
several of them mean. `python_code` reads Python, by its syntax tree.
"""
