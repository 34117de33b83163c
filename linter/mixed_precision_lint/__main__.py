"""`python -m mixed_precision_lint`, the command."""

import sys

from mixed_precision_lint.command import main

if __name__ == "__main__":
    sys.exit(main())
