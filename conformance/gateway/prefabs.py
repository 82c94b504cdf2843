"""The unmodified client of prefab gateways: every method against a running gateway, and each error
that it knows.

The functions run as Python processes. The gateway has keys, then none: clients on its machine need
no token then. It never asks for an agent's context, since files belong to tenants.
"""

import json
import shutil
import socket
import subprocess
import urllib.error
import urllib.request

import gateway_sdk
from gateway_sdk import exceptions, models

from gateway import serve
from strict import need

_ID = "conformance-prefab"
_FIXTURE = "file-processing-prefab"
_INSTRUCTIONS = "Ask the operator for a key."
_FILES = {
    "input": {
        "type": "array",
        "items": {"type": "InputFile"},
        "required": True,
        "description": "The file to copy",
    },
    "output": {
        "type": "array",
        "items": {"type": "OutputFile"},
        "description": "The copy",
    },
}
_MANIFEST = {
    "id": _ID,
    "version": "1.0.0",
    "name": "Conformance",
    "description": "Functions that the conformance check calls",
    "runtime": {"process": {"command": ["python3", "run.py"]}},
    "secrets": [{"name": "API_KEY", "instructions": _INSTRUCTIONS}],
    "functions": [
        {
            "name": "greet",
            "description": "Greets a person",
            "parameters": [
                {"name": "name", "type": "string", "description": "Who", "required": True}
            ],
            "secrets": [],
        },
        {"name": "crash", "description": "Ends with an error", "parameters": [], "secrets": []},
        {"name": "refuse", "description": "Reports an error", "parameters": [], "secrets": []},
        {
            "name": "tell",
            "description": "Tells in pieces",
            "parameters": [],
            "streaming": True,
            "secrets": [],
        },
        {
            "name": "copy",
            "description": "Copies a file",
            "parameters": [],
            "files": _FILES,
            "secrets": [],
        },
        {
            "name": "guarded",
            "description": "Needs a secret",
            "parameters": [],
            "secrets": ["API_KEY"],
        },
    ],
}
_SCRIPT = '''
import json, pathlib, shutil, sys

call = json.load(sys.stdin)
name = call["function"]
if name == "greet":
    result = {"success": True, "message": f"你好 {call['parameters']['name']}"}
elif name == "refuse":
    result = {"success": False, "error": "no", "error_code": "NO"}
elif name == "copy":
    source = pathlib.Path(call["files"]["input"][0])
    shutil.copy(source, pathlib.Path(call["context"]["output_dir"]) / "output" / "copy.bin")
    result = {"success": True}
elif name == "tell":
    for piece in ("a", "b"):
        print(json.dumps({"type": "content", "data": piece}), flush=True)
    print(json.dumps({"type": "progress", "data": {"percent": 100}}))
    print(json.dumps({"type": "done", "data": {"success": True}}))
    sys.exit()
else:
    sys.exit("it crashed")
json.dump(result, sys.stdout)
'''


def _raised(error, ask):
    """The exception of a class that a call must raise."""
    try:
        found = ask()
    except error as raised:
        need(type(raised) is error, "class", f"{type(raised).__name__}, not {error.__name__}")
        return raised
    raise AssertionError(f"no {error.__name__}, but {found!r}")


def _get(address, path):
    """The status and the document of a public endpoint."""
    try:
        with urllib.request.urlopen(f"{address}/v1/public/prefabs/{path}") as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def _calls(client):
    """One call and several, their results and their failures."""
    result = client.run(_ID, "1.0.0", "greet", {"name": "张三"})
    need(result.is_success() and result.get_business_success(), "run", repr(result))
    need(result.get_business_message() == "你好 张三", "run", repr(result))
    need(result.get("status") == "SUCCESS", "run", repr(result))
    need(result.get_function_result() == result.get_result()["output"], "run", repr(result))
    need(result.get_files() == {} and result.job_id, "run", repr(result))
    refused = client.run(_ID, "1.0.0", "refuse", {})
    need(refused.is_success() and not refused.get_business_success(), "run", repr(refused))
    need(refused.get_business_error() == "no", "run", repr(refused))
    need(refused.get_business_error_code() == "NO", "run", repr(refused))
    batch = client.run_batch(
        [
            models.PrefabCall(_ID, "1.0.0", "greet", {"name": "a"}),
            models.PrefabCall(_ID, "1.0.0", "crash", {}),
        ]
    )
    need(not batch.all_success() and len(batch.get_failed()) == 1, "run_batch", repr(batch))
    need(batch.results[0].is_success() and batch.job_id, "run_batch", repr(batch))
    need("it crashed" in batch.results[1].error["message"], "run_batch", repr(batch))


