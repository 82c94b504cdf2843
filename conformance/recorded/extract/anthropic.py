"""Anthropic Messages."""

from recorded.extract import sse
from recorded.facts import Call, Reply, Request, Result, arguments, counts_beside_cache

_STOPS = {
    "end_turn": "end",
    "tool_use": "tool",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
    "pause_turn": "pause",
    "compaction": "pause",
}


def request(path, body):
    """A request."""
    found = Request()
    for text, place in _texts(body.get("system"), "/system"):
        found.say("system", text, place)
    for number, message in enumerate(body.get("messages") or []):
        at = f"/messages/{number}/content"
        content = message.get("content")
        if isinstance(content, str):
            found.say(message["role"], content, at)
            continue
        for index, block in enumerate(content or []):
            place = f"{at}/{index}"
            if block["type"] == "text":
                found.say(message["role"], block.get("text"), place)
            elif block["type"] == "tool_use":
                given = arguments(block.get("input"))
                found.items.append(Call(block.get("id"), block["name"], given, place))
            elif block["type"] == "tool_result":
                value = "".join(text for text, _ in _texts(block.get("content"), ""))
                failed = block.get("is_error") is True
                result = Result(block.get("tool_use_id"), None, value, place, failed)
                found.items.append(result)
    found.tools = [
        each["name"] for each in body.get("tools") or [] if each.get("type", "custom") == "custom"
    ]
    return found


def _texts(content, at):
    if isinstance(content, str):
        yield content, at
        return
    for index, block in enumerate(content or []):
        if isinstance(block, dict) and block.get("type") == "text":
            yield block.get("text") or "", f"{at}/{index}"


def response(body):
    """A whole reply."""
    if body.get("type") != "message" and "content" not in body:
        return None
    said, found = [], []
    for index, block in enumerate(body.get("content") or []):
        if block["type"] == "text":
            said += [block["text"]] if block.get("text") else []
        elif block["type"] == "tool_use":
            given = arguments(block.get("input"))
            found.append(Call(block.get("id"), block["name"], given, f"/content/{index}"))
    return Reply(said, found, _stop(body.get("stop_reason")), _usage(body.get("usage")))


def _stop(reason):
    return _STOPS.get(reason or "end_turn", reason)


def _usage(wire):
    if not wire:
        return {}
    fresh, read = wire.get("input_tokens"), wire.get("cache_read_input_tokens")
    written = wire.get("cache_creation_input_tokens")
    return counts_beside_cache(fresh, read, written, wire.get("output_tokens"))


def stream(data):
    """A stream; the counts of `message_delta` replace those of `message_start`."""
    blocks, reason, wire, begun, fault = {}, None, {}, False, False
    base = 0
    for event in sse.events(data):
        kind = event.get("type")
        begun = begun or kind in ("message_start", "error")
        if kind == "message_start":
            # A server that restarts the message has already sent the earlier blocks.
            base = len(blocks)
            wire.update(event["message"].get("usage") or {})
        elif kind == "message_stop":
            break
        elif kind == "content_block_start":
            blocks[base + event["index"]] = {**event["content_block"], "json": ""}
        elif kind == "content_block_delta":
            block, delta = blocks[base + event["index"]], event["delta"]
            if delta["type"] == "text_delta":
                block["text"] = block.get("text", "") + delta["text"]
            elif delta["type"] == "input_json_delta":
                block["json"] += delta["partial_json"]
        elif kind == "message_delta":
            reason = event["delta"].get("stop_reason") or reason
            counted = event.get("usage") or {}
            wire.update({key: value for key, value in counted.items() if value is not None})
        elif kind == "error":
            fault = True
    if not begun:
        return None
    content = []
    for index in sorted(blocks):
        block = blocks[index]
        if block["json"]:
            block["input"] = arguments(block["json"])
        content.append(block)
    reply = response({"type": "message", "content": content, "stop_reason": reason, "usage": wire})
    reply.fault = fault
    return reply
