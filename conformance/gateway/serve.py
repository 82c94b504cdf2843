"""The gateway's own process, with a configuration that names the fake upstreams."""

import contextlib
import datetime
import ipaddress
import json
import os
import queue
import re
import subprocess
import threading

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

# How long a gateway may take to print its address, on a slow machine.
_PATIENCE = 60


@contextlib.contextmanager
def gateway(binary, home, upstreams, certificate=None, more=""):
    """Runs `toolwright serve` on a free port and yields its address; stops it afterwards.

    `more` is appended to its configuration.
    """
    home.mkdir(parents=True, exist_ok=True)
    config = home / "toolwright.toml"
    config.write_text(_config(home, upstreams, certificate) + more, "utf-8")
    command = [binary, "serve", "--config", str(config), "--listen", "127.0.0.1:0"]
    log = (home / "gateway.log").open("w", encoding="utf-8")
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**_clean(os.environ), **_keys(upstreams)},
    )
    try:
        yield _address(process, log)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process, log):
    """The address that the gateway prints; all its output goes to the log."""
    found = queue.Queue()

    def read():
        for line in process.stderr:
            log.write(line)
            log.flush()
            if match := re.search(r"listening on (https?://\S+)", line):
                found.put(match[1])
        found.put(None)

    threading.Thread(target=read, daemon=True).start()
    address = found.get(timeout=_PATIENCE)
    if address is None:
        raise SystemExit(f"the gateway did not start; see {log.name}")
    return address


def _clean(environment):
    """The environment without keys of vendors, which would become upstreams."""
    return {
        name: value
        for name, value in environment.items()
        if not re.search(r"(?i)api_key|^aws_|_proxy$|^ollama_host$", name)
    }


def _variable(id, kind="KEY"):
    return f"MATRIX_{id.upper().replace('-', '_')}_{kind}"


def _keys(upstreams):
    found = {}
    for id, upstream in upstreams.items():
        access, _, secret = upstream.key.partition(":")
        found[_variable(id)] = access
        found[_variable(id, "SECRET")] = secret
    return found


def _config(home, upstreams, certificate):
    lines = [f'data = "{home / "data"}"', ""]
    for id, upstream in upstreams.items():
        lines += [
            f"[upstreams.{id}]",
            f'dialect = "{upstream.vendor.DIALECT}"',
            f'base_url = "{upstream.url}"',
        ]
        if ":" in upstream.key:
            lines += [
                f'access_key = "env:{_variable(id)}"',
                f'secret_key = "env:{_variable(id, "SECRET")}"',
            ]
        else:
            lines.append(f'key = "env:{_variable(id)}"')
        if upstream.vendor.DIALECT == "bedrock":
            lines.append(f'region = "{upstream.vendor.REGION}"')
        if upstream.models:
            lines.append(f"models = {json.dumps(upstream.models)}")
        if upstream.version:
            lines.append(f'version = "{upstream.version}"')
        lines.append("")
    if certificate:
        cert, key = certificate
        lines += ["[tls]", f'cert = "{cert}"', f'key = "{key}"', ""]
    return "\n".join(lines)


def certify(home):
    """A new certificate for 127.0.0.1 and its key."""
    home.mkdir(parents=True, exist_ok=True)
    secret = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "toolwright conformance")])
    now = datetime.datetime.now(datetime.timezone.utc)
    alternative = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(secret.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(alternative, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(secret, hashes.SHA256())
    )
    cert, key = home / "cert.pem", home / "key.pem"
    cert.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key.write_bytes(
        secret.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return cert, key
