"""DeepSeek: the openai SDK's types and the keys that DeepSeek adds to them."""

import re

from dialects import openai_chat
from strict import need

PATH = r"(/v1|/beta)?/chat/completions"
_REQUEST = ("reasoning_content", "thinking")
_REPLY = ("*/reasoning_content", "/usage/prompt_cache_*_tokens")


def request(path, body):
    """A request."""
    need(re.fullmatch(PATH, path), "path", f"{path!r} is not {PATH}")
    openai_chat.request("/chat/completions", body, _REQUEST)


def response(body):
    """A whole reply."""
    return openai_chat.response(body, _REPLY)


def stream(data):
    """A stream."""
    return openai_chat.stream(data, _REPLY)


tools = openai_chat.tools
fault = openai_chat.fault
