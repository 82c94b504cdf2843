"""One module a dialect: `connect(base, key)` makes the SDK's client, `first` and `second` are a turn.

They only say what the SDK gave them, as a `Turn`; others judge. They run with the current SDKs and
with the majors before, so they import nothing but the SDK. `conformance/js/clients` has the same.
"""

import importlib
import json
import pathlib

TASK = json.loads((pathlib.Path(__file__).parents[1] / "task.json").read_text("utf-8"))
SYSTEM, PROMPT, TOOLS = TASK["system"], TASK["prompt"], TASK["tools"]


def module(dialect):
    """The driver of a dialect."""
    return importlib.import_module("gateway.clients." + dialect.replace("-", "_"))


class Turn:
    """What an SDK gave: calls as `(id, name, arguments)`, text, finish reason, tokens in and out.

    `history` is what the client says back in the next turn, in the SDK's own form.
    """

    def __init__(self, calls, text, finish, usage, history):
        self.calls = calls
        self.text = text
        self.finish = finish
        self.usage = usage
        self.history = history

    def record(self):
        """The turn as JSON."""
        return {
            "calls": [
                {"id": id, "name": name, "arguments": found} for id, name, found in self.calls
            ],
            "text": self.text or "",
            "finish": self.finish and str(self.finish),
            "usage": self.usage,
        }


def functions():
    """The tools as most vendors want them: nested, with `parameters`."""
    return [{"type": "function", "function": tool} for tool in TOOLS]


def read(arguments):
    """Arguments as an object, from the text that many dialects carry."""
    return json.loads(arguments) if isinstance(arguments, str) else arguments


def result(name, arguments):
    """What a tool gives back: a word of its arguments, so that results cannot be mixed up."""
    arguments = read(arguments)
    if name == "get_weather":
        return {"city": arguments["city"], "temp_c": -2.5, "condition": "晴"}
    return {"passenger": arguments["passengers"][0]["name"], "flights": []}


def result_text(name, arguments):
    """The same as text."""
    return json.dumps(result(name, arguments), ensure_ascii=False)
