"""Stores that keep one file each: locked, read again, changed, written beside and replaced."""
