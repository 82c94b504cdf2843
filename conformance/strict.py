"""Strict validation with an SDK's own types.

The SDKs are lenient with replies: unknown keys pass, iterables of request parameters are checked
lazily or not at all, unknown enum values are accepted. Here every value is checked at once, and
a key or an enum value that the type does not declare is an error.
"""

import collections.abc
import enum
import fnmatch
import importlib
import json
import pkgutil
import typing

import pydantic
import typing_extensions


class Rejected(Exception):
    """A value that an SDK's type, parser or client does not accept."""

    def __init__(self, type_name, detail):
        super().__init__(f"{type_name}: {detail}")
        self.type_name = type_name
        self.detail = detail

    def summary(self):
        """The first lines of the error."""
        lines = [f"    {line[:240]}" for line in self.detail.splitlines()]
        more = [f"    and {len(lines) - 6} more"] if len(lines) > 6 else []
        return "\n".join([f"  {self.type_name}", *lines[:6], *more])


def need(condition, type_name, detail):
    """Rejects with `detail` unless `condition` holds."""
    if not condition:
        raise Rejected(type_name, detail)


_ADAPTERS = {}


def check(kind, value, name=None, also=()):
    """Validates a JSON value as `kind` and returns the SDK's own object.

    `also` has pointer patterns of keys that the vendor uses although its SDK does not declare
    them.
    """
    name = name or getattr(kind, "__name__", str(kind))
    adapter = _ADAPTERS.get(id(kind))
    if adapter is None:
        adapter = _ADAPTERS[id(kind)] = pydantic.TypeAdapter(kind)
    try:
        found = adapter.validate_json(json.dumps(value), strict=True)
    except pydantic.ValidationError as error:
        raise Rejected(name, _telling(error)) from None
    strays = [
        f"{pointer} {what}"
        for pointer, what in _strays(found, value, "")
        if not any(fnmatch.fnmatchcase(pointer, pattern) for pattern in also)
    ]
    need(not strays, name, "\n".join(strays))
    return found


# The keys that distinguish the members of a union.
_TAGS = ("type", "role", "object")


def _telling(error):
    """The relevant errors: for a union, not those of members with another tag."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    tags = [
        each
        for each in found
        if len(each["loc"]) > 1 and each["loc"][-1] in _TAGS and each["type"] in ("literal_error", "missing")
    ]
    strangers = {each["loc"][:-1] for each in tags}
    near = [
        each
        for each in found
        if each["loc"][-1:] != ("str",)
        and not any(each["loc"][: len(other)] == other for other in strangers)
    ]
    if not near:
        deepest = max((len(each["loc"]) for each in tags), default=0)
        near = [each for each in tags if len(each["loc"]) == deepest] or found
    lines = [f"{_pointer(each['loc'])}: {each['msg']}" for each in near]
    return "\n".join(dict.fromkeys(lines))


def _pointer(location):
    """A location without pydantic's names for anonymous types, which have brackets."""
    return "/" + "/".join(str(step) for step in location if "[" not in str(step))


def _strays(found, raw, pointer):
    """Keys and enum values of `raw` that the type of `found` does not declare."""
    if isinstance(found, pydantic.BaseModel) and isinstance(raw, dict):
        declared = {}
        for attribute, field in type(found).model_fields.items():
            for key in (attribute, field.alias, field.validation_alias):
                if isinstance(key, str):
                    declared[key] = attribute
        for key, value in raw.items():
            if key in declared:
                yield from _strays(getattr(found, declared[key]), value, f"{pointer}/{key}")
            else:
                yield f"{pointer}/{key}", f"is not declared by {type(found).__name__}"
    elif isinstance(found, (list, tuple)) and isinstance(raw, list):
        for index, (item, value) in enumerate(zip(found, raw)):
            yield from _strays(item, value, f"{pointer}/{index}")
    elif isinstance(found, enum.Enum) and found.name not in type(found).__members__:
        yield pointer, f"has a value that {type(found).__name__} does not declare"


def harden(package):
    """Makes the TypedDicts of a package closed, and their iterables lists.

    pydantic checks an `Iterable` only when someone iterates, and ignores keys that a TypedDict
    does not name.
    """
    root = importlib.import_module(package)
    for module in pkgutil.walk_packages(root.__path__, package + "."):
        for kind in vars(importlib.import_module(module.name)).values():
            if not typing_extensions.is_typeddict(kind) or not kind.__module__.startswith(package):
                continue
            if not hasattr(kind, "__pydantic_config__"):
                hints = typing_extensions.get_type_hints(kind, include_extras=True)
                kind.__annotations__ = {key: _eager(hint) for key, hint in hints.items()}
                kind.__pydantic_config__ = pydantic.ConfigDict(extra="forbid")


def _eager(hint):
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is collections.abc.Iterable:
        return typing.List[_eager(arguments[0])]
    if not arguments or origin is typing.Literal:
        return hint
    if origin is typing.Annotated:
        return typing.Annotated[(_eager(arguments[0]), *arguments[1:])]
    eager = tuple(_eager(each) if not isinstance(each, list) else each for each in arguments)
    if eager == arguments:
        return hint
    if origin in (typing_extensions.Required, typing_extensions.NotRequired):
        return origin[eager[0]]
    return typing.Union[eager] if origin is typing.Union else origin[eager]
