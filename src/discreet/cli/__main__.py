"""`python -m discreet.cli`."""

import sys

from discreet.cli.command import main

if __name__ == "__main__":
    sys.exit(main())
