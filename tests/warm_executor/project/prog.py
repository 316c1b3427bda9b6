"""Ways to end, for `python -m prog WAY` to be compared with a warm process."""

import atexit
import os
import signal
import sys
import threading
import time

from numpy import random


def late() -> None:
    time.sleep(0.2)
    print("a thread has ended")


def main(way: str) -> object:
    print("out", sys.argv[1:], __name__, os.path.basename(sys.argv[0]), __spec__.name)
    print("err", file=sys.stderr)
    if way == "status":
        return 3
    if way == "text":
        return "this is why"
    if way == "raise":
        raise ValueError("no")
    if way == "exit_function":
        atexit.register(print, "at the end")
    if way == "thread":
        threading.Thread(target=late).start()
    if way == "kill":
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    if way == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
    if way == "random":
        print(random.rand())
    if way == "memory":
        print(len(bytearray(b"x" * (64 << 20))))
    if way == "busy":
        while time.process_time() < float(sys.argv[2]):
            pass
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
