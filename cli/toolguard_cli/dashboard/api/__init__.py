"""The API: one module per subject, one function per path. `routes.py` lists them."""
