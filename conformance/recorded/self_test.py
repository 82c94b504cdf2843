"""Shows that the extractors agree on one conversation in nine dialects, and detect damage.

`fixtures/<dialect>/synthetic/matrix_*` contain the same conversation in every dialect. Each damage is
done on the wire: a call dropped, an argument changed, two results swapped, a text dropped, the stop
reason or a count changed.
"""

import copy
import json

import frames
from recorded import compare, extract
from recorded.facts import loads
from strict import need

DIALECTS = tuple(compare.STOPS)
# The stop reason of the recorded reply with calls, and a different one.
_STOP_WORDS = {
    "openai-chat": ('"tool_calls"', '"length"'),
    "deepseek": ('"tool_calls"', '"length"'),
    "mistral": ('"tool_calls"', '"length"'),
    "anthropic": ('"tool_use"', '"max_tokens"'),
    "bedrock": ('"tool_use"', '"max_tokens"'),
    "gemini": ('"STOP"', '"MAX_TOKENS"'),
    "ollama": ('"stop"', '"length"'),
    "cohere": ('"TOOL_CALL"', '"MAX_TOKENS"'),
    "openai-responses": ('"completed"', '"incomplete"'),
}
_STOP_KEYS = ("finish_reason", "stop_reason", "stopReason", "finishReason", "done_reason", "status")
_IDS = ("tool_use_id", "toolUseId", "tool_call_id", "call_id", "id", "name", "tool_name")


def run(fixtures, report):
    """Runs all tests and returns whether they passed."""
    for dialect in DIALECTS:
        folder = fixtures / dialect / "synthetic"
        read = lambda name: loads((folder / name).read_text("utf-8").replace("0.10", "0.1"))
        _requests(dialect, read("matrix_request.json"), fixtures, report)
        _replies(dialect, read("matrix_response.json"), fixtures, report)
        (stream,) = [path for path in folder.glob("matrix_stream*") if ".events" not in path.name]
        _streams(dialect, stream.read_bytes(), fixtures, report)
    return report.close("self-test of the extractors")


def _agree(checks):
    """Passes if no fact differs; Cohere's fixture has a plan where the others have reasoning."""
    wrong = [
        f"{check.at} {check.fact}: {check.problem}"
        for check in checks
        if check.problem and check.problem != "a text of the assistant was added"
    ]
    need(not wrong, "extractors", "\n".join(wrong))


def _caught(fact, checks):
    """Passes if a fact is found wrong; an extractor that cannot read the damage has detected it as well."""
    try:
        found = {check.fact for check in checks() if check.problem}
    except (KeyError, IndexError, TypeError, ValueError):
        return
    need(fact in found, "extractors", f"damage to {fact} was not noticed, only {sorted(found)}")


def _reference(fixtures, kind):
    """The conversation in one dialect; a number that Gemini's fixture writes shorter is normalized."""
    text = (fixtures / "anthropic" / "synthetic" / f"matrix_{kind}.json").read_text("utf-8")
    return loads(text.replace("0.10", "0.1"))


def _requests(dialect, wire, fixtures, report):
    module = extract.module(dialect)
    whole, body = module.request(wire["path"], wire["body"]), wire["body"]
    reference = extract.module("anthropic").request("", _reference(fixtures, "request")["body"])
    report.run(f"{dialect} request", lambda: _agree(compare.requests(reference, whole, {})))
    (first, second) = [result.at for _, result in whole.results()][::2][:2]
    damages = {
        "calls": lambda: _without(body, whole.calls[0].at),
        "arguments": lambda: json.loads(json.dumps(body).replace("PEK", "ORY")),
        "results": lambda: _swapped(body, first, second),
        "text": lambda: _without(body, whole.texts("user")[0].at),
    }
    for fact, damage in damages.items():
        checks = lambda: compare.requests(whole, module.request("", damage()), {})
        report.run(f"{dialect} request, damaged {fact}", lambda: _caught(fact, checks))


