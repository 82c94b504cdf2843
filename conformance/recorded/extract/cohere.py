"""Cohere v2. `tool_plan` is the model's text before its calls."""

from recorded.extract import sse
from recorded.facts import Call, Reply, Request, Result, arguments, counts

_STOPS = {
    "COMPLETE": "end",
    "TOOL_CALL": "tool",
    "MAX_TOKENS": "length",
    "STOP_SEQUENCE": "stop_sequence",
    "ERROR": "error",
    "TIMEOUT": "error",
}


def request(path, body):
    """A request."""
    found = Request()
    for number, message in enumerate(body.get("messages") or []):
        at = f"/messages/{number}"
        if message["role"] == "tool":
            value = _value(message.get("content"))
            found.items.append(Result(message.get("tool_call_id"), None, value, at))
            continue
        found.say("assistant", message.get("tool_plan"), f"{at}/tool_plan")
        for text, place in _texts(message.get("content"), f"{at}/content"):
            found.say(message["role"], text, place)
        found.items += _calls(message.get("tool_calls"), at)
    found.tools = [each["function"]["name"] for each in body.get("tools") or []]
    return found


def _texts(content, at):
    if isinstance(content, str):
        yield content, at
        return
    for index, part in enumerate(content or []):
        if isinstance(part, str):
            yield part, f"{at}/{index}"
        elif part.get("type") == "text":
            yield part.get("text") or "", f"{at}/{index}"


def _value(content):
    """A result: a text, or documents whose data are JSON objects or texts."""
    if isinstance(content, str):
        return content
    documents = [part["document"] for part in content or [] if part.get("type") == "document"]
    texts = [text for text, _ in _texts(content, "")]
    if documents and not texts:
        data = [
            each if isinstance(each, str) else each.get("data", each) for each in documents
        ]
        return data[0] if len(data) == 1 else data
    return "".join(texts)


def _calls(calls, at):
    for index, call in enumerate(calls or []):
        function = call["function"]
        given = arguments(function.get("arguments"))
        yield Call(call.get("id"), function["name"], given, f"{at}/tool_calls/{index}")


def response(body):
    """A whole reply."""
    message = body.get("message")
    if not isinstance(message, dict):
        return None
    said = [message["tool_plan"]] if message.get("tool_plan") else []
    said += [text for text, _ in _texts(message.get("content"), "") if text]
    found = list(_calls(message.get("tool_calls"), "/message"))
    return Reply(said, found, _stop(body.get("finish_reason")), _usage(body.get("usage")))


def _stop(reason):
    return _STOPS.get(reason or "COMPLETE", reason)


def _usage(wire):
    tokens = (wire or {}).get("tokens") or {}
    as_int = lambda value: None if value is None else int(float(value))
    return counts(
        input=as_int(tokens.get("input_tokens")),
        output=as_int(tokens.get("output_tokens")),
        cached=as_int((wire or {}).get("cached_tokens")),
    )


def stream(data):
    """A stream."""
    plan, text, calls, reason, wire, begun = "", "", {}, None, None, False
    fault = False
    for event in sse.events(data):
        kind, delta = event.get("type"), event.get("delta") or {}
        begun = begun or kind in ("message-start", "message-end")
        message = delta.get("message") or {}
        if kind == "tool-plan-delta":
            plan += message.get("tool_plan") or ""
        elif kind in ("content-start", "content-delta"):
            text += (message.get("content") or {}).get("text") or ""
        elif kind == "tool-call-start":
            start = message["tool_calls"]
            calls[event["index"]] = [start, start["function"].get("arguments") or ""]
        elif kind == "tool-call-delta":
            calls[event["index"]][1] += message["tool_calls"]["function"].get("arguments") or ""
        elif kind == "message-end":
            reason, wire = delta.get("finish_reason"), delta.get("usage")
            fault = bool(delta.get("error"))
    if not begun:
        return None
    found = [
        Call(start.get("id"), start["function"]["name"], arguments(given), f"/tool_calls/{index}")
        for index, (start, given) in sorted(calls.items())
    ]
    return Reply([plan, text], found, _stop(reason), _usage(wire), fault)
