"""One module for each dialect: the vendor's recordings, and how to read the gateway's requests.

Each has `DIALECT`; `TOOLS`, `FINAL` and their streams, files of `fixtures/<dialect>/accepted`; `IDS`,
the recorded ids as prefix and tail; `OPAQUE`, words that must come back in the second turn, and
`opaque(tag)`, those of a cell; `MODEL`, a pattern for names; `paths(model, stream)`; `CONTENT_TYPE` of a
stream; `credential(headers, key)`, which returns a problem or None; and `read(path, body)`, which
returns a `Request`. `conformance/dialects` validates requests with the SDK's types.
"""

import importlib
import json

from strict import need


def module(dialect):
    """The vendor of a dialect."""
    return importlib.import_module("gateway.upstreams." + dialect.replace("-", "_"))


class Request:
    """The content of a request, independent of the dialect.

    `tools` maps a name to description and schema; `calls` are `(id, name, arguments)` and `results`
    are `(id, name, text)`, with None for what a vendor lacks; `opaque` is reasoning that only the
    vendor can read.
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
    """The arguments of a call, parsed from their string."""
    need(isinstance(text, str), "arguments", "not a string")
    found = json.loads(text)
    need(isinstance(found, dict), "arguments", "not an object")
    return found


def nested(tools):
    """Tools in the nested form of most vendors."""
    return {
        tool["function"]["name"]: (
            tool["function"].get("description"),
            tool["function"]["parameters"],
        )
        for tool in tools or []
    }


def follows(messages, is_call, is_result, name):
    """Rejects unless the results directly follow the message with the calls."""
    at = [number for number, message in enumerate(messages) if is_call(message)]
    results = [number for number, message in enumerate(messages) if is_result(message)]
    if at or results:
        need(len(at) == 1, name, f"{len(at)} messages with calls, not one")
        wanted = list(range(at[0] + 1, at[0] + 1 + len(results)))
        need(results == wanted, name, f"results at {results}, not right after the calls at {at[0]}")
