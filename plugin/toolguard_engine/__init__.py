"""The part of toolguard that decides."""

__version__ = "0.1.0"

from toolguard_engine import packed_code

packed_code.load()
