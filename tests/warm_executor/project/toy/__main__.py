import sys

from toy import library

sys.exit(library.main(sys.argv[1:]))
