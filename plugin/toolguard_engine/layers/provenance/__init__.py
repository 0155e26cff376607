"""Calls that follow instructions from outside text, and the text that each run has received."""
