"""The fleet for persons: the dashboard of a fleet, one process over its database. Needs the extra `[fleet]`."""
