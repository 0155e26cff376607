"""What is typed into running programs, put together: keys to lines, lines to the commands that they come to."""
