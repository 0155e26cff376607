"""Judges calls without a gateway, and reads the user's own rules."""
