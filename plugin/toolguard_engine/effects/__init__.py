"""What a call would do. Parses shell commands, programs, tool parameters, typed input and paths into effects. No I/O.

`shell`: the grammar of command lines, and the place of a path. `programs`: the effects of single programs. `tools`: those of
tools that are not shells. `control_plane`: changes to the gateway itself. `terminal_input`: input typed into running
programs. The modules beside them compare calls and outcomes, decide what is read-only, and find the paths and texts in a
call.
"""
