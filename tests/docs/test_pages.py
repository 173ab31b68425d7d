#!/usr/bin/env python3
"""Every command of README and docs is run, and prints what the page shows; one that is not run says why.

    test_pages.py [PAGE …]
    test_pages.py --fill PAGE …

With --fill what the commands print now is written into the page, for whoever writes one."""
import glob
import os
import sys

import pages

SOURCE, BUILD = os.environ.get("STRATA_SOURCE", "."), os.environ.get("STRATA_BUILD", "build")
PYTHON = os.path.abspath(os.path.join(SOURCE, "python"))
PATH = os.pathsep.join([os.path.abspath(BUILD), os.environ["PATH"]])


def check(name):
    with open(os.path.join(SOURCE, name)) as file:
        text = file.read()

    def each(command):
        wanted_to_fail = any(line.startswith("strata: ") for line in command.shown)
        assert command.status == 0 or wanted_to_fail, f"$ {command.text}\nexit status {command.status}: {command.printed}"
        line = pages.missing(command.shown, command.printed)
        assert line is None, f"$ {command.text}\nshows: {line}\nprints: " + "\n".join(command.printed)

    bare = pages.unmarked(text)
    assert not bare, "commands in blocks that are not ```console, or ```console skip=WHY: " + "; ".join(bare)
    return pages.run_page(text, PATH, each, PYTHON, SOURCE)


def fill(name):
    with open(name) as file:
        text = file.read()
    commands = []
    pages.run_page(text, PATH, commands.append, PYTHON, SOURCE)
    left = iter(commands)
    for kind, what, match in list(pages.read(text)):
        if kind != "run":
            continue
        if text[:match.start()].endswith("<!--\n"):  # nothing is shown of these
            for _ in what:
                next(left)
            continue
        lines = []
        for command in what:
            done = next(left)
            lines += ["$ " + command.text.replace("\n", "\n> ")] + (command.shown if any("…" in line for line in command.shown) else done.printed)
        text = text.replace(match[0], match[0][:match.start(3) - match.start()] + "\n".join(lines) + "\n```")
    with open(name, "w") as file:
        file.write(text)


def names():
    return ["README.md"] + sorted(os.path.relpath(path, SOURCE) for path in glob.glob(os.path.join(SOURCE, "docs/**/*.md"), recursive=True))


def main():
    if sys.argv[1:2] == ["--fill"]:
        for name in sys.argv[2:]:
            fill(name)
        return 0
    chosen = [name for name in names() if not sys.argv[1:] or name in sys.argv[1:]]
    print(f"1..{len(chosen)}")
    bad = False
    for number, name in enumerate(chosen, 1):
        try:
            skipped = check(name)
            print(f"ok {number} - {name}")
            for why in skipped:
                print(f"# a block that needs {why} is not run")
        except AssertionError as wrong:
            bad = True
            print(f"not ok {number} - {name}")
            print("\n".join("# " + line for line in str(wrong).splitlines()))
        sys.stdout.flush()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
