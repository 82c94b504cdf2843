"""The running gateway between the vendors' own SDKs and fake upstreams.

A cell is one client, one upstream, whole or streaming: a turn that calls two tools at once, and one
that sends their results back. `clients/` has a driver a dialect, `upstreams/` a vendor a dialect.
"""

DIALECTS = (
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
