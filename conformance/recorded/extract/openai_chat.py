"""OpenAI Chat Completions and the vendors that use its format."""

from recorded.extract import sse
from recorded.facts import Call, Reply, Request, Result, arguments, counts, listed

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_STOPS = {
    "stop": "end",
    "eos": "end",
    "length": "length",
    "model_length": "length",
    "tool_calls": "tool",
    "function_call": "tool",
    "content_filter": "filter",
    "error": "error",
    "insufficient_system_resource": "error",
}


def request(path, body):
    """A request."""
    found = Request()
    for number, message in enumerate(body.get("messages") or []):
        at = f"/messages/{number}"
        role = message.get("role")
        if role in ("tool", "function"):
            value = plain(message.get("content"))
            found.items.append(Result(message.get("tool_call_id"), message.get("name"), value, at))
            continue
        for text, place in texts(message.get("content"), f"{at}/content"):
            found.say(_ROLES.get(role, role), text, place)
        found.say("assistant", message.get("refusal"), f"{at}/refusal")
        found.items += calls(message, at)
    found.tools = [
        each["function"]["name"] for each in body.get("tools") or [] if "function" in each
    ]
    return found


def texts(content, at):
    """The texts of a content and their positions."""
    if isinstance(content, str):
        yield content, at
        return
    for index, part in enumerate(content or []):
        if isinstance(part, str):
            yield part, f"{at}/{index}"
        elif part.get("type") in ("text", "refusal"):
            yield part.get(part["type"]), f"{at}/{index}"


def plain(content):
    """The content of a result as one text."""
    return "".join(text or "" for text, _ in texts(content, ""))


def calls(message, at):
    """The calls of a message, also in the legacy form before tools."""
    for index, call in enumerate(listed(message.get("tool_calls"))):
        place = f"{at}/tool_calls/{index}"
        if call.get("type") == "custom" and call["custom"].get("name"):
            custom = call["custom"]
            yield Call(call.get("id"), custom["name"], custom["input"], place, freeform=True)
        else:
            function = call["function"]
            yield Call(
                call.get("id"), function["name"], arguments(function.get("arguments")), place
            )
    legacy = message.get("function_call")
    if legacy and legacy.get("name"):
        place = f"{at}/function_call"
        yield Call(None, legacy["name"], arguments(legacy.get("arguments")), place)


def response(body):
    """A whole reply, its first choice."""
    if not body.get("choices"):
        return None
    choice = body["choices"][0]
    message = choice.get("message") or {}
    said = [text for text, _ in texts(message.get("content"), "") if text]
    said += [message["refusal"]] if message.get("refusal") else []
    found = list(calls(message, "/choices/0/message"))
    return Reply(said, found, stop(choice.get("finish_reason")), usage(body.get("usage")))


def stop(reason):
    """The reason to stop."""
    return _STOPS.get((reason or "stop").lower(), reason)


def usage(wire):
    """The counts of a reply."""
    if not wire:
        return {}
    prompt, output = wire.get("prompt_tokens"), wire.get("completion_tokens")
    details = wire.get("prompt_tokens_details") or {}
    cached = first(
        details.get("cached_tokens"),
        wire.get("prompt_cache_hit_tokens"),
        wire.get("cached_tokens"),
        wire.get("num_cached_tokens"),
    )
    reasoning = (wire.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
    total = wire.get("total_tokens")
    if None not in (prompt, output) and cached and cached > prompt:
        prompt += cached  # a prompt count that excludes what came from the cache
    elif None not in (prompt, output, total) and reasoning and prompt + output + reasoning == total:
        output += reasoning  # a completion count that excludes thinking
    return counts(input=prompt, output=output, cached=cached)


def first(*values):
    """The first value that is present."""
    return next((value for value in values if value is not None), None)


def stream(data):
    """A stream, its first choice."""
    text, pieces, order, reason, wire, fault, begun = "", {}, [], None, None, False, False
    legacy = None
    for chunk in sse.events(data):
        fault = fault or bool(chunk.get("error")) or chunk.get("object") == "error"
        begun = begun or "choices" in chunk or fault
        own = (chunk.get("x_groq") or {}).get("usage")
        fault = fault or bool((chunk.get("x_groq") or {}).get("error"))
        wire = chunk.get("usage") or own or wire
        for choice in chunk.get("choices") or []:
            if choice.get("index"):
                continue
            wire = choice.get("usage") or wire
            delta = choice.get("delta") or {}
            text += "".join(each or "" for each, _ in texts(delta.get("content"), ""))
            text += delta.get("refusal") or ""
            reason = choice.get("finish_reason") or reason
            for position, piece in enumerate(listed(delta.get("tool_calls"))):
                key = piece.get("index", position)
                named = piece.get("id")
                if named and key in pieces and pieces[key]["id"] not in (None, named):
                    key = named  # a separate call, whatever its index
                if key not in pieces:
                    pieces[key] = {"id": None, "name": "", "text": "", "type": "function"}
                    order.append(key)
                _grow(pieces[key], piece)
            if delta.get("function_call"):
                legacy = legacy or {"id": None, "name": "", "text": "", "type": "function"}
                _grow(legacy, {"function": delta["function_call"]})
    if not begun:
        return None
    found = [_joined(pieces[key], f"/choices/0/delta/tool_calls/{key}") for key in order]
    if legacy and legacy["name"]:
        found.append(_joined(legacy, "/choices/0/delta/function_call"))
    return Reply([text], found, stop(reason), usage(wire), fault)


def _grow(call, piece):
    call["id"] = piece.get("id") or call["id"]
    call["type"] = piece.get("type") or call["type"]
    body = piece.get("custom") or piece.get("function") or {}
    call["name"] = call["name"] or body.get("name") or ""
    more = body.get("input") if "custom" in piece else body.get("arguments")
    if isinstance(more, str):
        call["text"] += more
    elif more is not None:
        call["text"] = more


def _joined(call, at):
    if call["type"] == "custom":
        return Call(call["id"], call["name"], call["text"], at, freeform=True)
    return Call(call["id"], call["name"], arguments(call["text"]), at)
