"""The plugin's settings: schema, conflicts, generated manifest, and how strict they are."""
