"""Compares the content of a source with that of its translation.

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

# The stop reasons that a target uses for one that it lacks. Where several fit, the vendor's
# semantics decide: Claude's refusal is a filter of the vendor if the model wrote none itself.
_CHAT = {
    "stop_sequence": ("end",),
    "refusal": ("end", "filter"),
    "pause": ("end",),
    "malformed": ("end",),
    "error": ("end",),
}
STOPS = {
    "openai-chat": _CHAT,
    "deepseek": _CHAT,
    "openai-responses": {**_CHAT, "pause": ("end", "pause")},
    "anthropic": {"filter": ("refusal",), "malformed": ("end",), "error": ("end",)},
    "bedrock": {"refusal": ("filter",), "pause": ("end",), "error": ("end", "malformed")},
    "gemini": {"stop_sequence": ("end",), "refusal": ("filter",), "pause": ("end", "pause")},
    "ollama": {**_CHAT, "filter": ("end",)},
    "mistral": {
        **_CHAT,
        "filter": ("error",),
        "malformed": ("error",),
        "error": ("error",),
    },
    "cohere": {
        "refusal": ("end", "error"),
        "filter": ("error",),
        "malformed": ("error",),
        "pause": ("end",),
    },
}
# Targets that report a reply without a usable end as failed.
FAILS = ("openai-responses",)
# Targets whose usage has no count of cached tokens.
NO_CACHED = ("ollama",)


# Members that mean the same as their absence.
_NOTHING = (None, "", [], {}, {"arguments": "", "name": ""})


def lost(source, target, at=""):
    """The pointers of values that a document has and its copy in the same dialect lacks.

    A copy may write a single text without its list, and Gemini's names in the other case.
    """
    if isinstance(source, list) and isinstance(target, str):
        source = _single(source)
    elif isinstance(source, str) and isinstance(target, list) and len(target) == 1:
        target = target[0].get("content") if isinstance(target[0], dict) else target
    elif isinstance(source, dict) and isinstance(target, list) and len(target) == 1:
        target = target[0]
    if isinstance(source, dict) and isinstance(target, dict):
        known = {_camel(key): value for key, value in target.items()}
        for key, value in source.items():
            if value not in _NOTHING and not (_camel(key) in known and known[_camel(key)] == value):
                yield from lost(value, known.get(_camel(key)), f"{at}/{key}")
    elif isinstance(source, list) and isinstance(target, list) and len(source) == len(target):
        for index, (value, other) in enumerate(zip(source, target)):
            yield from lost(value, other, f"{at}/{index}")
    elif source != target and source not in _NOTHING:
        yield at


def unlike(source, copy):
    """The differences between a stream and its copy in the same dialect."""
    for name in ("text", "fault") if source.fault else ("text", "stop", "usage", "fault"):
        if name == "usage" and not source.usage:
            continue  # a stream without counts may get zeros
        if getattr(source, name) != getattr(copy, name):
            return f"the {name} differs"
    said = [[(call.id, call.name, call.arguments) for call in each.calls] for each in (source, copy)]
    return None if said[0] == said[1] else "the calls differ"


def _single(values):
    """The text of a list with a single plain text part."""
    if len(values) == 1 and isinstance(values[0], dict):
        said = {key: value for key, value in values[0].items() if value not in _NOTHING}
        if set(said) <= {"type", "text"}:
            return said.get("text")
    return values


def _camel(key):
    first, *rest = key.split("_")
    return first + "".join(word.title() for word in rest)


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
        if dialect in FAILS and source.stop in ("malformed", "error"):
            return
        problem = None if source.fault == target.fault else "only one of both failed"
        yield Check("stop", "", problem)
        return
    yield from _calls(source.calls, target.calls, own)
    if source.text or target.text:
        yield Check("text", "", _difference(source.texts, target.text))
    for name, count in source.usage.items():
        if name == "cached" and (dialect in NO_CACHED or not count):
            continue
        found = target.usage.get(name)
        problem = None if (found or 0) == count else f"{name} differs: {_kind(count, found)}"
        yield Check("usage", "/usage", problem)
    if source.stop:
        wanted = STOPS.get(dialect, {}).get(source.stop, ()) or (source.stop,)
        wanted = ("tool", *wanted) if source.calls and "end" in wanted else wanted
        problem = None if target.stop in wanted else f"{source.stop} became {target.stop}"
        yield Check("stop", "", problem)


def _kind(count, found):
    if found is None:
        return "missing"
    return "more" if found > count else "less"


def _difference(texts, target):
    """The difference between texts, ignoring blank lines between parts."""
    rest = target
    for text in filter(None, texts):
        before, found, rest = rest.partition(text)
        if not found:
            return "text is missing"
        if before.strip():
            return "text was added"
    return "text was added" if rest.strip() else None


def _calls(source, target, own):
    for index in range(max(len(source), len(target))):
        if index >= len(target):
            yield Check("calls", source[index].at, "a call is missing")
        elif index >= len(source):
            yield Check("calls", "", "a call was added")
        else:
            call, found = source[index], target[index]
            renamed = None if _same_name(call, own(found.name)) else "another name"
            yield Check("calls", call.at, renamed)
            same = _same_arguments(call, found)
            yield Check("arguments", call.at, None if same else "the arguments differ")


def _same_name(call, name):
    """Whether a name is that of a call; a dialect without namespaces flattens them into the names."""
    if name.lstrip("\x1f") == call.name:
        return True
    return bool(call.namespace) and name.startswith(call.namespace) and name.endswith(call.name)


def _same_arguments(call, found):
    """Whether arguments agree; a freeform input may be the one member of an object."""
    if call.arguments is None:
        return True
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
        # Without a flag, the text must say that the call failed.
        return None if _spoken(result.value) in _spoken(other.value) else "the result differs"
    if _same_value(result.value, other.value):
        return "the error flag differs" if other.error != result.error else None
    return "the result differs"


def _same_value(value, other):
    one, two = _parsed(value), _parsed(other)
    if one in ("", None, {}, []):
        return True  # only media, which a target may announce as text
    return one == two or one in _wrapped(two) or two in _wrapped(one)


def _wrapped(value):
    """The value of an object with a single member: Gemini's form of a text."""
    if isinstance(value, dict) and len(value) == 1:
        return [_parsed(member) for member in value.values()]
    return []


def _parsed(value):
    """A value; text that contains a JSON object or array is parsed."""
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
        whole, at, between = "\n".join(said[role]), 0, ""
        for item in source.texts(role):
            found = whole.find(item.text, at)
            if found >= 0:
                between, at = between + whole[at:found], found + len(item.text)
            elif not (role == "system" and item.text in "\n".join(said["user"])):
                yield Check("text", item.at, f"a text of the {role} is missing")
                continue
            yield Check("text", item.at)
        # A translation must not add text of the assistant.
        if role == "assistant" and (between + whole[at:]).strip():
            yield Check("text", "", "a text of the assistant was added")
