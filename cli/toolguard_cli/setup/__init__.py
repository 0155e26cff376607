"""Putting the plugin into a gateway and taking it out again: the folder, the config entry, and the record of both."""
