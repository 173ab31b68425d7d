"""A person at a terminal who calls the program: types, reads what is on the screen, resizes, closes the window."""
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

from service import PATIENCE_S, STRATA


class Terminal:
    def __init__(self, service, *words, rows=40, columns=123, env=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execve(STRATA, [STRATA, *words], {**os.environ, "STRATA_SOCKET": service.socket, "PS1": "> ", "TERM": "xterm", "NO_COLOR": "1", **(env or {})})
        self.seen = ""

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def take(self, seconds):
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                self.seen += os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                return False
        return True

    def read(self, words):
        """Until the words have been seen; all that was before them goes."""
        deadline = time.time() + PATIENCE_S
        while words not in self.seen:
            assert time.time() < deadline, f"«{words}» is not in «{self.seen}»"
            if not self.take(0.1):
                raise AssertionError(f"it ended without «{words}»: «{self.seen}»")
        before, _, self.seen = self.seen.partition(words)
        return before

    def end(self):
        """Its exit status; what it had to say is in `seen`."""
        deadline = time.time() + PATIENCE_S
        while time.time() < deadline:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                while self.take(0) and select.select([self.fd], [], [], 0)[0]:
                    pass
                return os.waitstatus_to_exitcode(status)
            self.take(0.05)
        raise AssertionError(f"it does not end: «{self.seen}»")

    def close(self, how=None):
        """The window is closed; or the program is killed in another way."""
        if how:
            os.kill(self.pid, how)
        os.close(self.fd)
        os.waitpid(self.pid, 0)
