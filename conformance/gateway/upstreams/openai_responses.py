"""OpenAI Responses."""

from gateway.upstreams import Request, arguments, bearer, text
from strict import need

DIALECT = "openai-responses"
TOOLS, FINAL = "openai_responses_tools.json", "openai_responses_final.json"
TOOLS_STREAM, FINAL_STREAM = "openai_responses_stream.txt", "openai_responses_stream_text.txt"
IDS = (("call_", "W8xw01aZ"), ("call_", "F9yq02bY"))
OPAQUE = ("gAAAAABo-ENCRYPTED-opaque==",)
MODEL = "gpt-6-astra-{}"
CONTENT_TYPE = "text/event-stream"

credential = bearer


def opaque(tag):
    """Reasoning unique to this cell."""
    return (f"gAAAAABo-{tag}==",)


def paths(model, stream):
    """The accepted paths."""
    return ("/v1/responses",)


def read(path, body):
    """Reads a request."""
    items = body["input"]
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    calls = [item for item in items if item.get("type") == "function_call"]
    results = [item for item in items if item.get("type") == "function_call_output"]
    for item in calls:
        need(item.get("id", "fc_").startswith("fc_"), "function_call", f"id {item.get('id')!r}")
    system = [
        text(item["content"]) for item in items if item.get("role") in ("system", "developer")
    ]
    return Request(
        stream=body.get("stream") or False,
        system="\n".join([body.get("instructions") or "", *system]),
        prompt="\n".join(text(item["content"]) for item in items if item.get("role") == "user"),
        tools={
            tool["name"]: (tool.get("description"), tool["parameters"]) for tool in body["tools"]
        },
        calls=[(item["call_id"], item["name"], arguments(item["arguments"])) for item in calls],
        results=[(item["call_id"], None, text(item["output"])) for item in results],
        opaque=[item["encrypted_content"] for item in items if item.get("encrypted_content")],
    )
