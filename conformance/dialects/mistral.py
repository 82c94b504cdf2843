"""Mistral, checked with the mistralai SDK."""

import json
import re

from mistralai.client import Mistral, errors, models

import frames
import loopback
from strict import Rejected, check, need

PATH = "/v1/chat/completions"
_ID = r"[A-Za-z0-9]{9}"
# Mistral's usage is open: it has counts that the SDK does not declare.
_USAGE = ("/usage/*",)
_client = Mistral(api_key="x", server_url=loopback.URL)
_asked = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


def request(path, body):
    """A request: its types, and two rules of the API beyond the types."""
    need(path == PATH, "path", f"{path!r} is not {PATH}")
    check(models.ChatCompletionRequest, body)
    before = None
    for number, message in enumerate(body["messages"]):
        at = f"messages/{number}"
        ids = [call.get("id") for call in message.get("tool_calls") or []]
        ids += [message["tool_call_id"]] if message.get("tool_call_id") else []
        for found in ids:
            need(re.fullmatch(_ID, found or ""), "code 3280", f"{at}: id {found!r} is not {_ID}")
        pair = (before, message["role"])
        need(pair != ("user", "tool"), "code 3230", f"{at}: {pair}")
        before = message["role"]


def tools(tools):
    """Tools of a request."""
    for tool in tools:
        check(models.ChatCompletionRequestTool, tool, "ChatCompletionRequestTool")


def _calls(message):
    return [(call.function.name, call.function.arguments) for call in message.tool_calls or []]


def response(body):
    """A whole reply."""
    check(models.ChatCompletionResponse, body, also=_USAGE)
    loopback.answer_json(body)
    return _calls(_client.chat.complete(**_asked).choices[0].message)


def stream(data):
    """A stream: each chunk by its type, and the whole with the SDK."""
    events = frames.sse(data)
    frames.unnamed(events, "CompletionChunk")
    for event in frames.done(events, "CompletionChunk"):
        check(models.CompletionChunk, event.json, also=_USAGE)
    loopback.answer_bytes(data, "text/event-stream")
    calls, finish = [], None
    try:
        for event in _client.chat.stream(**_asked):
            for choice in event.data.choices:
                calls += _calls(choice.delta)
                finish = choice.finish_reason or finish
    except Exception as error:
        raise Rejected("chat.stream", repr(error)) from None
    need(finish, "chat.stream", "no finish_reason in the stream")
    return calls


def fault(status, headers, body):
    """An error body, in the form of the API or of its validator."""
    loopback.answer_json(body, status, headers)
    try:
        _client.chat.complete(**_asked)
    except errors.HTTPValidationError as error:
        need(error.status_code == status, "HTTPValidationError", f"status {error.status_code}")
        need(isinstance(body.get("detail"), list), "HTTPValidationError", "detail is not a list")
    except errors.SDKError as error:
        need(error.status_code == status, "SDKError", f"status {error.status_code}")
        need(json.loads(error.body).get("object") == "error", "SDKError", "object is not error")
        need(isinstance(body.get("message"), str), "SDKError", "message is not a string")
    else:
        raise Rejected("SDKError", "the SDK took it for an answer")
