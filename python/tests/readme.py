"""The programs of python/README.md, as they are printed there."""
import os
import re

import package

BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:```\n(.*?)^```$)?", re.M | re.S)


def blocks():
    """Pairs of a program and what the page says that it prints ("": it does not say)."""
    with open(os.path.join(package.SOURCE, "python", "README.md"), encoding="utf-8") as file:
        return BLOCK.findall(file.read())


def with_words(words):
    """The one program that has these words."""
    found, = [program for program, _ in blocks() if words in program]
    return found
