"""Which recorded requests are plain, and how many of those pass `--strict` to each target.

A plain request contains only system text, text messages, function tools, calls, results and the
common settings: model, maximum of tokens, temperature, top_p, stop, tool_choice and stream. Nulls,
empty lists and values that repeat a vendor's default count as absent. A request with a strict tool
is not plain.
"""

import collections
import re

GOAL = 0.95
# Fewer requests than these give no meaningful share.
ENOUGH = 50


def _any(value):
    return True


def _text(value):
    return isinstance(value, str)


def _only(*values):
    """A value that is one of these: an explicit default."""
    return lambda value: value in values


def _object(**members):
    """An object with no other members than these; a trailing underscore of a name is dropped."""
    known = {name.rstrip("_"): matches for name, matches in members.items()}

    def matches(value):
        return isinstance(value, dict) and all(
            each is None or each == [] or (key in known and known[key](each))
            for key, each in value.items()
        )

    return matches


def _list(element):
    return lambda value: isinstance(value, list) and all(element(each) for each in value)


def _either(*choices):
    return lambda value: any(choice(value) for choice in choices)


def _chat_content(*types):
    part = _object(type=_only(*types), text=_text)
    return _either(_text, _list(part))


_CHAT_CALL = _object(
    id=_text, type=_only("function"), index=_any, function=_object(name=_text, arguments=_any)
)
_CHAT_MESSAGE = _object(
    role=_only("system", "developer", "user", "assistant", "tool"),
    content=_chat_content("text"),
    tool_calls=_list(_CHAT_CALL),
    tool_call_id=_text,
    prefix=_only(False),
    tool_plan=_text,
)
_CHAT_TOOL = _object(
    type=_only("function"),
    function=_object(name=_text, description=_text, parameters=_any, strict=_only(False)),
)
_CHAT = _object(
    model=_text,
    messages=_list(_CHAT_MESSAGE),
    tools=_list(_CHAT_TOOL),
    tool_choice=_any,
    max_tokens=_any,
    max_completion_tokens=_any,
    temperature=_any,
    top_p=_any,
    stop=_any,
    stream=_any,
    stream_options=_any,
    n=_only(1),
)
_COHERE_RESULT = _object(
    type=_only("text", "document"), text=_text, document=_object(data=_any, id=_any)
)
_COHERE = _object(
    model=_text,
    messages=_list(
        _either(
            _CHAT_MESSAGE,
            _object(
                role=_only("tool"), tool_call_id=_text, content=_list(_COHERE_RESULT)
            ),
        )
    ),
    tools=_list(_CHAT_TOOL),
    tool_choice=_any,
    max_tokens=_any,
    temperature=_any,
    p=_any,
    stop_sequences=_any,
    stream=_any,
)
_RESPONSES = _object(
    model=_text,
    instructions=_text,
    input=_either(
        _text,
        _list(
            _either(
                _object(
                    type=_only("message"),
                    role=_any,
                    id=_text,
                    status=_text,
                    content=_either(
                        _text,
                        _list(
                            _object(
                                type=_only("input_text", "output_text"), text=_text, logprobs=_only()
                            )
                        ),
                    ),
                ),
                _object(
                    type=_only("function_call"),
                    id=_text,
                    status=_text,
                    call_id=_text,
                    name=_text,
                    arguments=_text,
                ),
                _object(
                    type=_only("function_call_output"),
                    id=_text,
                    status=_text,
                    call_id=_text,
                    output=_text,
                ),
            )
        ),
    ),
    tools=_list(
        _object(
            type=_only("function"),
            name=_text,
            description=_text,
            parameters=_any,
            strict=_only(False),
        )
    ),
    tool_choice=_any,
    max_output_tokens=_any,
    temperature=_any,
    top_p=_any,
    stream=_any,
    text=_only({"format": {"type": "text"}}),
)
_ANTHROPIC_TEXTS = _either(_text, _list(_object(type=_only("text"), text=_text)))
_ANTHROPIC = _object(
    model=_text,
    system=_ANTHROPIC_TEXTS,
    messages=_list(
        _object(
            role=_any,
            content=_either(
                _text,
                _list(
                    _either(
                        _object(type=_only("text"), text=_text),
                        _object(type=_only("tool_use"), id=_text, name=_text, input=_any),
                        _object(
                            type=_only("tool_result"),
                            tool_use_id=_text,
                            content=_ANTHROPIC_TEXTS,
                            is_error=_any,
                        ),
                    )
                ),
            ),
        )
    ),
    tools=_list(
        _object(
            type=_only("custom"),
            name=_text,
            description=_text,
            input_schema=_any,
            strict=_only(False),
        )
    ),
    tool_choice=_any,
    max_tokens=_any,
    temperature=_any,
    top_p=_any,
    stop_sequences=_any,
    stream=_any,
)
_BEDROCK = _object(
    modelId=_text,
    system=_list(_object(text=_text)),
    messages=_list(
        _object(
            role=_any,
            content=_list(
                _object(
                    text=_text,
                    toolUse=_object(toolUseId=_text, name=_text, input=_any),
                    toolResult=_object(
                        toolUseId=_text,
                        content=_list(_object(text=_text, json=_any)),
                        status=_any,
                    ),
                )
            ),
        )
    ),
    toolConfig=_object(
        tools=_list(
            _object(
                toolSpec=_object(
                    name=_text, description=_text, inputSchema=_any, strict=_only(False)
                )
            )
        ),
        toolChoice=_any,
    ),
    inferenceConfig=_object(maxTokens=_any, temperature=_any, topP=_any, stopSequences=_any),
    additionalModelRequestFields=_only({}),
)
_FUNCTION_CALL = _object(id=_text, name=_text, args=_any)
_FUNCTION_RESPONSE = _object(id=_text, name=_text, response=_any)
_PARTS = _list(
    _object(
        text=_text,
        thought=_only(False),
        functionCall=_FUNCTION_CALL,
        function_call=_FUNCTION_CALL,
        functionResponse=_FUNCTION_RESPONSE,
        function_response=_FUNCTION_RESPONSE,
    )
)
_DECLARATIONS = _list(
    _object(
        name=_text,
        description=_text,
        parameters=_any,
        parametersJsonSchema=_any,
        parameters_json_schema=_any,
    )
)
_GEMINI = _object(
    contents=_list(_object(role=_any, parts=_PARTS)),
    systemInstruction=_object(role=_any, parts=_PARTS),
    tools=_list(_object(functionDeclarations=_DECLARATIONS, function_declarations=_DECLARATIONS)),
    toolConfig=_object(functionCallingConfig=_any),
    generationConfig=_object(
        maxOutputTokens=_any,
        temperature=_any,
        topP=_any,
        stopSequences=_any,
        responseModalities=_only(["TEXT"], ["Text"]),
        candidateCount=_only(1),
    ),
)
_PLAIN = {
    "openai-responses": _RESPONSES,
    "anthropic": _ANTHROPIC,
    "bedrock": _BEDROCK,
    "gemini": _GEMINI,
    "cohere": _COHERE,
}


