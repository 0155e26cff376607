"""What a call does to the gateway itself: its command line, its methods, its own tools and its settings.

`catalogue` is the data (`toolguard_manifests/controlplane.toml` explains the effects), `settings` knows what a change of a
setting means, `commandline` and `tools` take calls apart. Pure; the verdict is for others: `layers.protection` blocks what
takes the guard away, rules about effects of the kind `gateway` hold the rest.
"""
