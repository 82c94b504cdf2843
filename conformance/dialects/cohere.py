"""Cohere v2, checked with the cohere SDK."""

import inspect
import typing

import cohere
import pydantic
from cohere.core.api_error import ApiError
from cohere.v2.client import V2Client
from cohere.v2.types import V2ChatResponse, V2ChatStreamResponse

import frames
import loopback
from strict import Rejected, check, need

PATH = "/v2/chat"
# The first event repeats the empty message; the SDK declares only its role.
_START = ("/delta/message/*",)
_client = cohere.ClientV2(api_key="x", base_url=loopback.URL)
_asked = {
    "model": "m",
    "messages": [{"role": "user", "content": "x"}],
    "request_options": {"max_retries": 0},
}


def _body():
    """Checks a body without an SDK type: its keys are the parameters of the SDK's method."""
    fields = {"stream": (typing.Optional[bool], None)}
    for name, parameter in inspect.signature(V2Client.chat).parameters.items():
        if name not in ("self", "request_options"):
            default = ... if name in ("model", "messages") else None
            fields[name] = (parameter.annotation, default)
    config = pydantic.ConfigDict(extra="forbid")
    return pydantic.create_model("V2ChatBody", __config__=config, **fields)


_BODY = _body()


def request(path, body):
    """A request."""
    need(path == PATH, "path", f"{path!r} is not {PATH}")
    check(_BODY, body)
    # The SDK types it as an open string; the API accepts these two.
    choice = body.get("tool_choice", "NONE")
    need(choice in ("REQUIRED", "NONE"), "tool_choice", f"{choice!r} is not REQUIRED or NONE")


def tools(tools):
    """Tools of a request."""
    for tool in tools:
        check(cohere.ToolV2, tool)


def response(body):
    """A whole reply."""
    check(V2ChatResponse, body)
    need(
        body["finish_reason"] in _FINISH,
        "V2ChatResponse",
        f"finish_reason {body['finish_reason']!r}",
    )
    loopback.answer_json(body)
    message = _client.chat(**_asked).message
    return [(call.function.name, call.function.arguments) for call in message.tool_calls or []]


_FINISH = ("COMPLETE", "STOP_SEQUENCE", "MAX_TOKENS", "TOOL_CALL")


def stream(data):
    """A stream: each event by its type, and the whole with the SDK; calls are joined by index."""
    events = frames.sse(data)
    if events[-1].data == "[DONE]":
        events.pop()
    frames.named(events, "V2ChatStreamResponse")
    for event in events:
        also = _START if event.name == "message-start" else ()
        check(V2ChatStreamResponse, event.json, "V2ChatStreamResponse", also)
    last = events[-1].name
    need(last == "message-end", "V2ChatStreamResponse", f"the stream ends with {last}")
    loopback.answer_bytes(data, "text/event-stream")
    calls, finish = {}, None
    try:
        for event in _client.chat_stream(**_asked):
            if event.type == "tool-call-start":
                function = event.delta.message.tool_calls.function
                calls[event.index] = [function.name, function.arguments or ""]
            elif event.type == "tool-call-delta":
                calls[event.index][1] += event.delta.message.tool_calls.function.arguments
            elif event.type == "message-end":
                finish = event.delta.finish_reason
    except Exception as error:
        raise Rejected("chat_stream", repr(error)) from None
    need(finish in _FINISH, "chat_stream", f"finish_reason {finish!r}")
    return [tuple(call) for _, call in sorted(calls.items())]


def fault(status, headers, body):
    """An error body."""
    need(isinstance(body.get("message"), str), "ApiError", "message is not a string")
    loopback.answer_json(body, status, headers)
    try:
        _client.chat(**_asked)
    except ApiError as error:
        need(error.status_code == status, "ApiError", f"status {error.status_code}")
    else:
        raise Rejected("ApiError", "the SDK took it for an answer")
