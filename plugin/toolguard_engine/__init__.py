"""The part of toolguard that decides."""

__version__ = "0.1.0"
