"""The content of a document, in terms that every dialect shares, and JSON with exact numbers.

The extractors produce these facts from wire documents. They are written from the vendors'
documentation and SDK types and share no code with Toolwright.
"""

import dataclasses
import json
import typing


class Digits(str):
    """A number with a fraction or an exponent, as it was written."""


def loads(text):
    """Parses JSON without rounding numbers."""
    return json.loads(text, parse_float=Digits)


def arguments(text):
    """The arguments of a call that a dialect carries as text; text that is not JSON stays text."""
    if not isinstance(text, str):
        return {} if text is None else text
    if not text.strip():
        return {}
    try:
        value = loads(text)
    except ValueError:
        return text
    return {} if value is None else value


@dataclasses.dataclass
class Text:
    """Text of a role; `role` is system, user or assistant."""

    role: str
    text: str
    at: str


@dataclasses.dataclass
class Call:
    """A call that the client runs. `freeform` marks one whose input is a text, not an object."""

    id: typing.Optional[str]
    name: str
    arguments: typing.Any
    at: str
    freeform: bool = False
    namespace: typing.Optional[str] = None


@dataclasses.dataclass
class Result:
    """The result of a call: a text or a JSON value, and media."""

    id: typing.Optional[str]
    name: typing.Optional[str]
    value: typing.Any
    at: str
    error: bool = False


@dataclasses.dataclass
class Request:
    """The content of a request, in order."""

    items: list = dataclasses.field(default_factory=list)
    tools: list = dataclasses.field(default_factory=list)

    def say(self, role, text, at):
        """Adds a text, unless it is empty."""
        if text:
            self.items.append(Text(role, text, at))

    def texts(self, role):
        """The texts of a role."""
        return [item for item in self.items if isinstance(item, Text) and item.role == role]

    @property
    def calls(self):
        """The calls."""
        return [item for item in self.items if isinstance(item, Call)]

    def results(self):
        """The results, each with the position of its call among all calls, or None."""
        calls, open_calls, found = [], [], []
        for item in self.items:
            if isinstance(item, Call):
                open_calls.append(len(calls))
                calls.append(item)
            elif isinstance(item, Result):
                position = _call_of(item, calls, open_calls)
                if position in open_calls:
                    open_calls.remove(position)
                found.append((position, item))
        return found


def _call_of(result, calls, open_calls):
    """The call of a result: by id, else the first unanswered one of its name, else the first."""
    if result.id:
        by_id = [at for at in range(len(calls)) if calls[at].id == result.id]
        waiting = [at for at in by_id if at in open_calls]
        if by_id:
            return (waiting or by_id)[-1]
        if any(calls[at].id for at in open_calls):
            return None
    named = [at for at in open_calls if result.name and calls[at].name == result.name]
    return next(iter(named if result.name else open_calls), None)


@dataclasses.dataclass
class Reply:
    """The content of a reply or a stream."""

    texts: list = dataclasses.field(default_factory=list)
    calls: list = dataclasses.field(default_factory=list)
    stop: typing.Optional[str] = None
    usage: dict = dataclasses.field(default_factory=dict)
    fault: bool = False

    def __post_init__(self):
        # A reply with calls that ends normally has stopped for them, whatever the vendor reports.
        if self.calls and self.stop == "end":
            self.stop = "tool"

    @property
    def text(self):
        """All texts as one."""
        return "".join(self.texts)


def listed(value):
    """A list; a vendor may also accept a single element."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def counts(**values):
    """Usage without missing counts; zero cached tokens count as missing."""
    found = {name: int(value) for name, value in values.items() if value is not None}
    return {name: value for name, value in found.items() if value or name != "cached"}


def counts_beside_cache(fresh, read, written, output):
    """Usage of a vendor whose prompt count excludes cache reads and writes."""
    total = None if fresh is None else fresh + (read or 0) + (written or 0)
    return counts(input=total, output=output, cached=read)
