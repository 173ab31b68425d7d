"""Rows as a table: HTML for notebooks, columns for terminals. Everything that comes from others is escaped."""
from __future__ import annotations

import html as _html
from datetime import datetime, timezone
from typing import Any, Iterable, Sequence

WIDTH_MAX = 60
ROWS_MAX = 200  # that a table shows


def size(count: float) -> str:
    for unit in ("B", "K", "M", "G", "T"):
        if count < 1024 or unit == "T":
            return f"{count:.3g}{unit}" if unit != "B" else f"{count:g}B"
        count /= 1024
    raise AssertionError("not reached")


def ago(time: datetime | None) -> str:
    if time is None:
        return ""
    return span((datetime.now(timezone.utc) - time).total_seconds())


def span(seconds: float) -> str:
    """
    >>> span(59), span(3700), span(90000)
    ('59s', '1h01m', '1d01h')
    """
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02}h"


def _cell(row: Any, what: Any) -> str:
    value = what(row) if callable(what) else getattr(row, what)
    text = f"{value:g}" if isinstance(value, float) else str(value)
    text = "".join(one if one.isprintable() else " " for one in text)
    return text if len(text) <= WIDTH_MAX else text[:WIDTH_MAX - 1] + "…"


def html(columns: Sequence[Any], rows: Iterable[Any]) -> str:
    """`columns` are pairs of a title and an attribute's name or a function."""
    rows = list(rows)
    head = "".join(f"<th style='text-align:left'>{_html.escape(title)}</th>" for title, _ in columns)
    lines = ["<tr>" + "".join(f"<td style='text-align:left'>{_html.escape(_cell(row, what))}</td>" for _, what in columns) + "</tr>"
             for row in rows[:ROWS_MAX]]
    more = f"<tr><td colspan='{len(columns)}'>… and {len(rows) - ROWS_MAX} more</td></tr>" if len(rows) > ROWS_MAX else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}{more}</tbody></table>"


def plain(columns: Sequence[Any], rows: Iterable[Any]) -> str:
    rows = list(rows)
    if not columns:
        return repr(rows)
    cells = [[title for title, _ in columns]] + [[_cell(row, what) for _, what in columns] for row in rows[:ROWS_MAX]]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    text = "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in cells)
    return text + (f"\n… and {len(rows) - ROWS_MAX} more" if len(rows) > ROWS_MAX else "")
