"""What the command `dpcore` does besides starting the dashboard: one module each, with a `main` of its arguments.

Exit codes: 0 done; 1 refused or failed, with cause and remedy on stderr; 2 not understood. Progress goes to stderr.
"""
