"""OpenAI Responses."""

from recorded.extract import sse
from recorded.facts import Call, Reply, Request, Result, arguments, counts

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_TEXTS = ("input_text", "output_text", "text", "refusal")


def request(path, body):
    """A request."""
    if _is_embedding(body):
        return None
    found = Request()
    _instructions(found, body.get("instructions"))
    given = body.get("input")
    if isinstance(given, str):
        found.say("user", given, "/input")
        given = []
    for number, item in enumerate(given or []):
        at = f"/input/{number}"
        kind = item.get("type", "message")
        if kind == "message":
            for text, place in _texts(item.get("content"), f"{at}/content"):
                found.say(_ROLES.get(item.get("role"), item.get("role")), text, place)
        elif kind.removesuffix("_output") in _MACHINE and kind.endswith("_output"):
            found.items.append(Result(item.get("call_id") or item.get("id"), None, None, at))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            value = "".join(text for text, _ in _texts(item.get("output"), at))
            found.items.append(Result(item.get("call_id"), None, value, at))
        elif kind == "tool_search_output" and item.get("execution") == "client":
            # The tools are definitions, which other dialects list with the rest.
            found.items.append(Result(item.get("call_id"), None, None, at))
        else:
            found.items += _calls([item], at)
    found.tools = [each["name"] for each in body.get("tools") or [] if each["type"] == "function"]
    return found


# Calls that the client runs on its own machine, with the names of their tools.
_MACHINE = {
    "local_shell_call": "local_shell",
    "shell_call": "shell",
    "apply_patch_call": "apply_patch",
}


def _is_vendors(item):
    """Whether a shell runs in a container of the vendor."""
    return (item.get("environment") or {}).get("type", "local") != "local"


def _is_embedding(body):
    """Whether a body is a request for embeddings, which also has `input`."""
    given = body.get("input")
    return "encoding_format" in body or (
        isinstance(given, list) and bool(given) and all(isinstance(each, str) for each in given)
    )


def _instructions(found, given):
    if isinstance(given, str):
        found.say("system", given, "/instructions")
    for number, item in enumerate(given if isinstance(given, list) else []):
        for text, place in _texts(item.get("content"), f"/instructions/{number}/content"):
            found.say("system", text, place)


def _texts(content, at):
    if isinstance(content, str):
        yield content, at
        return
    for index, part in enumerate(content or []):
        if part.get("type") in _TEXTS:
            yield part.get("text", part.get("refusal")) or "", f"{at}/{index}"


def _calls(items, at):
    for item in items:
        if item.get("type") == "function_call":
            call = Call(item.get("call_id"), item["name"], arguments(item.get("arguments")), at)
            call.namespace = item.get("namespace")
            yield call
        elif item.get("type") == "tool_search_call" and item.get("execution") == "client":
            yield Call(item.get("call_id"), "tool_search", arguments(item.get("arguments")), at)
        elif item.get("type") in _MACHINE and not _is_vendors(item):
            # Its input has a special form, of which other dialects receive the essentials.
            yield Call(item.get("call_id"), _MACHINE[item["type"]], None, at)
        elif item.get("type") == "custom_tool_call":
            yield Call(item.get("call_id"), item["name"], item["input"], at, freeform=True)


def response(body):
    """A whole reply. A queued one is still empty."""
    if body.get("object") != "response" or "output" not in body:
        return None
    return _reply(body, body.get("output") or [])


def _reply(body, output):
    said = [
        text
        for item in output
        if item.get("type") == "message"
        for text, _ in _texts(item.get("content"), "")
        if text
    ]
    found = [
        call
        for number, item in enumerate(output)
        for call in _calls([item], f"/output/{number}")
    ]
    reason = (body.get("incomplete_details") or {}).get("reason")
    if body.get("status") == "incomplete" and reason == "content_filter":
        stop = "filter"
    elif body.get("status") == "incomplete":
        stop = "pause" if reason == "steered" else "length"
    elif body.get("status") in ("queued", "in_progress"):
        stop = "pause"
    else:
        stop = "tool" if found else "end"
    wire = body.get("usage") or {}
    usage = counts(
        input=wire.get("input_tokens"),
        output=wire.get("output_tokens"),
        cached=(wire.get("input_tokens_details") or {}).get("cached_tokens"),
    )
    return Reply(said, found, stop, usage, body.get("status") == "failed")


_ENDS = ("response.completed", "response.incomplete", "response.failed")


def stream(data):
    """A stream: its items from deltas and ends, its last event for status and usage."""
    items, texts, last, begun, fault = {}, {}, {}, False, False
    for event in sse.events(data):
        kind, index = event.get("type", ""), event.get("output_index")
        begun = begun or kind.startswith("response.") or kind == "error"
        if kind == "error":
            fault = True
        elif kind in ("response.output_item.added", "response.output_item.done"):
            items[index] = event["item"]
        elif kind in ("response.output_text.delta", "response.refusal.delta"):
            texts[index] = texts.get(index, "") + event["delta"]
        elif kind in ("response.function_call_arguments.done",):
            items.get(index, {})["arguments"] = event.get("arguments")
        elif kind in _ENDS:
            last = event["response"]
    if not begun:
        return None
    output = [items[index] for index in sorted(items)] or last.get("output") or []
    reply = _reply(last, output)
    # Deltas and ends both count: some servers close a message without repeating its text, and some
    # send no deltas.
    reply.texts = [texts[index] for index in sorted(texts)] or reply.texts
    reply.fault = reply.fault or fault
    return reply
