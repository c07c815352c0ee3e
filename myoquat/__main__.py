"""`python -m myoquat`: the command line, where the command `myoquat` is not on the path."""

import sys

from myoquat.apps.command import main

if __name__ == "__main__":
    sys.exit(main())
