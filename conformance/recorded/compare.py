"""Compares what a source says with what its translation says.

Each comparison yields a `Check`: which fact, where in the source, and what differs, if anything.
"""

import dataclasses
import typing

from recorded.facts import Digits, loads


@dataclasses.dataclass
class Check:
    """One fact of one translation."""

    fact: str
    at: str
    problem: typing.Optional[str] = None


# The columns of the table.
FACTS = ("decoded", "same", "calls", "arguments", "results", "text", "tools", "usage", "stop", "types")

# Which stop reason a target uses for one that it has no word for.
_NO_STOP_SEQUENCE = {"stop_sequence": "end"}
_CHAT = {**_NO_STOP_SEQUENCE, "refusal": "end", "pause": "end", "malformed": "end", "error": "end"}
STOPS = {
    "openai-chat": _CHAT,
    "deepseek": _CHAT,
    "openai-responses": {**_CHAT},
    "anthropic": {"filter": "refusal", "malformed": "end", "error": "end"},
    "bedrock": {"refusal": "filter", "pause": "end", "error": "end"},
    "gemini": {**_NO_STOP_SEQUENCE, "refusal": "filter"},
    "ollama": {**_CHAT, "filter": "end"},
    "mistral": {**_NO_STOP_SEQUENCE, "refusal": "end", "filter": "error", "malformed": "error", "pause": "end"},
    "cohere": {"refusal": "end", "filter": "error", "malformed": "error", "pause": "end"},
}
# Targets whose usage has no place for what came from a cache.
NO_CACHED = ("ollama",)


def requests(source, target, names):
    """The checks of a request; `names` maps a tool's name in the target to its own."""
    own = lambda name: names.get(name, name)
    yield from _calls(source.calls, target.calls, own)
    yield from _results(source, target)
    yield from _texts(source, target)
    missing = [name for name in source.tools if name not in [own(each) for each in target.tools]]
    for name in source.tools:
        yield Check("tools", "/tools", "a tool is missing" if name in missing else None)


def replies(source, target, dialect, names):
    """The checks of a reply or a stream."""
    own = lambda name: names.get(name, name)
    if source.fault or target.fault:
        problem = None if source.fault == target.fault else "only one of both failed"
        yield Check("stop", "", problem)
        return
    yield from _calls(source.calls, target.calls, own)
    if source.text or target.text:
        yield Check("text", "", _difference(source.text, target.text))
    for name, count in source.usage.items():
        if name == "cached" and (dialect in NO_CACHED or not count):
            continue
        found = target.usage.get(name)
        problem = None if found == count else f"{name} differs: {_kind(count, found)}"
        yield Check("usage", "/usage", problem)
    if source.stop:
        wanted = STOPS.get(dialect, {}).get(source.stop, source.stop)
        wanted = "tool" if source.calls and wanted == "end" else wanted
        problem = None if target.stop == wanted else f"{source.stop} became {target.stop}"
        yield Check("stop", "", problem)


def _kind(count, found):
    if found is None:
        return "missing"
    return "more" if found > count else "less"


def _difference(source, target):
    if source == target:
        return None
    if not target:
        return "no text arrived"
    if source in target:
        return "text was added"
    return "text is missing" if target in source or len(target) < len(source) else "text differs"


def _calls(source, target, own):
    for index in range(max(len(source), len(target))):
        if index >= len(target):
            yield Check("calls", source[index].at, "a call is missing")
        elif index >= len(source):
            yield Check("calls", "", "a call was added")
        else:
            call, found = source[index], target[index]
            renamed = None if own(found.name) == call.name else "another name"
            yield Check("calls", call.at, renamed)
            same = _same_arguments(call, found)
            yield Check("arguments", call.at, None if same else "the arguments differ")


def _same_arguments(call, found):
    """Whether arguments agree; a freeform input may be the one member of an object."""
    if call.freeform == found.freeform:
        return call.arguments == found.arguments
    text, other = (call, found) if call.freeform else (found, call)
    given = other.arguments
    return isinstance(given, dict) and list(given.values()) == [text.arguments]


def _results(source, target):
    found = {}
    for position, result in target.results():
        found.setdefault(position, []).append(result)
    for position, result in source.results():
        if position is None:
            continue
        others = found.get(position) or []
        if not others:
            yield Check("results", result.at, "a result is missing")
            continue
        other = others.pop(0)
        yield Check("results", result.at, _result_problem(result, other))


def _result_problem(result, other):
    if result.error and not other.error:
        # Without a flag, the words must say that the call failed.
        return None if _spoken(result.value) in _spoken(other.value) else "the result differs"
    if _same_value(result.value, other.value):
        return "the error flag differs" if other.error != result.error else None
    return "the result differs"


def _same_value(value, other):
    one, two = _parsed(value), _parsed(other)
    if one in ("", None, {}, []):
        return True  # nothing but media, which a target may announce in words
    return one == two or one in _wrapped(two) or two in _wrapped(one)


def _wrapped(value):
    """What an object with a single member holds: the form of Gemini for a text."""
    if isinstance(value, dict) and len(value) == 1:
        return [_parsed(member) for member in value.values()]
    return []


def _parsed(value):
    """A value; text that holds a JSON object or array counts as what it holds."""
    if isinstance(value, str) and not isinstance(value, Digits) and value.strip()[:1] in ("{", "["):
        try:
            return loads(value)
        except ValueError:
            return value
    return value


def _spoken(value):
    return value if isinstance(value, str) else str(value)


def _texts(source, target):
    """Every text arrives in order, by its role; a system text may arrive in a user's turn."""
    said = {role: [each.text for each in target.texts(role)] for role in ("system", "user", "assistant")}
    for role in ("system", "user", "assistant"):
        whole, at = "\n".join(said[role]), 0
        for item in source.texts(role):
            found = whole.find(item.text, at)
            if found >= 0:
                at = found + len(item.text)
            elif not (role == "system" and item.text in "\n".join(said["user"])):
                yield Check("text", item.at, f"a text of the {role} is missing")
                continue
            yield Check("text", item.at)
    if len("".join(said["assistant"]).split()) > len(
        "".join(each.text for each in source.texts("assistant")).split()
    ):
        yield Check("text", "", "a text of the assistant was added")
