"""schemathesis against a running gateway: generated requests to every endpoint of `/openapi.json`.

No reply may be a server error, and each must have a status, a media type and a body that the document
describes. The gateway has no upstream but the offline one, no key, and a catalog with a prefab.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

_CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
]
_PREFAB = "fixtures/catalog/file-processing-prefab"
# Requests to the gateway itself do not go through a proxy, and the keys of vendors would become upstreams.
_LEFT_OUT = re.compile(r"(?i)api_key|^aws_|_proxy$|^ollama_host$")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--seconds", type=int, required=True)
    options = parser.parse_args()
    environment = {name: text for name, text in os.environ.items() if not _LEFT_OUT.search(name)}
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        data = ["--data", str(home / "data")]
        subprocess.run([options.binary, "catalog", "add", _PREFAB, *data], check=True, env=environment)
        (home / "toolwright.toml").write_text("", "utf-8")
        log = home / "log"
        command = [options.binary, "serve", "--config", str(home / "toolwright.toml")]
        with log.open("w", encoding="utf-8") as output:
            command += ["--listen", "127.0.0.1:0", *data]
            serve = subprocess.Popen(command, stderr=output, env=environment)
        try:
            address = _address(serve, log)
            failed = _test(address, options.seconds, home, environment)
            if serve.poll() is not None:
                failed = f"the gateway ended with {serve.returncode}"
        finally:
            serve.terminate()
            serve.wait(60)
        panics = [line for line in log.read_text("utf-8").splitlines() if "panicked" in line]
    sys.exit("\n".join(panics) or failed)


def _address(serve, log):
    """The address that the gateway prints."""
    for _ in range(600):
        if match := re.search(r"listening on (http://\S+)", log.read_text("utf-8")):
            return match[1]
        if serve.poll() is not None:
            break
        time.sleep(0.1)
    raise SystemExit(f"the gateway did not start: {log.read_text('utf-8')}")


def _test(address, seconds, home, environment):
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{address}/openapi.json"]
    command += ["--checks", ",".join(_CHECKS), "--max-time", str(seconds), "--request-timeout", "20"]
    command += ["--generation-database", "none", "--warnings", "off", "--no-color"]
    # How the generator works is not what is checked.
    command += ["--suppress-health-check", "all"]
    folder = str(pathlib.Path(__file__).resolve().parent)
    hooks = {"SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": folder}
    return subprocess.run(command, cwd=home, env={**environment, **hooks}).returncode


if __name__ == "__main__":
    main()
