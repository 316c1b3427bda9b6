"""``python -m partialfair``."""

from partialfair.cli import main

if __name__ == "__main__":
    main()
