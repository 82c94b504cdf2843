"""One module for each dialect: `connect(base, key)` creates a client, `first` and `second` run a turn.

They only return the SDK's results, as a `Turn`; checks are elsewhere. They run with the current SDKs
and with the previous majors, so they import only the SDK. `conformance/js/clients` has the same.
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
    """The results of an SDK: calls as `(id, name, arguments)`, text, finish reason, token counts.

    `history` is what the client sends back in the next turn, in the SDK's own form.
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
    """The tools in the form of most vendors: nested, with `parameters`."""
    return [{"type": "function", "function": tool} for tool in TOOLS]


def read(arguments):
    """Arguments as an object, parsed from the text that many dialects use."""
    return json.loads(arguments) if isinstance(arguments, str) else arguments


def result(name, arguments):
    """The result of a tool: a word of its arguments, so that results cannot be confused."""
    arguments = read(arguments)
    if name == "get_weather":
        return {"city": arguments["city"], "temp_c": -2.5, "condition": "晴"}
    return {"passenger": arguments["passengers"][0]["name"], "flights": []}


def result_text(name, arguments):
    """The same as text."""
    return json.dumps(result(name, arguments), ensure_ascii=False)
