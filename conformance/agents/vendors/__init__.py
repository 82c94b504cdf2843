"""One module for each dialect: how to read a request, what the vendor rejects, how to write a reply.

Each has `items(body)`, the conversation as `Item`s; `rules(body, cell)`, which raises `Rejected` for
requests that the vendor answers with status 400; `offered(body)`, the tools' schemas by name, None
for a tool in free form; `is_stream(path, body)`; `whole(reply)` and `stream(reply)`, the bytes of a
reply; and `error(message)`, the body of an error.
"""

import base64
import binascii
import dataclasses
import importlib
import re

from strict import need

_SHARED = {"openai-chat": "chat", "deepseek": "chat", "mistral": "chat"}


def module(dialect):
    """The vendor of a dialect."""
    name = _SHARED.get(dialect, dialect.replace("-", "_"))
    return importlib.import_module(f"agents.vendors.{name}")


@dataclasses.dataclass
class Item:
    """One element of a conversation.

    `kind` is `system`, `user`, `assistant`, `call`, `result` or `opaque`. `media` is a list of
    decoded images, `arguments` an object.
    """

    kind: str
    text: str = ""
    media: list = dataclasses.field(default_factory=list)
    id: str | None = None
    name: str | None = None
    arguments: dict | None = None


@dataclasses.dataclass
class Reply:
    """A reply of the scripted model: `calls` are `(id, name, arguments)`.

    Calls of the tools in `free` are in free form: their one argument is `input`.
    """

    dialect: str
    tag: str
    model: str
    text: str
    calls: list
    opaque: str
    number: int
    thinks: bool = False
    free: set = dataclasses.field(default_factory=set)


_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")


def image(data, media_type):
    """An image's bytes. Vendors take base64 with the standard alphabet and four media types."""
    need(media_type in _IMAGES, "media type", f"{media_type!r} is none of {_IMAGES}")
    return standard_base64(data)


def standard_base64(data):
    """Bytes, from base64 with the standard alphabet."""
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        need(False, "base64", f"not the standard alphabet: {error}")


def data_url(url):
    """An image's bytes, from a data URL."""
    found = re.fullmatch(r"data:([^;,]+);base64,(.*)", url, re.DOTALL)
    need(found, "image_url", f"not a data URL: {url[:40]!r}")
    return image(found[2], found[1])


def pieces(text, size=7):
    """A text in small fragments, as in streams."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def names(tools, pattern, most=None):
    """Rejects tools whose names the vendor does not accept, or that occur twice."""
    for name in tools:
        need(re.fullmatch(pattern, name), "tools", f"the name {name!r} does not match {pattern}")
    need(len(set(tools)) == len(tools), "tools", f"two tools have one name: {sorted(tools)}")
    need(most is None or len(tools) <= most, "tools", f"{len(tools)} tools, at most {most}")


def answered(items):
    """Rejects unless each step's calls are answered, once each, before any other message."""
    waiting = {}
    for item in items:
        if item.kind == "call":
            need(item.id not in waiting, "calls", f"two calls have the id {item.id!r}")
            waiting[item.id] = item.name
        elif item.kind == "result":
            need(item.id in waiting, "results", f"a result for {item.id!r}, which no call has")
            del waiting[item.id]
        elif item.kind != "opaque" and not (item.kind == "assistant" and waiting):
            need(
                not waiting, "results", f"{item.kind} text before the results of {sorted(waiting)}"
            )
    need(not waiting, "results", f"no results for {sorted(waiting)}")


def strict_schema(name, schema):
    """Checks OpenAI's rules for a strict schema: closed objects with all properties required."""
    if isinstance(schema, dict):
        if schema.get("type") == "object" or "properties" in schema:
            closed = schema.get("additionalProperties") is False
            need(closed, name, "strict, but additionalProperties is not false")
            missing = set(schema.get("properties", {})) - set(schema.get("required", []))
            need(not missing, name, f"strict, but {sorted(missing)} are not required")
        for value in schema.values():
            strict_schema(name, value)
    elif isinstance(schema, list):
        for value in schema:
            strict_schema(name, value)


def usage(reply):
    """Input and output tokens."""
    return 180 + reply.number, 60 + reply.number
