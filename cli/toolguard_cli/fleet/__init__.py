"""The fleet for people: its database for their commands, how a gateway joins and leaves, and the fleet dashboard."""
