"""Python, which is read by its syntax tree.

`python_reader` follows the tree, `python_calling` the calls in it. The tables of what libraries do are in `python_files`,
`python_programs`, `python_requests`, `python_clients` and `python_builtins`; `python_methods` has the methods of values and
joins the tables.
"""
