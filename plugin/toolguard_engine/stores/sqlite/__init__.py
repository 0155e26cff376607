"""Stores that keep a SQLite database."""
