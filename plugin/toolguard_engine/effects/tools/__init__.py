"""The effects of tools that are not shells.

`tools` lists what a call of such a tool does, `tool_parameters` what its parameters are.
"""
