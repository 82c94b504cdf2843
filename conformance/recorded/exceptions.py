"""What may differ after a translation, each with its reason.

A rule names the fact that differs and when that is correct. If `loss` is given, the report of the
translation must name a loss whose text matches it: nothing is excused silently. An `open` rule is a
known defect that is not fixed yet; the run counts it and prints it as such.
"""

import dataclasses
import re
import typing

# Dialects and vendors whose replies have the form of Chat Completions
_CHAT = (
    "openai-chat",
    "deepseek",
    "groq",
    "moonshot",
    "openrouter",
    "qwen",
    "xai",
    "zhipu",
)


@dataclasses.dataclass
class Case:
    """A difference and where it was found."""

    kind: str
    source: str
    target: str
    way: str
    check: typing.Any
    losses: list
    outcome: dict


@dataclasses.dataclass
class Rule:
    """Why a difference is correct."""

    reason: str
    fact: str
    applies: typing.Callable
    loss: typing.Optional[str] = None
    open: bool = False


def _problem(pattern):
    return lambda case: re.search(pattern, case.check.problem)


def _each_line(pattern):
    """Whether a pattern matches every line of a problem; the first may begin with a type's name."""
    compiled = re.compile(pattern)
    return lambda case: all(compiled.search(line) for line in case.check.problem.splitlines())


def _both(*conditions):
    return lambda case: all(condition(case) for condition in conditions)


def _reply_in_chat(case):
    return case.kind != "request" and case.source in _CHAT and case.target in _CHAT


RULES = (
    Rule(
        "a request that depends on a hosted tool which the target lacks is refused",
        "decoded",
        _both(
            lambda case: case.kind == "request",
            _problem(r"the target has no tool like the hosted tool"),
        ),
    ),
    Rule(
        "a compatible vendor's own fields of a reply reach clients of the same wire format, whose "
        "SDKs pass on what they do not know",
        "types",
        _both(_reply_in_chat, _each_line(r"is not declared by|(service_tier|finish_reason|/code|annotations/\d+/type): Input should be")),
    ),
    Rule(
        "the model of a Bedrock request is its user's choice: a foreign model's name is no id there",
        "types",
        _both(lambda case: case.target == "bedrock", _problem(r"^ConversationalModelId: /modelId")),
    ),
    Rule(
        "the SDK's helper for streams refuses an answer that was cut short or filtered, as it would "
        "from OpenAI itself",
        "types",
        _problem(
            r"LengthFinishReasonError|ContentFilterFinishReasonError"
            r"|Didn't receive a `response.completed` event"
        ),
    ),
    Rule(
        "OpenAI streams calls of custom tools, although the SDK's type of a chunk names functions only",
        "types",
        _both(
            lambda case: case.target == "openai-chat",
            _each_line(r"delta/tool_calls/\d+/type: Input should be 'function'|/tool_calls/\d+/custom "),
        ),
    ),
    Rule(
        "Cohere says of an answer that failed that it did",
        "types",
        _both(lambda case: case.target == "cohere", _problem(r"finish_reason 'ERROR'")),
    ),
    Rule(
        "an answer that holds calls stops for them, whatever word it came with",
        "same",
        _problem(r"^lost .*/(stop_reason|finish_reason)$"),
    ),
    Rule(
        "a request that holds nothing but the vendor's own state has nothing to say to others",
        "types",
        _problem(r"^ChatRequest: no messages"),
        r"dropped",
    ),
    Rule(
        "a setting out of every vendor's range passes as it came, for the target to refuse",
        "types",
        _problem(r"inferenceConfig\.temperature, value: -"),
    ),
    Rule(
        "botocore refuses a block with a `type` beside its member",
        "same",
        _both(lambda case: case.source == "bedrock", _problem(r"^lost .*/content/\d+/type$")),
    ),
    Rule(
        "counts that contradict each other, with more read and written than the prompt has, return as "
        "they came",
        "usage",
        _both(lambda case: case.source == "openrouter", _problem(r"^input differs: more")),
    ),
    Rule(
        "DeepSeek ignores fields that it does not know; the types it is checked with are those of OpenAI's "
        "SDK",
        "types",
        _both(
            lambda case: case.kind == "request" and case.source in _CHAT and case.target == "deepseek",
            _each_line(
                r"Extra inputs are not permitted|is not declared by"
                r"|/(name|service_tier): Input should be"
            ),
        ),
    ),
    Rule(
        "arguments that broke off are no JSON object, which is all that the target takes: they go along "
        "as `_raw`, and the report names them",
        "arguments",
        lambda case: case.target in ("gemini", "ollama"),
        r"'_raw'",
    ),
    Rule(
        "Cohere's `response_format.schema` is written under its documented name, `json_schema`",
        "same",
        _both(lambda case: case.source == "cohere", _problem(r"^lost /response_format/schema$")),
    ),
    Rule(
        "a choice of tools that the target cannot say is enforced by offering fewer",
        "tools",
        lambda case: True,
        r"tool.*(dropped|left out|offered|removed)|choice",
    ),
)


def excuse(case):
    """The reason that covers a difference, or None."""
    for rule in RULES:
        if rule.fact == case.check.fact and rule.applies(case):
            told = [f"{loss['what']} ({loss['why']})" for loss in case.losses]
            if rule.loss is None or any(re.search(rule.loss, each) for each in told):
                return ("open: " if rule.open else "") + rule.reason
    return None
