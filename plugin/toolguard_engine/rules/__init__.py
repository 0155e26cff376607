"""Rules: their form, the packs, the terms they match, and how severe a match is. Pure."""
