"""The dashboard: one page and its API for all gateways of the machine, in a process of its own.

A new tab needs `static/tabs/NAME.js` and a line in `static/main.js`; for its own data also `api/NAME.py` and a line in
`routes.py`.
"""
