"""Drift: what an agent does turns into something that a person should look at."""
