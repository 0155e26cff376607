"""Sends what a gateway wrote on its machine to the fleet: its audit log, its metrics, its agents' standings.

Only what the audit log and the metrics file hold, which was redacted before it was written, leaves the machine.
"""
