"""Pages whose commands are run: blocks of ```console have lines that begin with '$ ' and what they print; a block whose first word is `file=NAME` is that
file; `skip=WHY` is not run. One within a comment (`<!--`) is run too: what a page needs and a
reader does not. All blocks of a page share one shell, one after the other, in an empty home directory.

What a command prints is compared line by line: each line that is shown must come, in that order, with any numbers and any width; '…' in it stands for
anything, and a line of its own for any number of lines. Lines that are not shown may come too."""
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api"))
from service import kill_all  # noqa: E402

FENCE = re.compile(r"^```(\S*)[ ]?(.*?)\n(.*?)^```$", re.M | re.S)
BARE = re.compile(r"^ *(\$ \S|(strata|curl|make|python3|cc|systemctl|sbatch|squeue) [^|]*$)")
END = "strata-docs-end"
PATIENCE_S = 120


class Command:
    def __init__(self, text):
        self.text, self.shown, self.printed, self.status = text, [], [], None


def read(text):
    """What a page does, in its order: ("file", name, content), ("run", Command), ("skip", why); and where each block of commands is."""
    for match in FENCE.finditer(text):
        language, about, content = match[1], match[2], match[3]
        options = dict(word.partition("=")[::2] for word in about.split())
        if "skip" in options:
            yield "skip", options["skip"], match
        elif "file" in options:
            yield "file", (options["file"], content), match
        elif language == "console":
            commands = []
            for line in content.splitlines():
                if line.startswith("$ "):
                    commands.append(Command(line[2:]))
                elif commands and not commands[-1].shown and (commands[-1].text.endswith("\\") or line.startswith("> ")):
                    commands[-1].text += "\n" + line.removeprefix("> ")
                elif commands:
                    commands[-1].shown.append(line)
            yield "run", commands, match


def unmarked(text):
    """Commands that would not be run, and do not say why: in indented blocks, or in blocks that are no console's."""
    rest = FENCE.sub(lambda match: match[3] if match[1] == "" else "", text)
    plain = [match[3] for match in FENCE.finditer(text) if match[1] == ""]
    indented = [line for line in rest.splitlines() if line.startswith("    ")]
    return [line.strip() for line in indented + "\n".join(plain).splitlines() if BARE.match(line)]


def pattern(line):
    """The line with any numbers and any width."""
    pieces = [re.sub(r"\\ (\\ )*", r"\\s+", re.sub(r"\d+([.:]\d+)*", "0", re.escape(piece).replace("0", "0"))) for piece in line.strip().split("…")]
    return re.compile(".*".join(re.sub("0", r"\\d+(?:[.:]\\d+)*", piece) for piece in pieces) + r"\s*$")


def noon():
    """A time zone in which it is between twelve and one: a start in two hours is shown without a date at any hour of the day."""
    return f"<noon>{time.gmtime().tm_hour - 12:+d}"


def missing(shown, printed):
    """The first line that is shown and does not come; None: all do."""
    at = 0
    for line in shown:
        if not line.strip() or line.strip() == "…":
            continue
        wanted = pattern(line)
        found = next((i for i in range(at, len(printed)) if wanted.match(printed[i].strip())), None)
        if found is None:
            return line
        at = found + 1
    return None


class Shell:
    """A shell with an empty home, in which the program and Slurm's names are found."""

    def __init__(self, path, python="", source="."):
        self.home = tempfile.TemporaryDirectory(prefix="strata-docs-", ignore_cleanup_errors=True)
        os.chmod(self.home.name, 0o755)
        environment = {"HOME": self.home.name, "PATH": path, "LANG": "C.UTF-8", "TERM": "dumb", "COLUMNS": "140", "PS1": "", "PYTHONPATH": python, "STRATA_SOURCE": os.path.abspath(source),
                       "TZ": noon()}
        words, typed = os.pipe()  # beside its input, which commands may read
        self.process = subprocess.Popen(["bash", "--norc", "--noprofile", f"/dev/fd/{words}"], cwd=self.home.name, env=environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, pass_fds=[words])
        os.close(words)
        self.typed = os.fdopen(typed, "wb")
        os.set_blocking(self.process.stdout.fileno(), False)
        self.buffer = b""

    def run(self, text):
        """What it prints, and its status. What it prints may end without the end of a line."""
        self.typed.write(f"{text}\nprintf '\\n{END} %d\\n' $?\n".encode())
        self.typed.flush()
        deadline = time.monotonic() + PATIENCE_S
        select = selectors.DefaultSelector()
        select.register(self.process.stdout, selectors.EVENT_READ)
        while not (match := re.search(rf"^{END} (\d+)\n".encode(), self.buffer, re.M)):
            if not select.select(1) and time.monotonic() > deadline:
                raise AssertionError(f"it does not end: {text}\n{self.buffer.decode(errors='replace')}")
            piece = self.process.stdout.read()
            if piece == b"":
                raise AssertionError(f"the shell has ended: {text}\n{self.buffer.decode(errors='replace')}")
            self.buffer += piece or b""
        printed, self.buffer = self.buffer[:match.start() - 1].decode(errors="replace"), self.buffer[match.end():]
        return printed.splitlines(), int(match[1])

    def serve(self, command):
        """A service in the background: what is asked next finds it."""
        printed, status = self.run(command)
        for _ in range(200):
            if self.run("strata queue >/dev/null 2>&1")[1] == 0:
                return printed, status
            time.sleep(0.05)
        raise AssertionError(f"it does not serve: {command}")

    def close(self):
        self.run("kill $(jobs -p) 2>/dev/null; wait")
        self.typed.close()
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()
        kill_all(self.home.name)  # jobs and workers outlive their service
        self.home.cleanup()


def run_page(text, path, each, python="", source="."):
    """Runs a page; each(command) hears of every one. `python` is where the Python package is, as if it were installed; `source` the tree."""
    shell, skipped, socket = Shell(path, python, source), [], None
    try:
        for kind, what, _ in read(text):
            if kind == "skip":
                skipped.append(what)
            elif kind == "file":
                with open(os.path.join(shell.home.name, what[0]), "w") as file:
                    file.write(what[1])
                os.chmod(os.path.join(shell.home.name, what[0]), 0o755)
            else:
                for command in what:
                    waits = socket and command.text.startswith("export STRATA_SOCKET")
                    command.printed, command.status = shell.serve(command.text) if waits else shell.run(command.text)
                    socket = socket or command.text.startswith("strata serve") and command.text.endswith("&")
                    each(command)
    finally:
        shell.close()
    return skipped
