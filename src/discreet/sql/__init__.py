"""Parse analysts' SQL into a frozen tree of our own. Nothing here sees data."""

import logging

logging.getLogger("sqlglot").addHandler(logging.NullHandler())  # its remarks on a question are not for the console