def _stream(client):
    """A streaming function, with and without `stream`."""
    events = list(client.run(_ID, "1.0.0", "tell", {}, stream=True))
    kinds = [event.type.value for event in events]
    need(kinds == ["start", "content", "content", "progress", "done"], "stream", repr(events))
    need([event.data for event in events[1:3]] == ["a", "b"], "stream", repr(events))
    need(events[-1].data == {"success": True}, "stream", repr(events))
    missing = _raised(
        exceptions.PrefabNotFoundError,
        lambda: list(client.run("no-such-prefab", "1.0.0", "tell", {}, stream=True)),
    )
    # The client does not read the body of a stream before it asks for its JSON.
    need(missing.message.startswith("HTTP 404"), "stream", missing.message)


def _files(client, home):
    """Every method for files, and a function that copies one."""
    source = home / "报告 1.bin"
    source.write_bytes(bytes(range(256)) * 1000)
    link = client.upload_input_file(str(source), content_type="application/octet-stream")
    result = client.run(_ID, "1.0.0", "copy", {}, files={"input": [link]})
    need(result.is_success(), "files", repr(result))
    [copied] = result.get_files()["output"]
    target = home / "downloads" / "copy.bin"
    client.download_file(copied, str(target))
    need(target.read_bytes() == source.read_bytes(), "files", "the copy differs")
    stored = client.upload_file(str(source))
    expected = {"success": True, "filename": source.name, "size": 256_000}
    need({**stored, **expected} == stored, "upload_file", repr(stored))
    with urllib.request.urlopen(client.get_presigned_url(stored["s3_url"], 60)) as reply:
        need(reply.read() == source.read_bytes(), "get_presigned_url", "other bytes")
    for _ in range(2):
        stored = client.upload_temp_file(str(source), ttl=3600, session_id="session 1")
    client.upload_temp_file(str(source))
    found = client.list_temp_files(session_id="session 1")["files"]
    need(len(found) == 2 and found[1]["s3_url"] == stored["s3_url"], "list_temp_files", repr(found))
    need(len(client.list_temp_files()["files"]) == 3, "list_temp_files", "not all")
    need(client.cleanup_temp_files("session 1") == 2, "cleanup_temp_files", "another number")
    need(client.cleanup_temp_files("session 1") == 0, "cleanup_temp_files", "another number")
    first = client.list_files(limit=2)
    rest = client.list_files(limit=2, continuation_token=first["next_token"])
    links = [file["s3_url"] for file in first["files"] + rest["files"]]
    need(len(set(links)) == 3 and link in links and "next_token" not in rest, "list_files", repr(links))
    need(set(first["files"][0]) == {"key", "size", "last_modified", "s3_url"}, "list_files", "")


def _errors(client, other, address, home):
    """Each class of error."""
    run = client.run
    missing = _raised(exceptions.PrefabNotFoundError, lambda: run("none", "1.0.0", "f", {}))
    need(missing.message == "Prefab 'none' not found", "message", missing.message)
    missing = _raised(exceptions.PrefabNotFoundError, lambda: run(_ID, "9.9.9", "greet", {}))
    need(missing.message == f"Prefab '{_ID}@9.9.9' not found", "message", missing.message)
    missing = _raised(exceptions.PrefabNotFoundError, lambda: run(_ID, "1.0.0", "none", {}))
    text = f"Function 'none' not found in prefab {_ID}@1.0.0"
    need(missing.message == text, "message", missing.message)
    invalid = _raised(exceptions.ValidationError, lambda: run(_ID, "1.0.0", "greet", {"name": 1}))
    need("/name" in invalid.message, "message", invalid.message)
    secret = _raised(exceptions.MissingSecretError, lambda: run(_ID, "1.0.0", "guarded", {}))
    found = (secret.prefab_id, secret.secret_name, secret.instructions)
    need(found == (_ID, "API_KEY", _INSTRUCTIONS), "secret", repr(found))
    stored = client.list_files()["files"][0]["s3_url"]
    for link in (stored, "s3://elsewhere/file", "s3://toolwright/../signing.key"):
        _raised(exceptions.PrefabNotFoundError, lambda: other.get_presigned_url(link))
    result = other.run(_ID, "1.0.0", "copy", {}, files={"input": [stored]})
    need(not result.is_success(), "tenant", "it can use a file of another tenant")
    _raised(exceptions.ValidationError, lambda: client.list_files(limit=0))
    _raised(exceptions.ValidationError, lambda: client.upload_temp_file(str(home / "t"), ttl=0))
    large = home / "large.bin"
    large.write_bytes(bytes(2_000_000))
    _raised(exceptions.GatewayError, lambda: client.upload_file(str(large)))
    quota = _raised(
        exceptions.QuotaExceededError,
        lambda: [other.upload_file(str(home / "third")) for _ in range(4)],
    )
    need((quota.limit, quota.quota_type) == (3_000_000, "storage_bytes"), "quota", repr(quota.details))
    for wrong in (
        lambda: gateway_sdk.GatewayClient.from_api_key("sk-wrong", base_url=address),
        lambda: gateway_sdk.GatewayClient(base_url=address).run(_ID, "1.0.0", "greet", {}),
        lambda: gateway_sdk.GatewayClient("wrong", base_url=address).list_files(),
    ):
        _raised(exceptions.AuthenticationError, wrong)


