"""The clients: their packages and environments, and how they are configured for the gateway.

Imports the standard library only, so that any Python can list what must be installed.
"""

import json
import pathlib
import re

from agents import scenario
from dialects import CHAT as DIALECTS

_HOME = pathlib.Path(__file__).parent
# Upstreams for clients that start a process for each conversation.
_FEW = ("openai-chat", "openai-responses", "anthropic", "bedrock", "gemini", "mistral")
# Upstreams and clients of a run that takes a few minutes.
_QUICK = ("openai-chat", "anthropic", "gemini", "mistral")
_QUICK_AGENTS = ("openai-chat", "anthropic")
_QUICK_CLIENTS = (
    "openai-agents",
    "pydantic-ai",
    "ai",
    "claude-code",
    "codex",
    "gemini-cli",
    "opencode",
)
# The gateway's path of a dialect; Mistral's and DeepSeek's own paths are OpenAI's.
_PATHS = {
    "openai-chat": "/v1",
    "openai-responses": "/v1",
    "deepseek": "/deepseek",
    "mistral": "/mistral",
}


def _pins(environment):
    """The versions that an environment pins."""
    if environment == "js":
        return json.loads((_HOME / "js" / "package.json").read_text("utf-8"))["dependencies"]
    text = (_HOME / "requirements" / f"{environment}.txt").read_text("utf-8")
    return dict(re.findall(r"(?m)^([\w.-]+)==(\S+)$", text))


class Client:
    """A row of the table."""

    def __init__(self, name, environment, package, dialect, variant=None, **more):
        self.name = name
        self.environment = environment
        self.dialect = dialect
        self.variant = variant or dialect
        self.module = more.get("module", name.replace("-", "_"))
        self.path = more.get("path", _PATHS.get(dialect, ""))
        self.scenario = more.get("scenario", scenario.travel)
        self.modes = more.get("modes", (False, True))
        # Whether calls come back with the upstream's ids: Mistral's have a special form, and
        # Ollama's clients need not send any.
        self.keeps_ids = more.get("keeps_ids", dialect not in ("mistral", "ollama"))
        # Whether it sends back the model's text beside its calls.
        self.keeps_text = more.get("keeps_text", True)
        # Whether it reports a failed call as a user message, not as a call with its result.
        self.retries_in_text = more.get("retries_in_text", False)
        self.is_coding_agent = more.get("is_coding_agent", False)
        # Why it fails independently of the gateway: by upstream and mode (True is a stream).
        self.limits = more.get("limits", {})
        self.upstreams = [
            each for each in more.get("upstreams", DIALECTS) if each not in more.get("not_to", ())
        ]
        version = _pins(environment)[package]
        note = more.get("note")
        self.title = f"{package} {version}" + (f" ({note})" if note else "")

    def upstreams_of(self, quick):
        """The upstreams to run it against: all of its own, or a few."""
        few = _QUICK_AGENTS if self.is_coding_agent else _QUICK
        return [each for each in self.upstreams if not quick or each in few]


def _library(name, environment, package, dialect, variant, note=None, **more):
    """A library, against every upstream except those of its own vendor."""
    own = {"openai-responses": ("openai-responses",)}.get(dialect, (dialect,))
    return Client(name, environment, package, dialect, variant, note=note, not_to=own, **more)


def _agent(name, package, dialect, note=None, scenario=scenario.coding):
    """A coding agent, which always streams."""
    return Client(
        name,
        "js",
        package,
        dialect,
        note=note,
        scenario=scenario,
        modes=(True,),
        upstreams=_FEW,
        not_to=(dialect,),
        is_coding_agent=True,
    )


