"""One module for each dialect, each with the same five checks.

`request(path, body)`, `tools(tools)` and `fault(status, headers, body)` return nothing;
`response(body)` and `stream(data)` return the calls that the SDK found, as `(name, arguments)`
with the arguments as an object or as the text on the wire. All raise `Rejected`.
"""

import importlib

# The chat dialects: all except MCP
CHAT = (
    "openai-chat",
    "openai-responses",
    "anthropic",
    "bedrock",
    "deepseek",
    "gemini",
    "ollama",
    "mistral",
    "cohere",
)
IDS = (*CHAT, "mcp")


def module(dialect):
    """The checks of a dialect."""
    return importlib.import_module("dialects." + dialect.replace("-", "_"))
