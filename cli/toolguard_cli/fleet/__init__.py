"""The fleet's database for a person's commands, and how a gateway joins and leaves."""
