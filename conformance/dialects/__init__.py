"""One module a dialect, each with the same five judges.

`request(path, body)`, `tools(tools)` and `fault(status, headers, body)` return nothing;
`response(body)` and `stream(data)` return the calls that the SDK found, as `(name, arguments)`
with the arguments as an object or as the text that the wire carried. All raise `Rejected`.
"""

import importlib

# Those in which one can chat, which is all but MCP
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
    """The judges of a dialect."""
    return importlib.import_module("dialects." + dialect.replace("-", "_"))
