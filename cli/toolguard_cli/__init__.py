"""The command line of toolguard."""
