"""`toolguard config`: the gateway's config and our settings in it, read, checked and changed without losing a comment."""
