"""Calls that wait for a person: the ledger, what a yes is bound to, grants, and what an agent has spent. Pure."""
