"""The matrix as text for a terminal and as tables for the READMEs."""

import re

from gateway import DIALECTS, rows

_BEGIN, _END = "<!-- matrix: cargo xtask conformance --write -->", "<!-- /matrix -->"


class Table:
    """The cells, found by row, upstream and mode."""

    def __init__(self, cells):
        self._cells = {(cell.row, cell.upstream, cell.stream): cell for cell in cells}

    def terminal(self):
        """Two matrices, aligned: whole and stream."""
        return "\n\n".join([self._mode("whole", False), self._mode("stream", True)])

    def _mode(self, name, stream):
        lines = [[name, *DIALECTS]]
        for row in rows.ALL:
            lines.append([row.name, *(self._word(row, each, stream) for each in DIALECTS)])
        widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
        return "\n".join(
            "  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip()
            for line in lines
        )

    def _word(self, row, upstream, stream):
        cell = self._cells.get((row, upstream, stream))
        return "-" if cell is None else "FAILED" if cell.complaints else "ok"

    def markdown(self, corner):
        """One table: in each cell a mark for whole and one for stream."""
        lines = [[corner, *(f"`{each}`" for each in DIALECTS)], ["---"] * (len(DIALECTS) + 1)]
        for row in rows.ALL:
            marks = [self._marks(row, upstream) for upstream in DIALECTS]
            lines.append([row.name, *marks])
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def _marks(self, row, upstream):
        signs = {"ok": "✓", "FAILED": "✗", "-": "–"}
        return "".join(signs[self._word(row, upstream, stream)] for stream in (False, True))


READMES = {"README.md": "client ↓ upstream →", "README.zh-CN.md": "客户端 ↓ 上游 →"}


def replaced(text, table):
    """A README with a new table between its markers."""
    pattern = re.compile(f"{re.escape(_BEGIN)}.*?{re.escape(_END)}", re.DOTALL)
    return pattern.sub(lambda _: f"{_BEGIN}\n{table}\n{_END}", text, count=1)


def has_marks(text):
    """Whether a README has the markers."""
    return _BEGIN in text and _END in text
