"""AWS Bedrock Converse."""

import json

import frames
from agents.vendors import Item, image, names, pieces, usage
from strict import need


def is_stream(path, body):
    """Whether the client asked for a stream."""
    return path.endswith("/converse-stream")


def offered(body):
    """The tools: name to schema."""
    return {
        tool["toolSpec"]["name"]: tool["toolSpec"]["inputSchema"]["json"]
        for tool in (body.get("toolConfig") or {}).get("tools", [])
        if "toolSpec" in tool
    }


def items(body):
    """The conversation."""
    found = [Item("system", block["text"]) for block in body.get("system") or [] if "text" in block]
    for message in body["messages"]:
        for block in message["content"]:
            if "text" in block:
                found.append(Item(message["role"], block["text"]))
            elif "image" in block:
                found.append(Item(message["role"], media=[_image(block)]))
            elif "toolUse" in block:
                own = block["toolUse"]
                call = Item("call", id=own["toolUseId"], name=own["name"], arguments=own["input"])
                found.append(call)
            elif "toolResult" in block:
                found.append(_result(block["toolResult"]))
            elif "reasoningContent" in block:
                text = block["reasoningContent"].get("reasoningText", {})
                found.append(Item("opaque", text.get("signature", "")))
    return found


def _result(own):
    text, media = "", []
    for part in own["content"]:
        text += part.get("text", "")
        text += json.dumps(part["json"], ensure_ascii=False) if "json" in part else ""
        media += [_image(part)] if "image" in part else []
    return Item("result", text, media, own["toolUseId"])


def _image(block):
    own = block["image"]
    return image(own["source"]["bytes"], f"image/{own['format']}")


def rules(body, cell):
    """Rejects requests that the vendor rejects."""
    messages = body["messages"]
    roles = [message["role"] for message in messages]
    alternate = all(one != other for one, other in zip(roles, roles[1:]))
    need(alternate, "messages", f"roles {roles} do not alternate")
    need(roles[0] == "user", "messages", "a conversation must start with a user message")
    need(roles[-1] == "user", "messages", "the last message is of assistant: a prefill")
    names(list(offered(body)), r"[a-zA-Z0-9_-]{1,64}")
    need(body.get("toolConfig") is None or offered(body), "toolConfig", "no tools")
    waiting = []
    for number, message in enumerate(messages):
        at, blocks = f"messages.{number}", message["content"]
        for block in blocks:
            blank = "text" in block and not block["text"].strip()
            need(not blank, at, "the text field in a ContentBlock is blank")
        results = [block["toolResult"]["toolUseId"] for block in blocks if "toolResult" in block]
        fine = sorted(results) == sorted(waiting)
        need(fine, at, f"expected toolResult blocks for {waiting}, got {results}")
        waiting = [block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block]
        used = results or waiting
        need(not used or offered(body), at, "toolConfig must be defined for toolUse and toolResult")
    need(not waiting, "messages", f"no toolResult for {waiting}")
    config = body.get("inferenceConfig") or {}
    both = "temperature" in config and "topP" in config
    need(not both, "sampling", "`temperature` and `top_p` cannot both be specified")


def _content(reply):
    found = [{"text": reply.text}] if reply.text else []
    for id, name, given in reply.calls:
        found.append({"toolUse": {"toolUseId": id, "name": name, "input": given}})
    return found


def _usage(reply):
    came, went = usage(reply)
    return {"inputTokens": came, "outputTokens": went, "totalTokens": came + went}


def _stop(reply):
    return "tool_use" if reply.calls else "end_turn"


def whole(reply, call_type="tool_use"):
    """A reply. Claude 4.5 and later put a `type` into each call."""
    content = _content(reply)
    for block in content:
        if "toolUse" in block and call_type:
            block["toolUse"]["type"] = call_type
    message = {"role": "assistant", "content": content}
    found = {"output": {"message": message}, "stopReason": _stop(reply), "usage": _usage(reply)}
    return json.dumps({**found, "metrics": {"latencyMs": 12}})


def stream(reply, call_type="tool_use"):
    """A reply in frames."""
    events = [("messageStart", {"role": "assistant"})]
    for index, block in enumerate(_content(reply)):
        at = {"contentBlockIndex": index}
        if "text" in block:
            deltas = [{"text": piece} for piece in pieces(block["text"])]
        else:
            own = dict(block["toolUse"])
            text = json.dumps(own.pop("input"), ensure_ascii=False)
            own |= {"type": call_type} if call_type else {}
            start = {"toolUse": own}
            events.append(("contentBlockStart", {**at, "start": start}))
            deltas = [{"toolUse": {"input": piece}} for piece in pieces(text)]
        events += [("contentBlockDelta", {**at, "delta": delta}) for delta in deltas]
        events.append(("contentBlockStop", at))
    events.append(("messageStop", {"stopReason": _stop(reply)}))
    events.append(("metadata", {"usage": _usage(reply), "metrics": {"latencyMs": 12}}))
    return b"".join(_frame(name, payload) for name, payload in events)


def _frame(name, payload):
    words = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        bytes([len(key)]) + key.encode() + b"\7" + len(word).to_bytes(2, "big") + word.encode()
        for key, word in words.items()
    )
    return frames.aws_frame(headers, json.dumps(payload).encode())


def error(message):
    """An error body."""
    return {"message": message}
