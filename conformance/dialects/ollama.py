"""Ollama, checked with the ollama SDK."""

import base64
import binascii
import datetime

import ollama
from ollama._types import ChatRequest

import frames
import loopback
from strict import Rejected, check, need

PATH = "/api/chat"
_client = ollama.Client(host=loopback.URL)
_asked = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
# The server has them, the Python SDK does not yet.
_IDS = ("*/tool_calls/*/id", "*/tool_calls/*/function/index", "/tool_call_id")


def request(path, body):
    """A request."""
    need(path == PATH, "path", f"{path!r} is not {PATH}")
    need(body.get("messages"), "ChatRequest", "no messages")
    check(ChatRequest, {key: value for key, value in body.items() if key != "tools"})
    tools(body.get("tools") or [])
    for message in body["messages"]:
        # On the wire an image is base64; the SDK's type is what its user passes.
        images = message.get("images") or []
        check(
            ollama.Message, {**message, "images": [{"value": each} for each in images]}, also=_IDS
        )
        for image in images:
            _base64(image)


def _base64(image):
    try:
        base64.b64decode(image, validate=True)
    except binascii.Error as error:
        raise Rejected("Image", str(error)) from None


def tools(tools):
    """Tools of a request. Keywords that the server's schema type lacks are ignored, as the server does."""
    for tool in tools:
        need(tool.get("type") == "function", "Tool", "type is not function")
        function = tool["function"]
        need(isinstance(function.get("name"), str), "Tool", "no name")
        parameters = function.get("parameters")
        need(isinstance(parameters, dict), "Tool", "parameters is not an object")
        rest = {key: value for key, value in function.items() if key != "parameters"}
        check(ollama.Tool, {**tool, "function": rest})
        check(ollama.Tool.Function.Parameters, parameters, also=("*",))


def _calls(message):
    return [
        (call.function.name, dict(call.function.arguments)) for call in message.tool_calls or []
    ]


def _checked(body):
    check(ollama.ChatResponse, body, also=_IDS)
    need(isinstance(body.get("done"), bool), "ChatResponse", "done is not a boolean")
    need(isinstance(body.get("model"), str), "ChatResponse", "no model")
    try:
        datetime.datetime.fromisoformat(body["created_at"])
    except (KeyError, ValueError) as error:
        raise Rejected("ChatResponse", f"created_at: {error!r}") from None


def response(body):
    """A whole reply."""
    _checked(body)
    need(body["done"], "ChatResponse", "a whole reply that is not done")
    loopback.answer_json(body)
    return _calls(_client.chat(**_asked).message)


def stream(data):
    """A stream: each line by its type, and the whole with the SDK."""
    lines = frames.ndjson(data)
    for line in lines:
        _checked(line)
    need(
        [line["done"] for line in lines].index(True) == len(lines) - 1,
        "ChatResponse",
        "done before the end",
    )
    loopback.answer_bytes(data, "application/x-ndjson")
    try:
        return [
            call for chunk in _client.chat(**_asked, stream=True) for call in _calls(chunk.message)
        ]
    except Exception as error:
        raise Rejected("chat", repr(error)) from None


def fault(status, headers, body):
    """An error body."""
    need(isinstance(body.get("error"), str), "ResponseError", "error is not a string")
    loopback.answer_json(body, status, headers)
    try:
        _client.chat(**_asked)
    except ollama.ResponseError as error:
        need(error.status_code == status, "ResponseError", f"status {error.status_code}")
        need(error.error == body["error"], "ResponseError", "another message")
    else:
        raise Rejected("ResponseError", "the SDK took it for an answer")
