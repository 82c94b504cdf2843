"""AWS Bedrock Converse, checked with botocore: its service model, validator, parser and client."""

import re
import urllib.parse

import boto3
import botocore.config
import botocore.eventstream
import botocore.exceptions
import botocore.parsers
import botocore.validate

import frames
import loopback
from strict import Rejected, need

PATH = r"/model/([^/]+)/converse(-stream)?"
_config = botocore.config.Config(
    signature_version="v4", retries={"total_max_attempts": 1}, proxies={}
)
_client = boto3.client(
    "bedrock-runtime",
    endpoint_url=loopback.URL,
    region_name="us-east-1",
    aws_access_key_id="A",
    aws_secret_access_key="s",
    config=_config,
)
_model = _client.meta.service_model
_asked = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "x"}]}]}
# Padding that hides the length of a chunk's content.
_PADDING = "p"


def request(path, body):
    """A request."""
    found = re.fullmatch(PATH, path)
    need(found, "path", f"{path!r} is not {PATH}")
    operation = _model.operation_model("ConverseStream" if found[2] else "Converse")
    need("modelId" not in body, "ConverseRequest", "modelId belongs into the path")
    _valid({"modelId": urllib.parse.unquote(found[1]), **body}, operation.input_shape)


def tools(tools):
    """Tools of a request."""
    for tool in tools:
        _valid(tool, _model.shape_for("Tool"))


def _valid(value, shape):
    report = botocore.validate.ParamValidator().validate(value, shape)
    need(not report.has_errors(), shape.name, report.generate_report())
    _declared(value, shape, "")


def _declared(value, shape, pointer):
    """Checks rules of the service model that botocore's validator and parser do not check."""
    if shape.type_name == "structure":
        if shape.is_document_type:
            return
        need(isinstance(value, dict), shape.name, f"{pointer or '/'} is not an object")
        for key in shape.required_members:
            need(key in value, shape.name, f"{pointer}/{key} is missing")
        if shape.is_tagged_union:
            need(len(value) == 1, shape.name, f"{pointer} has {sorted(value)}, not one member")
        for key, member in value.items():
            need(key in shape.members, shape.name, f"{pointer}/{key} is not in the service model")
            _declared(member, shape.members[key], f"{pointer}/{key}")
    elif shape.type_name == "list":
        need(isinstance(value, list), shape.name, f"{pointer} is not a list")
        for index, member in enumerate(value):
            _declared(member, shape.member, f"{pointer}/{index}")
    elif shape.type_name == "string":
        need(isinstance(value, str), shape.name, f"{pointer} is not a string")
        need(
            not shape.enum or value in shape.enum,
            shape.name,
            f"{pointer}: {value!r} is not in {shape.enum}",
        )
        longest = shape.metadata.get("max", len(value))
        need(len(value) <= longest, shape.name, f"{pointer} is longer than {longest}")
        pattern = shape.metadata.get("pattern")
        need(
            not pattern or re.fullmatch(pattern, value),
            shape.name,
            f"{pointer}: {value!r} is not {pattern}",
        )
    elif shape.type_name in ("integer", "long"):
        need(type(value) is int, shape.name, f"{pointer} is not an integer")
    elif shape.type_name in ("float", "double"):
        need(type(value) in (int, float), shape.name, f"{pointer} is not a number")
    elif shape.type_name == "boolean":
        need(type(value) is bool, shape.name, f"{pointer} is not a boolean")


def response(body):
    """A whole reply."""
    _declared(body, _model.operation_model("Converse").output_shape, "")
    loopback.answer_json(body)
    try:
        content = _client.converse(**_asked)["output"]["message"]["content"]
    except (botocore.parsers.ResponseParserError, botocore.exceptions.BotoCoreError) as error:
        raise Rejected("converse", repr(error)) from None
    calls = [block["toolUse"] for block in content if "toolUse" in block]
    return [(call["name"], call["input"]) for call in calls]


def _frames(data):
    """The frames of a stream, with their checksums and each payload's shape checked."""
    shapes = _model.operation_model("ConverseStream").output_shape.members["stream"].members
    buffer = botocore.eventstream.EventStreamBuffer()
    buffer.add_data(data)
    found, length = [], 0
    try:
        for frame in buffer:
            length += frame.prelude.total_length
            kind = frame.headers.get(":message-type")
            need(kind == "event", "EventStream", f"a frame with message-type {kind!r}")
            name, payload = frame.headers[":event-type"], frames.parse(
                frame.payload.decode("utf-8")
            )
            need(name in shapes, "ConverseStreamOutput", f"unknown event {name!r}")
            stripped = {key: value for key, value in payload.items() if key != _PADDING}
            _declared(stripped, shapes[name], f"/{name}")
            found.append((name, payload))
    except botocore.eventstream.ParserError as error:
        raise Rejected("EventStream", repr(error)) from None
    need(length == len(data), "EventStream", "the last frame is cut off")
    return found


def stream(data):
    """A stream: each event by its shape, and the whole with the SDK; calls are joined by block."""
    order = [name for name, _ in _frames(data)]
    need(
        order[:1] == ["messageStart"],
        "converse_stream",
        "the stream does not start with messageStart",
    )
    need(
        order[-2:] == ["messageStop", "metadata"],
        "converse_stream",
        f"the stream ends with {order[-2:]}",
    )
    loopback.answer_bytes(data, "application/vnd.amazon.eventstream")
    blocks = {}
    try:
        for event in _client.converse_stream(**_asked)["stream"]:
            ((name, payload),) = event.items()
            index = payload.get("contentBlockIndex")
            if name == "contentBlockStart" and "toolUse" in payload["start"]:
                need(index not in blocks, name, f"block {index} starts twice")
                blocks[index] = [payload["start"]["toolUse"]["name"], ""]
            elif name == "contentBlockDelta" and "toolUse" in payload["delta"]:
                blocks[index][1] += payload["delta"]["toolUse"]["input"]
    except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError, KeyError) as error:
        raise Rejected("converse_stream", repr(error)) from None
    return [tuple(call) for _, call in sorted(blocks.items())]


def readable(data, text):
    """Checks that the readable copy of a binary stream equals its frames."""
    listed = []
    for line in text.splitlines():
        name, _, payload = line.partition(" ")
        listed.append((name, frames.parse(payload)))
    need(_frames(data) == listed, "EventStream", "the readable twin differs from the frames")


def fault(status, headers, body):
    """An error body."""
    loopback.answer_json(body, status, headers)
    try:
        _client.converse(**_asked)
    except botocore.exceptions.ClientError as error:
        code = error.response["Error"]["Code"]
        known = [shape.name for shape in _model.operation_model("Converse").error_shapes]
        need(code in known, "ClientError", f"code {code!r} is none of {known}")
        found = error.response["ResponseMetadata"]["HTTPStatusCode"]
        need(found == status, "ClientError", f"status {found}")
        need(error.response["Error"].get("Message"), "ClientError", "no message")
    else:
        raise Rejected("ClientError", "the SDK took it for an answer")
