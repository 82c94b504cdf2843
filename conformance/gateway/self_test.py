"""Tests the checks: each SDK with its own vendor, without a gateway between them.

Unchanged traffic of the SDKs and the recordings must pass; traffic with one defect must not.
"""

import json

from gateway import DIALECTS, rows
from gateway.cell import Cell, Spoil
from strict import Rejected, need


class _Request(Spoil):
    """A request with a change to its text in one turn."""

    def __init__(self, edit, turn):
        self.edit = edit
        self.turn = turn

    def request(self, cell, path, headers, body):
        if len(cell.turns) + 1 != self.turn:
            return path, headers, body
        text = json.dumps(body, ensure_ascii=False)
        edited = self.edit(cell, text)
        need(edited != text, "self-test", "the change changed nothing")
        return path, headers, json.loads(edited)


class _Path(Spoil):
    def request(self, cell, path, headers, body):
        return path.replace("/", "//", 1), headers, body


class _Credential(Spoil):
    def request(self, cell, path, headers, body):
        names = ("authorization", "x-api-key", "x-goog-api-key")
        return (
            path,
            {name: "Bearer other" if name in names else value for name, value in headers.items()},
            body,
        )


class _Recording(Spoil):
    """Replays another recording."""

    def __init__(self, choose):
        self.choose = choose

    def recording(self, cell, turn):
        return self.choose(cell, turn)


class _Cut(Spoil):
    cuts = True

    def cut(self, reply):
        return reply[: len(reply) // 2]


def _last(text, old, new):
    before, _, after = text.rpartition(old)
    return before + new + after


def _other(cell, turn):
    return Cell(cell.row, cell.upstream, cell.stream, cell.number + 0x10000), turn


BROKEN = {
    "a key of no vendor": _Request(lambda _, text: '{"bogus": 1, ' + text[1:], 1),
    "a tool renamed": _Request(lambda _, text: text.replace("get_weather", "weather"), 1),
    "a tool without its description": _Request(lambda _, text: text.replace("当前天气", ""), 1),
    "the question lost": _Request(lambda _, text: text.replace("现在天气怎么样", ""), 1),
    "an argument of the history changed": _Request(
        lambda cell, text: text.replace(cell.word("w"), "", 1), 2
    ),
    "a result to another call": _Request(
        lambda cell, text: _last(text, cell.word("f"), cell.word("w")), 2
    ),
    "another path": _Path(),
    "another credential": _Credential(),
    "the nonces of another cell": _Recording(_other),
    "text in place of calls": _Recording(lambda cell, _: (cell, 2)),
    "calls in place of text": _Recording(lambda cell, _: (cell, 1)),
    "half a reply": _Cut(),
}


def run(upstreams, drivers, numbers, report, verbose):
    """Runs all tests and returns whether they passed."""
    good, broken = [], []
    for row in rows.CURRENT + rows.PREVIOUS + rows.JAVASCRIPT:
        if drivers.has(row.driver) and not row.speaks_http2:
            good += [Cell(row, row.dialect, stream, next(numbers)) for stream in (False, True)]
    for row in rows.CURRENT:
        for at, (name, spoil) in enumerate(BROKEN.items()):
            stream = bool((at + DIALECTS.index(row.dialect)) % 2)
            broken.append((name, Cell(row, row.dialect, stream, next(numbers), spoil)))
    cells = good + [cell for _, cell in broken]
    for cell in cells:
        upstreams[cell.upstream].cells[cell.tag] = cell

    def address(cell):
        upstream = upstreams[cell.upstream]
        model = upstream.vendor.MODEL.format(cell.tag)
        return cell.row.direct(upstream.url), upstream.key, model

    drivers.run(cells, address)
    for cell in good:
        report.run(f"{cell.name}, no gateway", lambda: sound(cell))
    for name, cell in broken:
        title = f"broken: {name}: {cell.name}"
        report.run(title, lambda: _refused(cell, title, verbose))
    return report.close("self-test of the gateway's judges")


def sound(cell):
    """Rejects a cell with a failure."""
    if cell.complaints:
        lines = [f"{_SIDES[direction]}: {what}" for direction, what in cell.complaints]
        raise Rejected(cell.name, "\n".join(lines))


_SIDES = {"request": "what reached the upstream", "reply": "what reached the client"}


def _refused(cell, name, verbose):
    need(cell.complaints, "self-test", "nobody noticed")
    if verbose:
        print(name)
        for direction, what in cell.complaints:
            print(f"    {_SIDES[direction]}: {what[:200]}")
