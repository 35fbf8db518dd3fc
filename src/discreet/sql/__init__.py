"""Analysts' SQL, read into our own frozen tree. Sees no data."""

import logging

logging.getLogger("sqlglot").addHandler(logging.NullHandler())  # its remarks on a question are not for the console
