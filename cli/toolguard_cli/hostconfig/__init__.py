"""The gateway's config: read with its includes, edited without losing comments."""
