"""The effects of tools that are not shells.

`tools` lists what a call of such a tool does; `message_tools` and `gateway_tool_acts` have those of messages and of the
gateway, `undescribed_tools` goes by the name of a tool of which nothing else is known. `tool_values` reads the values of
parameters, `tool_parameters` says which parameters a tool has.
"""
