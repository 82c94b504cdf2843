"""Google Gemini."""

import json

from agents.vendors import Item, image, names, pieces, usage
from strict import need

# The placeholder for calls that no Gemini model made.
SKIPPED = "skip_thought_signature_validator"


def get(value, key):
    """A field, in camel or snake case: the API accepts both."""
    snake = "".join("_" + each.lower() if each.isupper() else each for each in key)
    return value.get(key, value.get(snake))


def is_stream(path, body):
    """Whether the client asked for a stream."""
    return "streamGenerateContent" in path


def offered(body):
    """The tools: name to schema."""
    return {
        each["name"]: get(each, "parametersJsonSchema") or each.get("parameters") or {}
        for tool in body.get("tools") or []
        for each in get(tool, "functionDeclarations") or []
    }


def items(body):
    """The conversation."""
    system = get(body, "systemInstruction") or {"parts": []}
    found = [Item("system", part.get("text", "")) for part in system["parts"]]
    for content in body["contents"]:
        role = "assistant" if content.get("role") == "model" else "user"
        for part in content["parts"]:
            if part.get("thought"):
                continue
            if call := get(part, "functionCall"):
                if signature := get(part, "thoughtSignature"):
                    found.append(Item("opaque", signature))
                given = call.get("args") or {}
                found.append(Item("call", id=call.get("id"), name=call["name"], arguments=given))
            elif own := get(part, "functionResponse"):
                text = json.dumps(own["response"], ensure_ascii=False)
                media = [_image(each) for each in own.get("parts") or []]
                found.append(Item("result", text, media, own.get("id"), own["name"]))
            elif get(part, "inlineData"):
                found.append(Item(role, media=[_image(part)]))
            elif part.get("text"):
                found.append(Item(role, part["text"]))
    return found


def _image(part):
    own = get(part, "inlineData")
    return image(own["data"], get(own, "mimeType"))


def rules(body, cell):
    """Rejects requests that the vendor rejects."""
    names(list(offered(body)), r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}", 512)
    choice = get(get(body, "toolConfig") or {}, "functionCallingConfig") or {}
    need(offered(body) or not choice, "toolConfig", "function calling config without functions")
    contents = body["contents"]
    need(contents, "contents", "contents is not specified")
    waiting = 0
    asked = max((at for at, each in enumerate(contents) if _is_question(each)), default=0)
    for number, content in enumerate(contents):
        at, parts = f"contents[{number}]", content["parts"]
        need(parts, at, "parts must not be empty")
        results = [bool(get(part, "functionResponse")) for part in parts]
        count = sum(results)
        need(count == waiting, at, f"{count} function response parts for {waiting} function calls")
        need(results == sorted(results, reverse=True), at, "functionResponse after other parts")
        calls = [part for part in parts if get(part, "functionCall")]
        need(not calls or content.get("role") == "model", at, "functionCall of user")
        signed = not calls or number < asked or get(calls[0], "thoughtSignature")
        need(signed, at, "the first functionCall is missing a thought_signature")
        waiting = len(calls)
    need(not waiting, "contents", "the last calls have no responses")
    need(contents[-1].get("role", "user") == "user", "contents", "the last role is not user")


def _is_question(content):
    """Whether a content is a user's question, which starts a turn."""
    found = any(get(part, "functionResponse") for part in content["parts"])
    return content.get("role", "user") == "user" and not found


def _parts(reply):
    found = [{"text": reply.text}] if reply.text else []
    for number, (id, name, given) in enumerate(reply.calls):
        part = {"functionCall": {"id": id, "name": name, "args": given}}
        if number == 0:
            part["thoughtSignature"] = reply.opaque
        found.append(part)
    return found


def _response(reply, parts, finish):
    came, went = usage(reply)
    candidate = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = "STOP"
    counts = {
        "promptTokenCount": came,
        "candidatesTokenCount": went,
        "totalTokenCount": came + went,
    }
    return {
        "candidates": [candidate],
        "modelVersion": reply.model,
        "responseId": f"{reply.tag}{reply.number}",
        "usageMetadata": counts,
    }


def whole(reply):
    """A reply."""
    return json.dumps(_response(reply, _parts(reply), True))


def stream(reply):
    """A reply in chunks; calls are not split."""
    parts = [{"text": piece} for piece in pieces(reply.text)]
    parts += [part for part in _parts(reply) if "text" not in part]
    chunks = [_response(reply, [part], False) for part in parts]
    chunks.append(_response(reply, [{"text": ""}], True))
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)


def error(message):
    """An error body."""
    return {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}
