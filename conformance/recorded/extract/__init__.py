"""One module for each dialect, with `request(path, body)`, `response(body)` and `stream(data)`.

`response` and `stream` return None for a document that is not a reply.
"""

import importlib

# OpenAI-compatible vendors, and DeepSeek, which reply in the format of Chat Completions
_CHAT = ("deepseek", "groq", "moonshot", "openrouter", "qwen", "xai", "zhipu")


def module(dialect):
    """The extractor of a dialect or of a vendor."""
    name = "openai_chat" if dialect in _CHAT else dialect.replace("-", "_")
    return importlib.import_module("recorded.extract." + name)
