"""Google Gemini. Proto-JSON: names in camel case or snake case, enums as words or numbers."""

import re

from recorded.extract import sse
from recorded.facts import Call, Reply, Request, Result, arguments, counts, listed, loads

_FINISH = {
    1: "STOP",
    2: "MAX_TOKENS",
    3: "SAFETY",
    4: "RECITATION",
    5: "OTHER",
    6: "BLOCKLIST",
    7: "PROHIBITED_CONTENT",
    8: "SPII",
    9: "MALFORMED_FUNCTION_CALL",
}
_STOPS = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    "SAFETY": "filter",
    "RECITATION": "filter",
    "BLOCKLIST": "filter",
    "PROHIBITED_CONTENT": "filter",
    "SPII": "filter",
    "MODEL_ARMOR": "filter",
    "IMAGE_SAFETY": "filter",
    "LANGUAGE": "filter",
    "MALFORMED_FUNCTION_CALL": "malformed",
    "UNEXPECTED_TOOL_CALL": "malformed",
    "TOO_MANY_TOOL_CALLS": "malformed",
    "MALFORMED_RESPONSE": "error",
    "OTHER": "error",
    "CONTINUATION": "pause",
}


def _get(value, name):
    """A member by its camel-case name, in either spelling."""
    snake = re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name)
    return value.get(name, value.get(snake))


def request(path, body):
    """A request."""
    found = Request()
    system = _get(body, "systemInstruction")
    if isinstance(system, str):
        found.say("system", system, "/systemInstruction")
    elif system:
        for index, part in enumerate(listed(system.get("parts"))):
            found.say("system", part.get("text"), f"/systemInstruction/parts/{index}")
    for number, content in enumerate(listed(body.get("contents"))):
        role = "assistant" if content.get("role") == "model" else "user"
        for index, part in enumerate(listed(content.get("parts"))):
            at = f"/contents/{number}/parts/{index}"
            if not part.get("thought"):
                found.say(role, part.get("text"), at)
            found.items += _call(part, at)
            result = _get(part, "functionResponse")
            if result:
                value, failed = _output(result.get("response"))
                found.items.append(Result(result.get("id"), result.get("name"), value, at, failed))
    found.tools = [
        each["name"]
        for tool in listed(body.get("tools"))
        for each in _get(tool, "functionDeclarations") or []
    ]
    return found


def _output(value):
    """The output of a function and whether it failed: one of two keys, or the whole object."""
    if isinstance(value, dict) and len(value) == 1:
        for key in ("output", "error"):
            if key in value:
                return value[key], key == "error"
    return value, False


def _call(part, at):
    call = _get(part, "functionCall")
    if call:
        yield Call(call.get("id"), call["name"], arguments(call.get("args")), at)


def response(body):
    """A whole reply."""
    return _reply([body])


def _reply(chunks):
    """A reply in any number of chunks, its first candidate."""
    said, found, reason, wire, begun, fault = [], [], None, {}, False, False
    growing = None
    for chunk in chunks:
        begun = begun or any(_get(chunk, key) for key in ("candidates", "promptFeedback", "usageMetadata"))
        fault = fault or "error" in chunk
        wire = {**wire, **(_get(chunk, "usageMetadata") or {})}
        if (_get(chunk, "promptFeedback") or {}).get("blockReason"):
            reason = reason or "SAFETY"
        for candidate in chunk.get("candidates") or []:
            if candidate.get("index"):
                continue
            finish = _get(candidate, "finishReason")
            reason = _FINISH.get(finish, finish) or reason
            for part in listed((candidate.get("content") or {}).get("parts")):
                if part.get("text") and not part.get("thought"):
                    said.append(part["text"])
                call = _get(part, "functionCall")
                if call is None:
                    continue
                pieces = _get(call, "partialArgs")
                if growing is None:
                    found += _call({"functionCall": {"name": "", **call}}, f"/parts/{len(found)}")
                    growing = found[-1]
                for piece in pieces or []:
                    _grow(growing.arguments, piece)
                if not _get(call, "willContinue"):
                    growing = None
    if not begun and not fault:
        return None
    stop = _STOPS.get(reason or "STOP", reason)
    prompt, output = wire.get("promptTokenCount"), wire.get("candidatesTokenCount")
    if prompt is not None or output is not None:
        prompt = (prompt or 0) + (wire.get("toolUsePromptTokenCount") or 0)
        output = (output or 0) + (wire.get("thoughtsTokenCount") or 0)
    usage = counts(input=prompt, output=output, cached=wire.get("cachedContentTokenCount"))
    return Reply(said, found, stop, usage, fault)


def _grow(arguments, piece):
    """Adds a fragment of streamed arguments at its JSON path."""
    steps = re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", _get(piece, "jsonPath") or "")
    value = next(
        (
            piece.get(key)
            for key in ("stringValue", "numberValue", "boolValue", "string_value")
            if key in piece
        ),
        None,
    )
    target = arguments
    for number, (name, index) in enumerate(steps):
        step = name or int(index)
        last = number + 1 == len(steps)
        fresh = None if last else ([] if steps[number + 1][1] else {})
        if isinstance(target, list):
            while len(target) <= step:
                target.append(fresh)
        else:
            target.setdefault(step, fresh)
        if last:
            had = target[step]
            target[step] = had + value if isinstance(had, str) and isinstance(value, str) else value
        else:
            target = target[step]


def stream(data):
    """A stream: server-sent events, or one JSON array."""
    if data.lstrip().startswith(b"["):
        return _reply(loads(data.decode("utf-8")))
    return _reply(list(sse.events(data)))
