"""Input typed into running programs.

`key_presses` turns keys into lines, `input_languages` lines into the commands they amount to, and `running_programs` tracks
the state of each program.
"""
