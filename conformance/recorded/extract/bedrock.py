"""AWS Bedrock Converse."""

import json
import struct

import frames
from recorded.facts import Call, Reply, Request, Result, arguments, counts_beside_cache, loads

_STOPS = {
    "end_turn": "end",
    "tool_use": "tool",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "stop_sequence": "stop_sequence",
    "guardrail_intervened": "filter",
    "content_filtered": "filter",
    "malformed_model_output": "malformed",
    "malformed_tool_use": "malformed",
}
_OWN = "server_tool_use"


def request(path, body):
    """A request."""
    found = Request()
    for index, block in enumerate(body.get("system") or []):
        found.say("system", block.get("text"), f"/system/{index}")
    for number, message in enumerate(body.get("messages") or []):
        for index, block in enumerate(message["content"]):
            at = f"/messages/{number}/content/{index}"
            found.say(message["role"], block.get("text"), at)
            cited = (block.get("citationsContent") or {}).get("content") or []
            found.say(message["role"], "".join(each.get("text", "") for each in cited), at)
            found.items += _call(block, at)
            result = block.get("toolResult")
            if result and message["role"] == "user":
                failed = result.get("status") == "error"
                value = _value(result.get("content") or [])
                found.items.append(Result(result.get("toolUseId"), None, value, at, failed))
    tools = (body.get("toolConfig") or {}).get("tools") or []
    found.tools = [each["toolSpec"]["name"] for each in tools if "toolSpec" in each]
    return found


def _value(content):
    values = [block.get("text", block.get("json")) for block in content]
    values = [value for value in values if value is not None]
    if len(values) == 1:
        return values[0]
    return "".join(each if isinstance(each, str) else json.dumps(each) for each in values)


def _call(block, at):
    call = block.get("toolUse")
    if call and call.get("type") != _OWN:
        yield Call(call.get("toolUseId"), call["name"], arguments(call.get("input")), at)


def response(body):
    """A whole reply."""
    message = (body.get("output") or {}).get("message")
    if message is None:
        return None
    said, found = [], []
    for index, block in enumerate(message.get("content") or []):
        said += [block["text"]] if block.get("text") else []
        cited = (block.get("citationsContent") or {}).get("content") or []
        said += [each["text"] for each in cited if each.get("text")]
        found += _call(block, f"/output/message/content/{index}")
    return Reply(said, found, _stop(body.get("stopReason")), _usage(body.get("usage")))


def _stop(reason):
    return _STOPS.get(reason or "end_turn", reason)


def _usage(wire):
    if not wire:
        return {}
    fresh, read = wire.get("inputTokens"), wire.get("cacheReadInputTokens")
    written = wire.get("cacheWriteInputTokens")
    return counts_beside_cache(fresh, read, written, wire.get("outputTokens"))


def _headers(data):
    found, at = {}, 0
    while at < len(data):
        length = data[at]
        name = data[at + 1 : at + 1 + length].decode()
        (size,) = struct.unpack_from(">H", data, at + 2 + length)
        start = at + 4 + length
        found[name] = data[start : start + size].decode()
        at = start + size
    return found


def stream(data):
    """A stream of AWS frames."""
    blocks, reason, wire, fault, begun = {}, None, None, False, False
    for headers, payload in frames.aws(data):
        name = _headers(headers)
        begun = True
        if name.get(":message-type") != "event":
            fault = True
            continue
        event, name = loads(payload), name[":event-type"]
        index = event.get("contentBlockIndex")
        if name == "contentBlockStart":
            blocks[index] = {**event["start"], "fragments": ""}
        elif name == "contentBlockDelta":
            block, delta = blocks.setdefault(index, {"fragments": ""}), event["delta"]
            block["text"] = block.get("text", "") + (delta.get("text") or "")
            block["fragments"] += (delta.get("toolUse") or {}).get("input") or ""
        elif name == "messageStop":
            reason = event["stopReason"]
        elif name == "metadata":
            wire = event.get("usage")
    if not begun:
        return None
    content = []
    for index in sorted(blocks):
        block = blocks[index]
        if "toolUse" in block:
            block["toolUse"] = {**block["toolUse"], "input": arguments(block["fragments"])}
        content.append(block)
    reply = response({"output": {"message": {"content": content}}, "stopReason": reason, "usage": wire})
    reply.fault = fault
    return reply
