"""Tests the fake upstreams: the vendors' SDKs must decode their replies as intended."""

import json

import dialects
from agents import vendors
from agents.registry import DIALECTS
from agents.vendors import Reply
from strict import need

_CALLS = [("id0000001", "get_weather", {"city": "北京😀"}), ("id0000002", "now", {})]


def run(report):
    """Checks each vendor's replies, whole and streamed, with calls and without."""
    for dialect in DIALECTS:
        for calls in (_CALLS, []):
            for form in ("whole", "stream"):
                name = f"fake {dialect}, {form}, {len(calls)} calls"
                report.run(name, lambda: _check(dialect, form, calls))
    return report.close("self-test of the fake upstreams")


def _check(dialect, form, calls):
    codec, judge = vendors.module(dialect), dialects.module(dialect)
    reply = Reply(dialect, "c0", "m", "Let me look.", calls, "b3BhcXVl", 1)
    # botocore's model lacks the type that Claude 4.5 and later add to a call.
    more = {"call_type": None} if dialect == "bedrock" else {}
    data = getattr(codec, form)(reply, **more)
    data = data if isinstance(data, bytes) else data.encode("utf-8")
    found = judge.stream(data) if form == "stream" else judge.response(json.loads(data))
    found = [
        (name, json.loads(given) if isinstance(given, str) else given) for name, given in found
    ]
    need(found == [call[1:] for call in calls], dialect, f"the SDK read {found}")
