"""Installs the plugin in a gateway and removes it: the folder, the config entry, and the record of both."""
