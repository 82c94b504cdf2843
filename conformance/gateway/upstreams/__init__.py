"""One module a dialect: the vendor's recordings, and how to read what the gateway sent.

Each has `DIALECT`; `TOOLS`, `FINAL` and their streams, files of `fixtures/<dialect>/accepted`; `IDS`,
the recorded ids as prefix and tail; `OPAQUE`, words that must come back in the second turn, and
`opaque(tag)`, those of a cell; `MODEL`, a pattern for names; `paths(model, stream)`; `CONTENT_TYPE` of a
stream; `credential(headers, key)`, which says what is wrong, or nothing; and `read(path, body)`, which
gives a `Request`. What the SDK's types say of a request is told by `conformance/dialects`.
"""

import importlib
import json

from strict import need


def module(dialect):
    """The vendor of a dialect."""
    return importlib.import_module("gateway.upstreams." + dialect.replace("-", "_"))


class Request:
    """What a request says, in nobody's shape.

    `tools` maps a name to description and schema; `calls` are `(id, name, arguments)` and `results`
    are `(id, name, text)`, with what a vendor lacks as None; `opaque` is what only the vendor can
    read.
    """

    def __init__(self, stream, system, prompt, tools, calls=(), results=(), opaque=()):
        self.stream = stream
        self.system = system
        self.prompt = prompt
        self.tools = tools
        self.calls = list(calls)
        self.results = list(results)
        self.opaque = list(opaque)


def bearer(headers, key):
    """A key as a bearer token."""
    return (
        None if headers.get("authorization") == f"Bearer {key}" else "authorization is not the key"
    )


def text(content, kinds=("text", "input_text")):
    """Content as text: a string, or parts that have one."""
    if isinstance(content, str) or content is None:
        return content or ""
    return "".join(part["text"] for part in content if part.get("type") in kinds)


def arguments(text):
    """The arguments of a call, from the string that carries them."""
    need(isinstance(text, str), "arguments", "not a string")
    found = json.loads(text)
    need(isinstance(found, dict), "arguments", "not an object")
    return found


def nested(tools):
    """Tools in the nested form that most vendors have."""
    return {
        tool["function"]["name"]: (
            tool["function"].get("description"),
            tool["function"]["parameters"],
        )
        for tool in tools or []
    }


def follows(messages, is_call, is_result, name):
    """Refuses unless the results come directly after the message with the calls."""
    at = [number for number, message in enumerate(messages) if is_call(message)]
    results = [number for number, message in enumerate(messages) if is_result(message)]
    if at or results:
        need(len(at) == 1, name, f"{len(at)} messages with calls, not one")
        wanted = list(range(at[0] + 1, at[0] + 1 + len(results)))
        need(results == wanted, name, f"results at {results}, not right after the calls at {at[0]}")
