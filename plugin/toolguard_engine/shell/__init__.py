"""Understanding shell commands: `parse` and `unwrap` say what runs, `effects` what that does, `places` to what."""
