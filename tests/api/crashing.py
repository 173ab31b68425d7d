"""A service with crash_preload.so before it."""

import mmap
import os
import struct
import time

from service import Service

PRELOAD = os.path.join(os.path.abspath(os.environ.get("STRATA_BUILD", "build")), "tests", "crash_preload.so")


class Crashing(Service):
    """A service that can be told at which write to die, which read fails, and what time it is."""

    def __init__(self, *args, **kw):
        self.page = None
        super().__init__(*args, **kw)

    def start(self, env=None):
        path = os.path.join(self.dir, "crash")
        if not self.page:
            with open(path, "wb") as file:
                file.write(bytes(mmap.PAGESIZE))
            with open(path, "r+b") as file:
                self.page = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        asan = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        super().start({"LD_PRELOAD": PRELOAD, "STRATA_CRASH_FILE": path, "ASAN_OPTIONS": asan})

    def arm(self, number):
        self.page[:16] = struct.pack("qq", number, 0)

    def set_clock(self, seconds):
        """The time of day is so much later, from now on."""
        self.page[16:24] = struct.pack("q", seconds)

    def fail_read(self, number):
        """The read of this number from now on fails, once; 0: none."""
        self.page[24:40] = struct.pack("qq", number, 0)

    def reads(self):
        return struct.unpack("q", self.page[32:40])[0]

    def calls(self):
        return struct.unpack("q", self.page[8:16])[0]

    def dead(self):
        return self.process.poll() is not None

    def settle(self):
        """Until it has written nothing for a moment, or is dead."""
        before = -1
        while not self.dead() and before != self.calls():
            before = self.calls()
            time.sleep(0.05)
