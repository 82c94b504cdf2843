"""What happens to the six servers happens to their own tools only: each is killed and stopped while all are called, and the
configuration is reloaded many times. No process may be left."""

import asyncio
import os
import signal
import time
import uuid
from pathlib import Path

import servers
from mcp import Client
from running import Gateway, left

# Deadline of a call at a server that does not answer, and what a call may take in all, with a start of the server.
DEADLINE = 3
MOST = 60


class Load:
    """Calls of every server, over and over, and their results."""

    def __init__(self, address, folder):
        self.address, self.samples = address, servers.samples(folder)
        self.done, self.is_over = [], False

    async def run(self, faults):
        """Runs all calls until the faults are over."""
        async with asyncio.TaskGroup() as group:
            for sample in self.samples:
                group.create_task(self.repeat(sample))
            await faults
            self.is_over = True

    async def repeat(self, sample):
        async with Client(f"http://{self.address}/mcp", read_timeout_seconds=MOST) as client:
            while not self.is_over:
                start = time.monotonic()
                try:
                    result = await client.call_tool(sample["name"], sample["arguments"])
                    is_right = not result.is_error and sample["expected"] in result.model_dump_json()
                except Exception as error:  # Any failure of a call counts as one.
                    is_right, result = False, error
                end = time.monotonic()
                self.done.append((sample["server"], start, end, is_right, result))
                await asyncio.sleep(0.02)

    async def until(self, server, is_right, since):
        """Waits for a call that was made since then and has this result."""
        while not any(own == server and start > since and right == is_right for own, start, _, right, _ in self.done):
            if time.monotonic() > since + MOST:
                raise TimeoutError(f"{server}: no call {'succeeds' if is_right else 'fails'} again")
            await asyncio.sleep(0.05)


def processes(mark):
    """The processes with this text in their environment, and their command lines."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes():
                found[int(folder.name)] = (folder / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
    return found


async def strike(load, marks, windows):
    """Kills each server, then stops each one for longer than its deadline."""
    for server, mark in marks.items():
        for name in (signal.SIGKILL, signal.SIGSTOP):
            # The first calls start the servers.
            await load.until(server, True, time.monotonic())
            start = time.monotonic()
            victims = processes(mark)
            if not victims:
                raise TimeoutError(f"{server} does not run")
            for victim in victims:
                os.kill(victim, name)
            if name == signal.SIGSTOP:
                await load.until(server, False, start)
                for victim in victims:
                    # It may have been replaced.
                    if victim in processes(mark):
                        os.kill(victim, signal.SIGCONT)
            await load.until(server, True, time.monotonic())
            windows.append((server, start, time.monotonic()))


def configuration(path, marks):
    """The same servers with a deadline, each with its own mark in the environment."""
    lines = []
    for line in path.read_text().splitlines():
        if line.startswith("[mcp.memory.env]"):
            continue
        lines.append(line)
        if line.startswith("MEMORY_FILE_PATH"):
            lines.pop()
        if line.startswith("[mcp."):
            server = line.removeprefix("[mcp.").removesuffix("]")
            lines.append(f'deadline = "{DEADLINE}s"\nenv = {{ CONFORMANCE_MARK = "{marks[server].decode()}" }}')
    return "\n".join(lines)


def under_load(binary, folder, path):
    """Kills and stops each server while all are called."""
    marks = {server: uuid.uuid4().hex.encode() for server in servers.SAMPLES}
    own = folder / "faults.toml"
    own.write_text(configuration(path, marks))
    windows, failures = [], []
    with Gateway(binary, "--config", str(own)) as gateway:
        failures += asyncio.run(servers.wait(gateway.address))
        load = Load(gateway.address, folder)
        try:
            asyncio.run(load.run(strike(load, marks, windows)))
        except* TimeoutError as errors:
            failures += [str(error) for error in errors.exceptions]
        running = [pid for mark in marks.values() for pid in processes(mark)]
    failures += left(running)
    for server, start, end, is_right, result in load.done:
        # Calls at a server that fails may fail; one that began before may have met the fault, too.
        is_victim = any(own == server and end > since and start < until for own, since, until in windows)
        if not is_right and not is_victim:
            failures.append(f"a call of {server} failed: {result}")
        if end - start > MOST:
            failures.append(f"a call of {server} took {end - start:.0f} s")
    failed = sum(not is_right for *_, is_right, _ in load.done)
    print(f"servers killed and stopped under load: {len(load.done)} calls, {failed} failed, all of the server that had the fault")
    return failures


def reloads(binary, folder, venv):
    """Reloads with a changed command, then ends the gateway, orderly and not."""
    failures = []
    program = venv / "bin/mcp-server-time"
    for end in (signal.SIGTERM, signal.SIGKILL):
        mark = uuid.uuid4().hex
        path = folder / "reloads.toml"

        def write(number):
            # Each server has a child that does not end by itself.
            command = f"sleep 1000 & exec {program} --local-timezone UTC # {number}"
            path.write_text(f"[mcp.time]\ncommand = ['sh', '-c', '{command}']\nenv = {{ MARK = '{mark}-{number}' }}\n")

        write(0)
        with Gateway(binary, "--config", str(path)) as gateway:
            for number in range(1, 51):
                write(number)
                gateway.process.send_signal(signal.SIGHUP)
                time.sleep(0.05)
            for _ in range(600):
                running = processes(mark.encode())
                if running and running.keys() == processes(f"{mark}-50".encode()).keys():
                    break
                time.sleep(0.1)
            else:
                failures.append(f"processes of earlier configurations are left: {running}")
            gateway.process.send_signal(end)
            gateway.process.wait(30)
            failures += left(running)
        failures += [f"the process {pid} is left after {end.name}" for pid in processes(mark.encode())]
    return failures
