"""``python -m partialfair``."""

from partialfair.commands.cli import main

if __name__ == "__main__":
    main()
