"""AWS Bedrock Converse, with boto3."""

import json
import os

import boto3
import botocore.config

from gateway.clients import PROMPT, SYSTEM, TOOLS, Turn, result


def connect(base, key):
    """A client that signs with `access:secret`, or uses the bearer key of the environment."""
    bearer = "AWS_BEARER_TOKEN_BEDROCK" in os.environ
    access, _, secret = key.partition(":")
    config = botocore.config.Config(
        signature_version="bearer" if bearer else "v4",
        retries={"total_max_attempts": 1},
        max_pool_connections=32,
        read_timeout=60,
        proxies={},
    )
    return boto3.client(
        "bedrock-runtime",
        endpoint_url=base,
        region_name="us-east-1",
        aws_access_key_id=access,
        aws_secret_access_key=secret,
        config=config,
    )


def first(client, model, stream):
    """The first turn: sends the question."""
    return _turn(client, model, stream, [{"role": "user", "content": [{"text": PROMPT}]}])


def second(client, model, stream, turn):
    """The second turn: sends the results of the calls."""
    results = [
        {"toolResult": {"toolUseId": id, "content": [{"json": result(name, arguments)}]}}
        for id, name, arguments in turn.calls
    ]
    return _turn(client, model, stream, [*turn.history, {"role": "user", "content": results}])


def _turn(client, model, stream, messages):
    asked = {
        "modelId": model,
        "system": [{"text": SYSTEM}],
        "messages": messages,
        "toolConfig": {
            "tools": [
                {
                    "toolSpec": {
                        "name": tool["name"],
                        "description": tool["description"],
                        "inputSchema": {"json": tool["parameters"]},
                    }
                }
                for tool in TOOLS
            ]
        },
    }
    if stream:
        content, finish, usage = _joined(client.converse_stream(**asked)["stream"])
    else:
        found = client.converse(**asked)
        content, finish = found["output"]["message"]["content"], found["stopReason"]
        usage = found.get("usage")
    calls = [block["toolUse"] for block in content if "toolUse" in block]
    return Turn(
        [(call["toolUseId"], call["name"], call["input"]) for call in calls],
        "".join(block.get("text", "") for block in content),
        finish,
        usage and [usage["inputTokens"], usage["outputTokens"]],
        [*messages, {"role": "assistant", "content": content}],
    )


def _joined(events):
    """The blocks of a stream; boto3 does not join them."""
    blocks, finish, usage = {}, None, None
    for event in events:
        ((name, payload),) = event.items()
        if name == "contentBlockStart":
            start = payload["start"]["toolUse"]
            blocks[payload["contentBlockIndex"]] = {"toolUse": {**start, "input": ""}}
        elif name == "contentBlockDelta":
            _add(blocks.setdefault(payload["contentBlockIndex"], {}), payload["delta"])
        elif name == "messageStop":
            finish = payload["stopReason"]
        elif name == "metadata":
            usage = payload["usage"]
    content = [block for _, block in sorted(blocks.items())]
    for block in content:
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"] or "{}")
    return content, finish, usage


def _add(block, delta):
    if "text" in delta:
        block["text"] = block.get("text", "") + delta["text"]
    elif "toolUse" in delta:
        block["toolUse"]["input"] += delta["toolUse"]["input"]
    elif "redactedContent" in delta["reasoningContent"]:
        block["reasoningContent"] = delta["reasoningContent"]
    else:
        thought = block.setdefault("reasoningContent", {}).setdefault("reasoningText", {"text": ""})
        for key, value in delta["reasoningContent"].items():
            thought[key] = thought.get(key, "") + value
