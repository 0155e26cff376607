"""What calls replaced or removed, kept so that a person can get it back (`toolguard undo`)."""
