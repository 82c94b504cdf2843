"""Ollama `/api/chat`."""

from recorded.facts import Call, Reply, Request, Result, arguments, counts, loads

_STOPS = {"stop": "end", "length": "length", "": "end"}


def request(path, body):
    """A request."""
    found = Request()
    for number, message in enumerate(body.get("messages") or []):
        at = f"/messages/{number}"
        if message["role"] == "tool":
            name = message.get("tool_name") or message.get("name")
            value = message.get("content")
            found.items.append(Result(message.get("tool_call_id"), name, value, at))
            continue
        found.say(message["role"], message.get("content"), f"{at}/content")
        found.items += _calls(message, at)
    found.tools = [each["function"]["name"] for each in body.get("tools") or []]
    return found


def _calls(message, at):
    for index, call in enumerate(message.get("tool_calls") or []):
        function = call["function"]
        given = arguments(function.get("arguments"))
        yield Call(call.get("id"), function["name"], given, f"{at}/tool_calls/{index}")


def response(body):
    """A whole reply."""
    return _reply([body]) if "message" in body else None


def stream(data):
    """A stream of JSON lines."""
    lines = [loads(line) for line in data.decode("utf-8").split("\n") if line.strip()]
    return _reply(lines) if lines else None


def _reply(lines):
    text, found, reason, usage, fault = "", [], None, {}, False
    for line in lines:
        message = line.get("message") or {}
        text += message.get("content") or ""
        found += _calls(message, "/message")
        fault = fault or "error" in line
        if line.get("done"):
            reason = line.get("done_reason") or ""
            usage = counts(input=line.get("prompt_eval_count"), output=line.get("eval_count"))
    stop = _STOPS.get(reason or "", reason)
    return Reply([text], found, stop, usage, fault)
