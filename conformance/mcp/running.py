"""A running gateway and its processes."""

import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path


class Gateway:
    """A running gateway: a program with its arguments before those of the server."""

    def __init__(self, binary, *arguments, command=("serve",)):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        self.folder = tempfile.TemporaryDirectory()
        command = [binary, *command, "--listen", self.address, "--data", f"{self.folder.name}/data"]
        self.log = Path(self.folder.name, "log")
        with self.log.open("w") as log:
            self.process = subprocess.Popen([*command, *arguments], stderr=log, cwd=self.folder.name)

    def __enter__(self):
        for _ in range(200):
            try:
                urllib.request.urlopen(f"http://{self.address}/readyz").close()
                return self
            except OSError:
                time.sleep(0.1)
        sys.exit(f"the gateway did not start:\n{self.log.read_text()}")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        self.folder.cleanup()


def children(parent):
    """The processes that a process has started, directly or not."""
    pairs = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            own = re.search(r"^PPid:\s+(\d+)", status.read_text(), re.MULTILINE)
        except OSError:
            continue
        pairs.append((int(status.parent.name), int(own.group(1))))
    found, open_ = set(), {parent}
    while open_:
        open_ = {pid for pid, own in pairs if own in open_} - found
        found |= open_
    return found


def left(processes):
    """The processes that do not end."""
    for _ in range(100):
        remaining = [pid for pid in processes if Path(f"/proc/{pid}").exists()]
        if not remaining:
            break
        time.sleep(0.1)
    return [f"the process {pid} is left" for pid in remaining]