def _replies(dialect, body, fixtures, report):
    module = extract.module(dialect)
    whole = module.response(body)
    reference = extract.module("anthropic").response(_reference(fixtures, "response"))
    agree = lambda: _agree(_without_usage(compare.replies(reference, whole, dialect, {})))
    report.run(f"{dialect} response", agree)
    damages = {
        "calls": lambda: _without(body, whole.calls[0].at),
        "arguments": lambda: json.loads(json.dumps(body).replace("Paris", "Lyon")),
        "text": lambda: json.loads(json.dumps(body, ensure_ascii=False).replace(whole.text, "")),
        "stop": lambda: _stopped(body, *_STOP_WORDS[dialect]),
        "usage": lambda: json.loads(_recounted(json.dumps(body), whole.usage["input"])),
    }
    for fact, damage in damages.items():
        checks = lambda: compare.replies(whole, module.response(damage()), dialect, {})
        report.run(f"{dialect} response, damaged {fact}", lambda: _caught(fact, checks))


def _streams(dialect, data, fixtures, report):
    module = extract.module(dialect)
    whole = module.stream(data)
    reference = extract.module("anthropic").response(_reference(fixtures, "response"))
    agree = lambda: _agree(_without_usage(compare.replies(reference, whole, dialect, {})))
    report.run(f"{dialect} stream", agree)
    damages = {
        "calls": lambda: _edited(dialect, data, drop="get_weather"),
        "arguments": lambda: _edited(dialect, data, change=("Paris", "Lyon")),
        "text": lambda: _edited(dialect, data, drop=whole.text[-4:]),
        "stop": lambda: _edited(dialect, data, change=_STOP_WORDS[dialect]),
    }
    for fact, damage in damages.items():
        checks = lambda: compare.replies(whole, module.stream(damage()), dialect, {})
        report.run(f"{dialect} stream, damaged {fact}", lambda: _caught(fact, checks))


def _without_usage(checks):
    """The vendors' fixtures count the same conversation differently."""
    return [check for check in checks if check.fact != "usage"]


def _steps(pointer):
    return [int(step) if step.isdigit() else step for step in pointer.split("/")[1:]]


def _find(body, pointer):
    for step in _steps(pointer):
        body = body[step]
    return body


def _without(body, pointer):
    """A document without the value at a pointer."""
    body, steps = copy.deepcopy(body), _steps(pointer)
    holder = body
    for step in steps[:-1]:
        holder = holder[step]
    if isinstance(holder, dict):
        holder[steps[-1]] = ""
    else:
        del holder[steps[-1]]
    return body


def _swapped(body, one, other):
    """A document in which two results are swapped, but not the names of their calls."""
    body = copy.deepcopy(body)
    first, second = _result(_find(body, one)), _result(_find(body, other))
    for key in set(first) | set(second):
        if key not in _IDS:
            first[key], second[key] = second.get(key), first.get(key)
    return body


def _result(element):
    """The object of a result, inside a block that has it as a member."""
    for key in ("toolResult", "functionResponse", "function_response"):
        if key in element:
            return element[key]
    return element


def _stopped(body, word, other):
    """A document with another stop reason."""
    text = json.dumps(body)
    for key in _STOP_KEYS:
        text = text.replace(f'"{key}": {word}', f'"{key}": {other}')
    return json.loads(text)


def _recounted(text, count):
    """A document with a different count of input tokens, or of uncached ones."""
    for number in (count, count - 256):
        text = text.replace(f": {number}", f": {number + 1}")
    return text


def _edited(dialect, data, drop=None, change=None):
    """A stream without the frames that hold a text, or with a text changed in its frames."""
    if dialect == "bedrock":
        kept = []
        for headers, payload in frames.aws(data):
            text = json.dumps(json.loads(payload), ensure_ascii=False, separators=(",", ":"))
            if drop is None or drop not in text:
                kept.append(frames.aws_frame(headers, _changed(text, change).encode("utf-8")))
        return b"".join(kept)
    gap = "\n" if dialect == "ollama" else "\n\n"
    text = data.decode("utf-8").replace("\r\n", "\n")
    blocks = [block for block in text.split(gap) if drop is None or drop not in block]
    return gap.join(_changed(block, change) for block in blocks).encode("utf-8")


def _changed(text, change):
    return text if change is None else text.replace(*change)
