"""What a call would do. Parses shell commands, programs, tool parameters, typed input and paths into effects. No I/O.

The folders are floors; each imports only from those below it: `calls` (a call read once), `terminal_input` (what is typed
into a running program), `commands` (a whole command line), `tools` (tools that are not shells), `languages` (what code
does), `programs` (the effects of single programs), `landings` (what lands where), `control_plane` (changes to the gateway
itself), `syntax` (how texts are written), `facts` (what names and places mean), `manuals` (what a program's words mean).
"""
