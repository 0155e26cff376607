"""What the agents did and cost: one SQLite file for all gateways of the machine. Nothing here is imported at start-up."""
