"""What the user sees in a terminal: results, tables, progress, questions."""
