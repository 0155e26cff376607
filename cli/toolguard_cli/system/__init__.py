"""Processes, ports, paths and the errors that the command line reports."""
