"""The rows of the matrix: which SDK drives which dialect, and where it is pointed."""

from gateway import DIALECTS


class Row:
    """An SDK. `driver` says which process runs it."""

    def __init__(self, dialect, driver, name):
        self.dialect = dialect
        self.driver = driver
        self.name = name

    @property
    def speaks_http2(self):
        """The AWS SDK of JavaScript does, without asking; the fake upstreams do not."""
        return (self.dialect, self.driver) == ("bedrock", "js")

    @property
    def keeps_no_ids(self):
        """The Ollama SDK of Python shows no ids of calls."""
        return self.dialect == "ollama"

    def base(self, root):
        """What the SDK gets as its base address, where the gateway is at `root`."""
        return root + _GATEWAY.get(self.dialect, "")

    def direct(self, root):
        """The same where the vendor itself is at `root`."""
        return root + _VENDOR.get(self.dialect, "")


# Mistral's path is OpenAI's, so its clients and DeepSeek's say whose dialect they speak.
_GATEWAY = {
    "openai-chat": "/v1",
    "openai-responses": "/v1",
    "deepseek": "/deepseek",
    "mistral": "/mistral",
}
_VENDOR = {"openai-chat": "/v1", "openai-responses": "/v1"}

CURRENT = [Row(dialect, "python", dialect) for dialect in DIALECTS]
PREVIOUS = [
    Row("openai-chat", "previous", "openai 1 (chat)"),
    Row("openai-responses", "previous", "openai 1 (responses)"),
    Row("anthropic", "previous", "anthropic 0"),
    Row("gemini", "previous", "google-genai 1"),
    Row("mistral", "previous", "mistralai 1"),
]
JAVASCRIPT = [
    Row("openai-chat", "js", "openai (chat)"),
    Row("openai-responses", "js", "openai (responses)"),
    Row("anthropic", "js", "@anthropic-ai/sdk"),
    Row("bedrock", "js", "@aws-sdk/client-bedrock-runtime"),
    Row("gemini", "js", "@google/genai"),
    Row("ollama", "js", "ollama"),
    Row("mistral", "js", "@mistralai/mistralai"),
    Row("cohere", "js", "cohere-ai"),
]
