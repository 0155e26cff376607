"""Data only: the plugin manifest, interface hints and tool hints. Nothing here decides anything."""
