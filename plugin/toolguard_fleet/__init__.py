"""The fleet: many gateways behind one PostgreSQL database. Installed with the `fleet` extra.

Nothing outside of this package imports psycopg, and nothing imports this package unless `fleet.*` is configured or a
`toolguard fleet` command runs.
"""
