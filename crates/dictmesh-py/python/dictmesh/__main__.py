"""``python -m dictmesh`` is the program ``dictmesh``."""

import sys

from dictmesh._program import main

if __name__ == "__main__":
    sys.exit(main())
