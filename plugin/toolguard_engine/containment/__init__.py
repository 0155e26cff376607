"""What a contained command may not see or change, as rules for a mount namespace. Pure; `server/rooms` applies them."""
