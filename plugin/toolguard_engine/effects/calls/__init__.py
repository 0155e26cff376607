"""A tool call, read once: `reading` is what every layer asks.

`call_texts`, `call_paths` and `call_place` find the commands, paths and folder of a call, `call_digest` tells calls apart.
`made_files`, `arriving_files` and `arrivals` say which files a call makes, `named_places` and `path_owners` what its paths
are, `living_readings` what runs again later by itself. `config_changes` says what a call makes of the gateway's config, with
`known_config` for the text and `commands_on_config` for commands. `outcomes` and `normalize_output` compare results.
`read_only` (with `read_only_git` and `plain`, a strict reader of simple commands) decides what changes nothing.
"""
