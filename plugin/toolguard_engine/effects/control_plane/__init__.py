"""Operations on the gateway itself: through its command line, its methods, its own tools and its settings.

`verb_catalogue` holds the data (`toolguard_manifests/controlplane.toml` explains the effects), `gateway_settings` rates a
change of a setting, `command_line` and `gateway_tools` parse calls. Pure. The verdict is left to others:
`layers.self_protection` blocks what disables the guard, and rules for effects of the kind `gateway` hold the rest.
"""
