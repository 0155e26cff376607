"""Held calls and grants as the user sees them."""
