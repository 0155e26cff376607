"""The dashboard: one page and its API for all gateways of the machine, in a process of its own."""
