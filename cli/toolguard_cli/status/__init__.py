"""What `toolguard status` shows: usage, budgets, stores."""