_CHAT, _RESPONSES = "openai-chat", "openai-responses"
_AI_COHERE = {"path": "/v2", "keeps_text": False}
_LANGCHAIN_COHERE = {
    "keeps_text": False,
    "limits": dict.fromkeys(
        [("deepseek", False), ("deepseek", True)],
        "langchain-cohere puts the blocks of a reply that shows its thinking into `content` or "
        "`tool_plan` of the next request, where the Cohere SDK refuses them.",
    ),
}
_LANGCHAIN_MISTRAL = {"path": "/mistral/v1", "keeps_text": False}
ALL = [
    _library("openai-agents", "agents", "openai-agents", _RESPONSES, "responses", "Responses"),
    _library(
        "openai-agents",
        "agents",
        "openai-agents",
        _RESPONSES,
        "previous",
        "Responses, previous_response_id",
    ),
    _library("openai-agents", "agents", "openai-agents", _CHAT, "chat", "Chat Completions"),
    *(
        _library("pydantic-ai", "agents", "pydantic-ai-slim", dialect, variant, note)
        for dialect, variant, note in (
            (_CHAT, "chat", "OpenAIChatModel"),
            (_RESPONSES, "responses", "OpenAIResponsesModel"),
            ("anthropic", "anthropic", "AnthropicModel"),
            ("gemini", "google", "GoogleModel"),
            ("mistral", "mistral", "MistralModel"),
            ("bedrock", "bedrock", "BedrockConverseModel"),
        )
    ),
    *(
        _library("langchain", "langchain", package, dialect, variant, note, **more)
        for package, dialect, variant, note, more in (
            ("langchain-openai", _CHAT, "chat", "Chat Completions", {}),
            ("langchain-openai", _RESPONSES, "responses", "Responses", {}),
            ("langchain-anthropic", "anthropic", "anthropic", None, {}),
            ("langchain-google-genai", "gemini", "google", None, {"keeps_ids": False}),
            ("langchain-aws", "bedrock", "bedrock", "ChatBedrockConverse", {}),
            ("langchain-mistralai", "mistral", "mistral", None, _LANGCHAIN_MISTRAL),
            ("langchain-ollama", "ollama", "ollama", None, {"modes": (True,)}),
            ("langchain-cohere", "cohere", "cohere", None, _LANGCHAIN_COHERE),
        )
    ),
    *(
        _library("litellm", "litellm", "litellm", dialect, variant, note, **more)
        for dialect, variant, note, more in (
            (_CHAT, "openai", "openai/", {}),
            ("anthropic", "anthropic", "anthropic/", {}),
            ("mistral", "mistral", "mistral/", {"path": "/mistral/v1"}),
            # It merges two streamed calls into one, also with Ollama itself.
            ("ollama", "ollama_chat", "ollama_chat/", {"modes": (False,)}),
        )
    ),
    *(
        _library(
            "instructor",
            "litellm",
            "instructor",
            dialect,
            variant,
            note,
            scenario=scenario.extraction,
            modes=(False,),
            retries_in_text=variant == "responses",
        )
        for dialect, variant, note in (
            (_CHAT, "chat", "TOOLS"),
            (_RESPONSES, "responses", "RESPONSES_TOOLS"),
        )
    ),
    *(
        _library("llama-index", "llama-index", package, dialect, variant)
        for package, dialect, variant in (
            ("llama-index-llms-openai-like", _CHAT, "chat"),
            ("llama-index-llms-openai", _RESPONSES, "responses"),
            ("llama-index-llms-google-genai", "gemini", "google"),
        )
    ),
    *(
        _library("ai", "js", package, dialect, variant, note, **more)
        for package, dialect, variant, note, more in (
            ("@ai-sdk/openai", _RESPONSES, "openai", "Responses, item_reference", {}),
            ("@ai-sdk/openai", _CHAT, "openai-chat", "Chat Completions", {}),
            ("@ai-sdk/openai-compatible", _CHAT, "compatible", None, {}),
            ("@ai-sdk/anthropic", "anthropic", "anthropic", None, {"path": "/v1"}),
            ("@ai-sdk/google", "gemini", "google", None, {"path": "/v1beta"}),
            ("@ai-sdk/mistral", "mistral", "mistral", None, {"path": "/mistral/v1"}),
            ("@ai-sdk/cohere", "cohere", "cohere", None, _AI_COHERE),
            ("@ai-sdk/deepseek", "deepseek", "deepseek", None, {}),
            ("@ai-sdk/amazon-bedrock", "bedrock", "bedrock", None, {}),
        )
    ),
    _agent("claude-code", "@anthropic-ai/claude-code", "anthropic"),
    _agent("codex", "@openai/codex", _RESPONSES, "with an MCP server", scenario.codex),
    _agent("gemini-cli", "@google/gemini-cli", "gemini"),
    _agent("opencode", "opencode-ai", _CHAT, "@ai-sdk/openai-compatible"),
]


def chosen(names, quick=False):
    """The clients of these names, or all of them, or a few. An unknown name is an error."""
    known = dict.fromkeys(client.name for client in ALL)
    for name in names:
        if name not in known:
            raise SystemExit(f"{name}: no such client; there are {', '.join(known)}")
    wanted = names or (_QUICK_CLIENTS if quick else known)
    return [client for client in ALL if client.name in wanted]
