"""Texts for the model and for people, and their redaction."""
