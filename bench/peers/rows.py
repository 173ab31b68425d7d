"""A figure beside its peer's: what it is, how the two stand to each other, and how all of them are shown."""

import dataclasses
import json
import textwrap


@dataclasses.dataclass
class Row:
    """One thing that was measured. `better` says which way is better, 'more' or 'less'."""
    what: str
    unit: str
    better: str
    ours: float
    peer: float = None  # measured in this run
    peer_name: str = ""
    bound: float = None  # what the machine itself allows, measured in this run
    bound_name: str = ""
    dated: str = ""  # figures of others from another day, and which day
    area: str = ""

    def ratio(self):
        """How many times as good as the peer."""
        if self.peer is None:
            return None
        return self.ours / self.peer if self.better == "more" else self.peer / self.ours

    def of_bound(self):
        """The part of what the machine allows that is reached."""
        if self.bound is None:
            return None
        return self.ours / self.bound if self.better == "more" else self.bound / self.ours


def number(value):
    """Three digits that count, and no more zeros than are read."""
    if value is None:
        return ""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def common(names):
    """The one name that all have, or nothing."""
    names = {name for name in names if name}
    return names.pop() if len(names) == 1 else ""


def lines(rows):
    """A head, and a line for each row; a name that all rows share stands in the head, and a column that nobody needs is left out."""
    peer, bound = common(row.peer_name for row in rows), common(row.bound_name for row in rows)

    def named(value, name, everybodys):
        return "" if value is None else number(value) if everybodys else f"{number(value)} ({name})"

    table = [["", "Strata", peer or "peer", "times as good", f"bound: {bound}" if bound else "bound", "of bound", "beside it"]]
    for row in rows:
        share = row.of_bound()
        table.append([row.what, f"{number(row.ours)} {row.unit}".strip(), named(row.peer, row.peer_name, peer), number(row.ratio()),
                      named(row.bound, row.bound_name, bound), f"{share:.2f}" if share is not None else "", row.dated])
    kept = [i for i in range(len(table[0])) if any(line[i] for line in table[1:])]
    return [[line[i] for i in kept] for line in table]


def terminal(rows):
    table = lines(rows)
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    return "\n".join("  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in table)


def markdown(rows):
    head, *rest = ("| " + " | ".join(line) + " |" for line in lines(rows))
    return "\n".join([head, "|" + "---|" * len(lines(rows)[0]), *rest])


def wrap(text):
    """As documents are wrapped."""
    return "\n\n".join(textwrap.fill(" ".join(part.split()), 100) for part in text.split("\n\n"))


def load(path):
    """What earlier runs have written: by area its rows, when and on what machine."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def as_json(row):
    return {key: value for key, value in dataclasses.asdict(row).items() if key == "unit" or value not in (None, "")}


def from_json(entry):
    return Row(**entry)
