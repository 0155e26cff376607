"""The API: one module for each subject, one function for each path (`routes.py` lists them)."""
