"""Calls that follow instructions from external text, and the text that each run has received."""