def is_plain(source, body):
    """Whether a request of a dialect or vendor is plain."""
    body = body["body"] if "path" in body and "body" in body else body
    return _PLAIN.get(source, _CHAT)(body)


class Measure:
    """The number of plain requests that pass `--strict`, by source and target, and the losses of the rest."""

    def __init__(self):
        self.all = collections.defaultdict(set)
        self.plain = collections.defaultdict(set)
        self.passed = collections.Counter()
        self.tried = collections.Counter()
        self.losses = collections.Counter()
        self.examples = {}

    def add(self, source, line, target, passed, is_plain, report):
        """Adds one translation of a request."""
        self.all[source].add(line)
        if not is_plain:
            return
        self.plain[source].add(line)
        if source == target:
            return
        losses = [loss for loss in report["losses"] if loss["severity"] != "note"]
        self.tried[source, target] += 1
        self.passed[source, target] += passed
        if not passed:
            for loss in {_shape(each) for each in losses}:
                self.losses[loss] += 1
                self.examples.setdefault(loss, f"{source}.request.jsonl:{line} to {target}")

    def close(self):
        """Prints the measure; returns the targets that miss the goal."""
        targets = sorted({target for _, target in self.tried})
        rows = [("strict", "plain", "of all", *targets)]
        for source in sorted(self.all):
            plain, total = len(self.plain[source]), len(self.all[source])
            cells = [self._cell(source, target) for target in targets]
            rows.append((source, str(plain), f"{plain / total:.0%}", *cells))
        sums = [self._sum(target) for target in targets]
        plain, total = (sum(map(len, each.values())) for each in (self.plain, self.all))
        rows.append(("all", str(plain), f"{plain / max(total, 1):.0%}", *sums))
        widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
        for row in rows:
            print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
        if self.losses:
            print("what the rest lose:")
        for loss, count in self.losses.most_common(40):
            print(f"  {count:5}  {loss}  first: {self.examples[loss]}")
        missed = [target for target in targets if self._misses(target)]
        for target in missed:
            print(f"FAILED strict: fewer than {GOAL:.0%} of the plain requests pass to {target}")
        return missed

    def _misses(self, target):
        tried, passed = self._totals(target)
        return tried >= ENOUGH and passed < GOAL * tried

    def _totals(self, target):
        pairs = [pair for pair in self.tried if pair[1] == target]
        return sum(self.tried[pair] for pair in pairs), sum(self.passed[pair] for pair in pairs)

    def _cell(self, source, target):
        tried = self.tried[source, target]
        return f"{self.passed[source, target]}/{tried}" if tried else "-"

    def _sum(self, target):
        tried, passed = self._totals(target)
        return f"{passed / tried:.1%}" if tried else "-"


def _shape(loss):
    """A loss without its request-specific parts."""
    path = re.sub(r"/\d+", "/*", loss["path"])
    path = re.sub(r"/properties/[^/]+", "/properties/*", path)
    return f"{loss['severity']} {path}: {loss['what']} ({loss['why']})"
