"""The table of clients and upstreams, for a terminal and for docs/clients.md."""

import re

from agents.registry import ALL, DIALECTS
from strict import need

_BEGIN, _END = "<!-- clients: cargo xtask clients --write -->", "<!-- /clients -->"
_BETWEEN = re.compile(f"{re.escape(_BEGIN)}(.*?){re.escape(_END)}", re.DOTALL)


class Table:
    """A mark for each client, upstream and mode: whole, then stream."""

    def __init__(self, clients, cells):
        found = {(cell.client, cell.upstream, cell.stream): cell for cell in cells}
        self.marks = {
            client.title: {
                (upstream, stream): _mark(found.get((client, upstream, stream)))
                for upstream in DIALECTS
                for stream in (False, True)
            }
            for client in clients
        }

    def terminal(self):
        """The table with aligned columns."""
        lines = [["client", *DIALECTS], *_rows(self.marks)]
        widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
        return "\n".join(
            "  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip()
            for line in lines
        )

    def written(self, text, is_all):
        """The document with the measured marks; marks of other cells stay unless all were run."""
        found = _BETWEEN.search(text)
        need(found, "docs/clients.md", "no marks for the table")
        marks = {} if is_all else _read(found[1])
        for title, row in self.marks.items():
            kept = {key: mark for key, mark in row.items() if is_all or mark != "–"}
            marks[title] = {**{key: "–" for key in row}, **marks.get(title, {}), **kept}
        lines = [["client ↓ upstream →", *(f"`{each}`" for each in DIALECTS)]]
        lines += [["---"] * len(lines[0]), *_rows(marks)]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return _BETWEEN.sub(lambda _: f"{_BEGIN}\n{table}\n{_notes()}{_END}", text)


def _mark(cell):
    if cell is None:
        return "–"
    return ("*" if cell.limit else "✗") if cell.complaints else "✓"


def _notes():
    """Limitations of the clients themselves, each reason once."""
    found = {}
    for client in ALL:
        for (upstream, _), reason in client.limits.items():
            found.setdefault(f"{client.title} → `{upstream}`: {reason}", None)
    return "".join(f"\n\\* {each}\n" for each in found)


def _rows(marks):
    for title, row in marks.items():
        yield [title, *("".join(row[each, mode] for mode in (False, True)) for each in DIALECTS)]


def _read(table):
    """The marks of a table in Markdown."""
    marks = {}
    for line in [line for line in table.splitlines() if line.startswith("|")][2:]:
        title, *words = [word.strip() for word in line.strip("|").split("|")]
        marks[title] = {
            (upstream, mode): word[mode]
            for upstream, word in zip(DIALECTS, words)
            for mode in (False, True)
        }
    return marks