def _limited(address, key):
    """A client that has used its rate, for its token and for a call."""
    client = gateway_sdk.GatewayClient.from_api_key(key, base_url=address)
    client.run(_ID, "1.0.0", "refuse", {})
    quota = _raised(
        exceptions.QuotaExceededError, lambda: client.run(_ID, "1.0.0", "refuse", {})
    )
    found = (quota.limit, quota.used, quota.quota_type)
    need(found == (2, 2, "requests_per_minute"), "quota", repr(found))


def _unavailable():
    """A gateway that nobody runs."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
    client = gateway_sdk.GatewayClient("token", base_url=address)
    _raised(exceptions.ServiceUnavailableError, lambda: client.run(_ID, "1.0.0", "greet", {}))
    _raised(exceptions.ServiceUnavailableError, client.list_files)


def _broken(client):
    """A function that nothing here can run."""
    raised = _raised(exceptions.GatewayError, lambda: client.run("mcp-prefab", "1.0.0", "any", {}))
    need(raised.details == {"error_code": "NOT_RUNNABLE"}, "details", repr(raised.details))


def _public(address, root):
    """The prefab of the fixtures and its errors, to the letter."""
    served = json.loads(
        (root / "fixtures" / "catalog" / "served" / "parse_file.json").read_text("utf-8")
    )
    listed = [{key: served[key] for key in ("name", "description")}]
    for query in ("", "?version=0.1.5"):
        found = _get(address, f"{_FIXTURE}/functions{query}")
        need(found == (200, listed), "functions", repr(found))
        found = _get(address, f"{_FIXTURE}/functions/parse_file{query}")
        need(found == (200, served), "details", repr(found))
    status, found = _get(address, "non-existent-prefab/functions")
    text = "Prefab 'non-existent-prefab' not found"
    need((status, found["detail"]) == (404, text), "functions", repr(found))
    status, found = _get(address, f"{_FIXTURE}/functions/non_existent_function")
    text = f"Function 'non_existent_function' not found in prefab {_FIXTURE}@0.1.5"
    need((status, found["detail"]) == (404, text), "details", repr(found))


def _publish(binary, home, root):
    folder = home / "prefab"
    folder.mkdir()
    (folder / "prefab.json").write_text(json.dumps(_MANIFEST), "utf-8")
    (folder / "run.py").write_text(_SCRIPT, "utf-8")
    other = home / "mcp"
    other.mkdir()
    function = {"name": "any", "description": "Any function", "parameters": []}
    manifest = {**_MANIFEST, "id": "mcp-prefab", "functions": [function], "secrets": []}
    manifest["runtime"] = {"mcp": {"command": ["none"]}}
    (other / "prefab.json").write_text(json.dumps(manifest), "utf-8")
    for path in (folder, other, root / "fixtures" / "catalog" / _FIXTURE):
        command = [binary, "catalog", "add", str(path), "--data", str(home / "data")]
        subprocess.run(command, check=True, capture_output=True)


def _key(binary, name, *more):
    """A key, and its table for the configuration."""
    command = [binary, "key", name, "--json", *more]
    made = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return made["key"], made["toml"]


def run(binary, root, home, report):
    """Drives the client against a gateway with keys and against one without."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    (home / "t").write_text("t", "utf-8")
    (home / "third").write_bytes(bytes(900_000))
    _publish(binary, home, root)
    alice, bob, slow = (
        _key(binary, "alice"),
        _key(binary, "bob"),
        _key(binary, "slow", "--requests-per-minute", "2"),
    )
    more = '\n[catalog]\nmax_file = "1MB"\nmax_storage = "3MB"\n'
    tables = "\n".join(table for _, table in (alice, bob, slow))
    with serve.gateway(binary, home, {}, more=tables + more) as address:
        client, other = (
            gateway_sdk.GatewayClient.from_api_key(key, base_url=address) for key, _ in (alice, bob)
        )
        report.run("prefabs, calls", lambda: _calls(client))
        report.run("prefabs, stream", lambda: _stream(client))
        report.run("prefabs, files", lambda: _files(client, home))
        report.run("prefabs, errors", lambda: _errors(client, other, address, home))
        report.run("prefabs, rate", lambda: _limited(address, slow[0]))
        report.run("prefabs, not runnable", lambda: _broken(client))
        status, _ = _get(address, f"{_FIXTURE}/functions")
        report.run("prefabs, private", lambda: need(status == 404, "visibility", str(status)))
    report.run("prefabs, unavailable", _unavailable)
    with serve.gateway(binary, home, {}, more=more) as address:
        client = gateway_sdk.GatewayClient(base_url=address)
        report.run("prefabs, without keys", lambda: _calls(client))
        report.run("prefabs, public", lambda: _public(address, root))
