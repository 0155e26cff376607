"""What names and places mean, whatever command names them.

`command` holds the types of a reading: programs, their words, effects. `places` (with `place_names`, `place_globs`,
`gateway_file_paths`, `started_places`) says what a path is, `protected_paths` what belongs to the guard, `key_owners` which
service a credential belongs to. `program_catalogue` says what kind a program is, `web_targets` what an address is,
`sql_statements` and `graphql_requests` what a statement changes.
"""
