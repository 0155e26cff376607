"""AppleScript."""
