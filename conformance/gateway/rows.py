"""The rows of the matrix: which SDK drives which dialect, and at which address."""

import json
import pathlib
import re

from gateway import DIALECTS

_HOME = pathlib.Path(__file__).parents[1]


def _pins(name):
    """The versions that a file of requirements pins."""
    return dict(re.findall(r"(?m)^([\w-]+)==(\S+)$", (_HOME / name).read_text("utf-8")))


_JAVASCRIPT = json.loads((_HOME / "js" / "package.json").read_text("utf-8"))["dependencies"]
# By driver: the language of the SDKs, and their versions.
_DRIVERS = {
    "python": ("Python", _pins("requirements.txt")),
    "bearer": ("Python", _pins("requirements.txt")),
    "previous": ("Python", _pins("previous.txt")),
    "js": ("JavaScript", _JAVASCRIPT),
}


class Row:
    """An SDK. `driver` says which process runs it."""

    def __init__(self, dialect, driver, package, note=None):
        self.dialect = dialect
        self.driver = driver
        self.language, pins = _DRIVERS[driver]
        version = ".".join(pins[package].split(".")[:2])
        self.sdk = f"{package} {version}" + (f" ({note})" if note else "")

    @property
    def name(self):
        """Language and SDK."""
        return f"{self.language} {self.sdk}"

    @property
    def keeps_no_ids(self):
        """Whether the SDK drops call ids: the Ollama SDKs send none back, and the Python one shows none."""
        return self.dialect == "ollama"

    @property
    def speaks_http2(self):
        """Whether the SDK uses HTTP/2: the JavaScript AWS SDK does; the fake upstreams do not."""
        return (self.dialect, self.driver) == ("bedrock", "js")

    def base(self, root):
        """The base URL of the SDK if the gateway is at `root`."""
        return root + _GATEWAY.get(self.dialect, "")

    def direct(self, root):
        """The base URL of the SDK if the vendor itself is at `root`."""
        return root + _VENDOR.get(self.dialect, "")


# Mistral's path is OpenAI's, so its clients and DeepSeek's use a prefix for their dialect.
_GATEWAY = {
    "openai-chat": "/v1",
    "openai-responses": "/v1",
    "deepseek": "/deepseek",
    "mistral": "/mistral",
}
_VENDOR = {"openai-chat": "/v1", "openai-responses": "/v1"}

CURRENT = [
    Row("openai-chat", "python", "openai", "chat"),
    Row("openai-responses", "python", "openai", "responses"),
    Row("anthropic", "python", "anthropic"),
    Row("bedrock", "python", "boto3"),
    Row("deepseek", "python", "openai", "DeepSeek"),
    Row("gemini", "python", "google-genai"),
    Row("ollama", "python", "ollama"),
    Row("mistral", "python", "mistralai"),
    Row("cohere", "python", "cohere"),
]
assert [row.dialect for row in CURRENT] == list(DIALECTS)
# botocore sends a bearer key over TLS only.
BEARER = [Row("bedrock", "bearer", "boto3", "bearer key, TLS")]
PREVIOUS = [
    Row("openai-chat", "previous", "openai", "chat"),
    Row("openai-responses", "previous", "openai", "responses"),
    Row("anthropic", "previous", "anthropic"),
    Row("gemini", "previous", "google-genai"),
    Row("mistral", "previous", "mistralai"),
]
JAVASCRIPT = [
    Row("openai-chat", "js", "openai", "chat"),
    Row("openai-responses", "js", "openai", "responses"),
    Row("anthropic", "js", "@anthropic-ai/sdk"),
    Row("bedrock", "js", "@aws-sdk/client-bedrock-runtime"),
    Row("gemini", "js", "@google/genai"),
    Row("ollama", "js", "ollama"),
    Row("mistral", "js", "@mistralai/mistralai"),
    Row("cohere", "js", "cohere-ai"),
]
ALL = CURRENT + BEARER + PREVIOUS + JAVASCRIPT
