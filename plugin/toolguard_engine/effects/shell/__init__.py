"""Analysis of shell commands.

`parse` (with `word_parts`, `syntax_tree`) builds the tree of a command line; `plain` is a strict reader for simple ones.
`walk` (with `expand`, `wrappers`, `specials`, `guesses`, `outputs`) finds the programs that run, and `unwrap` is its entry
point. `effects` lists what they do. `places` (with `place_names`, `place_globs`, `gateway_file_paths`) says what a path is.
`command` holds the types of the results.
"""
