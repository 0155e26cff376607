"""What commands, the dashboard, chat and doctor do alike: each operation in one place."""
