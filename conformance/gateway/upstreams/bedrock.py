"""AWS Bedrock Converse, which checks signatures."""

import json
import re
import urllib.parse

import botocore.auth
import botocore.awsrequest
import botocore.credentials

from gateway.upstreams import Request
from strict import need

DIALECT = "bedrock"
TOOLS, FINAL = "bedrock_converse_tools.json", "bedrock_converse_final.json"
TOOLS_STREAM = "bedrock_converse_stream.bin"
FINAL_STREAM = "bedrock_converse_stream_text.bin"
IDS = (("tooluse_", "hbTgdi0CSLq_hM4P8csZJA"), ("tooluse_", "kZJMlvQmRJ6eAyJE5GIl7Q"))
OPAQUE = ("EqQBOpaque==",)
# The colon must be percent-encoded in the path.
MODEL = "us.anthropic.claude-opus-5-{}-v1:0"
CONTENT_TYPE = "application/vnd.amazon.eventstream"
REGION = "us-east-1"


def opaque(tag):
    """A signature unique to this cell."""
    return (f"EqQB{tag}==",)


def paths(model, stream):
    """The accepted paths."""
    verb = "converse-stream" if stream else "converse"
    return (f"/model/{urllib.parse.quote(model, safe='')}/{verb}",)


def credential(headers, key):
    """Checks a bearer key; or, for `access:secret`, that botocore computes the same signature."""
    access, _, secret = key.partition(":")
    found = headers.get("authorization", "")
    if not secret:
        return None if found == f"Bearer {key}" else "authorization is not the key"
    match = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/bedrock/aws4_request, ?"
        r"SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})",
        found,
    )
    if not match:
        return "authorization is no signature for bedrock"
    signed = match[4].split(";")
    if match[1] != access or match[3] != REGION or not {"host", "x-amz-date"} <= set(signed):
        return f"signed as {match[1]!r} for {match[3]} with {signed}"
    wanted = _signature(headers, signed, access, secret)
    return None if match[5] == wanted else "the signature is not the one that botocore makes"


def _signature(headers, signed, access, secret):
    request = botocore.awsrequest.AWSRequest(
        method="POST",
        url=f"http://{headers['host']}{headers[':path']}",
        data=headers[":body"],
        headers={name: headers.get(name, "") for name in signed},
    )
    request.context["timestamp"] = headers["x-amz-date"]
    credentials = botocore.credentials.Credentials(access, secret)
    auth = botocore.auth.SigV4Auth(credentials, "bedrock", REGION)
    return auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)


def read(path, body):
    """Reads a request."""
    messages = body["messages"]
    roles = [message["role"] for message in messages]
    alternate = all(one != other for one, other in zip(roles, roles[1:]))
    need(alternate and roles[0] == "user", "order", f"roles {roles} do not alternate")
    blocks = [(at, block) for at, message in enumerate(messages) for block in message["content"]]
    calls = [(at, block["toolUse"]) for at, block in blocks if "toolUse" in block]
    results = [(at, block["toolResult"]) for at, block in blocks if "toolResult" in block]
    after = {at + 1 for at, _ in calls}
    need({at for at, _ in results} == after, "order", "the results are not in the message after")
    for at, _ in results:
        need(roles[at] == "user", "order", f"results of {roles[at]}")
        mixed = [block for block in messages[at]["content"] if "toolResult" not in block]
        need(not mixed, "order", "results and other blocks in one message")
    thoughts = [block["reasoningContent"] for _, block in blocks if "reasoningContent" in block]
    return Request(
        stream=path.endswith("/converse-stream"),
        system="\n".join(block.get("text", "") for block in body.get("system", [])),
        prompt="\n".join(block.get("text", "") for at, block in blocks if roles[at] == "user"),
        tools={
            tool["toolSpec"]["name"]: (
                tool["toolSpec"].get("description"),
                tool["toolSpec"]["inputSchema"]["json"],
            )
            for tool in body["toolConfig"]["tools"]
        },
        calls=[(call["toolUseId"], call["name"], call["input"]) for _, call in calls],
        results=[(found["toolUseId"], None, _text(found["content"])) for _, found in results],
        opaque=[
            thought["reasoningText"].get("signature", "")
            for thought in thoughts
            if "reasoningText" in thought
        ],
    )


def _text(content):
    return "".join(
        block["text"] if "text" in block else json.dumps(block["json"], ensure_ascii=False)
        for block in content
    )
