"""Google Gemini, which requires as many responses as calls and its signature on the first call."""

import base64
import json

from gateway.upstreams import Request, follows
from strict import need

DIALECT = "gemini"
TOOLS, FINAL = "gemini_tools.json", "gemini_final.json"
TOOLS_STREAM, FINAL_STREAM = "gemini_stream.txt", "gemini_stream_text.txt"
IDS = (("fc-", "7f3a"), ("fc-", "7f3b"))
OPAQUE = ("b3BhcXVlLXRob3VnaHQtc2lnbmF0dXJl",)
MODEL = "gemini-3.8-flash-{}"
CONTENT_TYPE = "text/event-stream"


def opaque(tag):
    """A signature unique to this cell."""
    return (base64.b64encode(f"opaque-{tag}".encode()).decode(),)


def paths(model, stream):
    """The accepted paths."""
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return f"/v1beta/models/{model}:{verb}", f"/v1/models/{model}:{verb}"


def credential(headers, key):
    """Checks the key, in Google's own header."""
    found = headers.get("x-goog-api-key")
    return (
        None if found == key and "authorization" not in headers else "x-goog-api-key is not the key"
    )


def read(path, body):
    """Reads a request; the API accepts camel and snake case."""
    contents = [(content.get("role", "user"), content["parts"]) for content in body["contents"]]
    follows(
        contents,
        lambda each: any(_get(part, "functionCall") for part in each[1]),
        lambda each: any(_get(part, "functionResponse") for part in each[1]),
        "order",
    )
    parts = [part for _, each in contents for part in each]
    calls = [part for part in parts if _get(part, "functionCall")]
    responses = [found for part in parts if (found := _get(part, "functionResponse"))]
    need(len(calls) == len(responses), "count", f"{len(responses)} responses to {len(calls)} calls")
    signed = [bool(_get(part, "thoughtSignature")) for part in calls]
    need(not calls or signed[0], "thoughtSignature", "missing on the first functionCall")
    declared = [each for tool in body["tools"] for each in _get(tool, "functionDeclarations") or []]
    system = _get(body, "systemInstruction") or {"parts": []}
    return Request(
        stream="streamGenerateContent" in path,
        system=_text(system["parts"]),
        prompt="\n".join(_text(each) for role, each in contents if role == "user"),
        tools={
            each["name"]: (
                each.get("description"),
                _get(each, "parametersJsonSchema") or each.get("parameters"),
            )
            for each in declared
        },
        calls=[
            (call.get("id"), call["name"], call.get("args", {}))
            for call in (_get(part, "functionCall") for part in calls)
        ],
        results=[
            (found.get("id"), found["name"], json.dumps(found["response"], ensure_ascii=False))
            for found in responses
        ],
        opaque=[found for part in calls if (found := _get(part, "thoughtSignature"))],
    )


def _get(value, key):
    snake = "".join("_" + each.lower() if each.isupper() else each for each in key)
    return value.get(key, value.get(snake))


def _text(parts):
    return "".join(part.get("text", "") for part in parts if not part.get("thought"))
