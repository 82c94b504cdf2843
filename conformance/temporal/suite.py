"""Plans on a real Temporal server, with the tools of real workers: the same outputs as on the local engine; a worker and
the server that are killed; many items; runs that continue as new workflows; two workers with different tools; values of
5 MB by handle, between workers without a data folder in common (case 43); runs of both engines in one list."""

import argparse
import base64
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "mcp"))
from running import Gateway  # noqa: E402

LARGE = 5_000_000


def number(step):
    return {"$from": step}


# A ∥ B → C → D
DIAMOND = {
    "plan": "1",
    "steps": {
        "a": {"tool": "t_add", "args": {"numbers": [1], "ms": 1500}},
        "b": {"tool": "t_add", "args": {"numbers": [2], "ms": 300}},
        "c": {"tool": "t_add", "args": {"numbers": [number("a"), number("b")], "ms": 1500}},
        "d": {"tool": "t_add", "args": {"numbers": [number("c"), 100], "ms": 300}},
    },
    "outputs": {"c": number("c"), "d": number("d")},
}
EXPECTED = {"c": "6", "d": "107"}


class World:
    """A Temporal server, workers, and what their tools have done."""

    def __init__(self, binary, temporal, folder):
        self.binary, self.temporal, self.folder = str(Path(binary).resolve()), temporal, Path(folder)
        self.log = self.folder / "calls"
        self.log.touch()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        self.processes = []

    def server(self, *arguments):
        port = self.address.split(":")[1]
        command = [self.temporal, "server", "start-dev", "--ip", "127.0.0.1", "--port", port, "--headless"]
        command += ["--db-filename", str(self.folder / "temporal.db"), "--log-level", "error"]
        process = self.spawn([*command, *arguments], "server.log")
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(self.address.split(":"), 1):
                return process
            time.sleep(0.1)
        sys.exit(f"the Temporal server did not start:\n{(self.folder / 'server.log').read_text()}")

    def workflow(self, *arguments):
        """Does something with workflows, past Toolwright."""
        command = [self.temporal, "workflow", *arguments, "--address", self.address, "--output", "json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        check(done.stderr, done.returncode, 0)
        return json.loads(done.stdout or "null")

    def worker(self, queue, tools, *arguments, approves=True, published=None):
        """Starts a worker with a data folder of its own, in whose catalog is this plan, as `bills/settle`."""
        own = self.folder / f"{queue}-{len(self.processes)}"
        own.mkdir()
        command = json.dumps([sys.executable, str(HERE / "tools.py"), str(self.log), *tools])
        config = own / "toolwright.toml"
        config.write_text(f"[mcp.t]\ncommand = {command}\ntrust_annotations = true\n")
        place = ["--config", str(config), "--data", str(own / "data")]
        if published:
            (own / "plan.json").write_text(json.dumps(published))
            command = [self.binary, "plan", "publish", "plan.json", "--as", "bills/settle", "--version", "1.0.0", *place]
            done = subprocess.run(command, cwd=own, capture_output=True, text=True, timeout=60)
            check(done.stderr, done.returncode, 0)
        command = [self.binary, "worker", "--address", self.address, "--task-queue", queue, *place, *arguments]
        command += ["--yes"] if approves else []
        process = self.spawn(command, f"{own.name}.log", own)
        log = self.folder / f"{own.name}.log"
        for _ in range(300):
            if "on the task queue" in log.read_text():
                return process
            time.sleep(0.1)
        sys.exit(f"the worker did not start:\n{log.read_text()}")

    def spawn(self, command, log, folder=None):
        with (self.folder / log).open("a") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder or self.folder)
        self.processes.append(process)
        return process

    def plan(self, *arguments):
        return [self.binary, "plan", *arguments, "--engine", "temporal", "--address", self.address]

    def start(self, document, *arguments):
        """Starts a run, and returns the process that watches it."""
        file = self.folder / f"plan-{time.monotonic_ns()}.json"
        file.write_text(json.dumps(document))
        command = [*self.plan("run", str(file)), *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "stdin": subprocess.DEVNULL}
        return subprocess.Popen(command, **pipes)

    def run(self, document, *arguments, seconds=120):
        """Runs a plan. Returns its outputs, the time that it took, and what is on stderr."""
        begin = time.monotonic()
        process = self.start(document, *arguments)
        try:
            output, error = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            sys.exit(f"a plan did not end within {seconds} s:\n{process.communicate()[1]}")
        took = time.monotonic() - begin
        return (json.loads(output) if process.returncode == 0 else None), took, error

    def calls(self):
        return self.log.read_text().splitlines()

    def wait_for(self, line, seconds=30):
        for _ in range(seconds * 20):
            if line in self.calls():
                return
            time.sleep(0.05)
        sys.exit(f"'{line}' did not happen: {self.calls()}")

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()


def check(name, actual, expected):
    if actual != expected:
        sys.exit(f"{name}: {actual!r:.2000}, not {expected!r:.2000}")


def outputs_of(finished, name):
    output, error = finished
    if not output:
        sys.exit(f"{name} failed:\n{error}")
    return json.loads(output)


def same_as_local(world):
    """The plan has the same outputs on both engines."""
    own = world.folder / "local"
    own.mkdir()
    (own / "plan.json").write_text(json.dumps(DIAMOND))
    command = json.dumps([sys.executable, str(HERE / "tools.py"), os.devnull, "add"])
    (own / "toolwright.toml").write_text(f"[mcp.t]\ncommand = {command}\ntrust_annotations = true\n")
    local = subprocess.run([world.binary, "plan", "run", "plan.json"], cwd=own, capture_output=True, text=True)
    check("local", outputs_of((local.stdout, local.stderr), "local"), EXPECTED)
    found, took, error = world.run(DIAMOND)
    check(f"temporal {error}", found, EXPECTED)
    print(f"A ∥ B → C → D: {took:.1f} s, with the outputs of the local engine")


def killed_worker(world, worker):
    """A step that has ended is not repeated; one that was interrupted, and may be, is."""
    world.log.write_text("")
    begin = time.monotonic()
    watching = world.start(DIAMOND)
    world.wait_for("add started [2, 3]")
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    world.worker("main", ["add", "pay"])
    check("killed worker", outputs_of(watching.communicate(timeout=120), "killed worker"), EXPECTED)
    calls = world.calls()
    for line, count in {"add ended [1]": 1, "add started [1]": 1, "add started [2]": 1, "add started [2, 3]": 2}.items():
        check(line, calls.count(line), count)
    print(f"a worker killed by SIGKILL: {time.monotonic() - begin:.1f} s, and nothing that had ended ran again")


def killed_server(world, server):
    """After the server was killed, nothing runs twice."""
    world.log.write_text("")
    begin = time.monotonic()
    watching = world.start(DIAMOND)
    world.wait_for("add started [2, 3]")
    server.send_signal(signal.SIGKILL)
    server.wait()
    time.sleep(0.1)
    world.server()
    check("killed server", outputs_of(watching.communicate(timeout=180), "killed server"), EXPECTED)
    starts = [line for line in world.calls() if "started" in line]
    check("starts", len(starts), len(set(starts)))
    print(f"the server killed by SIGKILL: {time.monotonic() - begin:.1f} s, and nothing ran twice")


def answer_lost_call(world, watching, asked, step, output, queue):
    """Waits until the run asks about its lost call, says what the call returned, and returns the outputs of the run."""
    error = watching.communicate(timeout=120)[1]
    if asked not in error:
        sys.exit(f"the lost call is no question:\n{error}")
    run = error.split("the run ")[1].split()[0]
    command = world.plan("answer", run, step, "--output", output, "--task-queue", queue)
    answered = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return outputs_of((answered.stdout, answered.stderr), step)


def unknown_outcome(world):
    """A call that may not be repeated is a question to a person after its worker was lost."""
    world.log.write_text("")
    worker = world.worker("pay", ["pay"])
    plan = {"plan": "1", "steps": {"p": {"tool": "t_pay", "args": {"numbers": [7], "ms": 2000}}}}
    plan["outputs"] = {"p": number("p")}
    watching = world.start(plan, "--task-queue", "pay")
    world.wait_for("pay started [7]")
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    world.worker("pay", ["pay"])
    asked = "it is unknown whether it had its effect"
    check("answered", answer_lost_call(world, watching, asked, "p", '"8"', "pay"), {"p": "8"})
    check("starts", world.calls().count("pay started [7]"), 1)
    print("a call that may not be repeated: a question after its worker was lost")


def unknown_outcome_in_published_plan(world):
    """After its worker was lost, no call of a plan within a call is repeated, and the lost one is a question."""
    world.log.write_text("")
    inner = {
        "plan": "1",
        "steps": {
            "first": {"tool": "t_pay", "args": {"numbers": [3], "ms": 0}},
            "second": {"tool": "t_pay", "args": {"numbers": [number("first"), 5], "ms": 2000}},
        },
        "outputs": {"paid": number("second")},
    }
    worker = world.worker("bills", ["add", "pay"], published=inner)
    steps = {
        "settle": {"tool": "bills/settle"},
        "after": {"tool": "t_add", "args": {"numbers": [{"$from": "settle/paid"}]}},
    }
    watching = world.start({"plan": "1", "steps": steps, "outputs": {"after": number("after")}}, "--task-queue", "bills")
    world.wait_for("pay started [4, 5]")
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    world.worker("bills", ["add", "pay"], published=inner)
    answered = answer_lost_call(world, watching, "waits for: settle/second", "settle/second", '"10"', "bills")
    check("answered", answered, {"after": "11"})
    starts = [line for line in world.calls() if "started" in line]
    check("starts", starts, ["pay started [3]", "pay started [4, 5]", "add started [10]"])
    print("a published plan whose worker was lost: nothing ran twice, and the lost call is a question")


def runs_of_both_engines(world):
    """With the server in the configuration, commands need neither its address nor the engine of a run."""
    world.worker("ask", [], approves=False)
    own = world.folder / "both"
    own.mkdir()

    def plan(*arguments, code=0, address=world.address):
        server = f'[plans]\ntemporal = {{address = "{address}"}}\n'
        (own / "toolwright.toml").write_text(server)
        command = [world.binary, "plan", *arguments]
        pipes = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL, "timeout": 60}
        done = subprocess.run(command, cwd=own, **pipes)
        check(f"{arguments}: {done.stderr}", done.returncode, code)
        return done

    def runs(*arguments):
        listed = json.loads(plan("runs", "--json", *arguments).stdout)
        return {own["run"]: (own["engine"], own["status"], own.get("name")) for own in listed}

    steps = {"写": {"tool": "write_file", "args": {"path": "new.txt", "content": "new"}}}
    (own / "plan.json").write_text(json.dumps({"plan": "1", "name": "保存", "steps": steps}))
    started = plan("run", "plan.json", "--engine", "local", code=1)
    local = started.stderr.split()[1]
    waiting = []
    for _ in range(2):
        started = plan("run", "plan.json", "--engine", "temporal", "--task-queue", "ask", code=1)
        waiting.append(started.stderr.split()[1])
        hint = f"hint: toolwright plan answer {waiting[-1]} 写 --approve --engine temporal --task-queue ask"
        check("hint", started.stderr.splitlines()[-1], hint)
    expected = {local: ("local", "waiting", "保存")} | dict.fromkeys(waiting, ("temporal", "waiting", "保存"))
    found = runs("--limit", "1000")
    check("runs", {run: found.get(run) for run in expected}, expected)
    check("waiting", runs("--status", "waiting"), expected)
    check("newest first", list(runs("--limit", "2")), waiting[::-1])
    answered, cancelled = waiting
    check("show", json.loads(plan("show", answered, "--json").stdout)["questions"][0]["step"], "写")
    plan("answer", answered, "写", "--approve", "--engine", "temporal", "--task-queue", "ask")
    plan("cancel", cancelled)
    plan("show", local)
    for run, status in [(answered, "succeeded"), (cancelled, "cancelled")]:
        for _ in range(100):
            if runs("--status", status).get(run) == ("temporal", status, "保存"):
                break
            time.sleep(0.1)
        else:
            sys.exit(f"the run {run} is not {status}: {runs()}")
    unknown = plan("show", "plan_0", code=1).stderr
    check("unknown", unknown.splitlines()[0], "error: there is no run 'plan_0'")
    lost = plan("runs", address="127.0.0.1:1")
    check(lost.stderr, lost.stderr.startswith("warning: no Temporal server answers at 127.0.0.1:1"), True)
    check("local run", [line.split()[0] for line in lost.stdout.splitlines()[1:]], [local])
    print("runs of both engines: listed, found, answered and cancelled without their engine")


def many_items(world, items):
    """Many items, within the limits of Temporal."""
    world.log.write_text("")
    step = {"tool": "t_add", "each": {"$from": "inputs/items"}, "args": {"numbers": [{"$from": "item"}]}}
    plan = {"plan": "1", "inputs": {"type": "object", "properties": {"items": {"type": "array"}}}}
    plan |= {"steps": {"all": step}, "outputs": {"all": number("all")}}
    inputs = world.folder / "inputs.json"
    inputs.write_text(json.dumps({"items": list(range(items))}))
    found, took, error = world.run(plan, "--inputs", f"@{inputs}", seconds=420)
    check(f"items {error}", found and found["all"], [str(1 + at) for at in range(items)])
    starts = [line for line in world.calls() if "started" in line]
    check("starts", len(starts), len(set(starts)))
    print(f"{items:,} items: {took:.0f} s, {items / took:.0f} a second")


def time_of_continued_run(world):
    """A run that continues as a new workflow has the time that its earlier workflows left."""
    step = {"tool": "t_add", "args": {"numbers": [1], "ms": 2000}}
    report, _, error = world.run({"plan": "1", "steps": {"a": step}, "limits": {"time_ms": 60_000}}, "--json")
    check(error, report and report["status"], "succeeded")
    history = world.workflow("show", "--workflow-id", report["run"])
    [payload] = history["events"][0]["workflowExecutionStartedEventAttributes"]["input"]["payloads"]
    state = json.loads(base64.b64decode(payload["data"])) | {"run": "continued", "active_ms": 59_500}
    start = ["--type", "toolwright_plan", "--task-queue", "main", "--input", json.dumps(state)]
    world.workflow("start", "--workflow-id", "continued", *start)
    command = world.plan("resume", "continued", "--task-queue", "main")
    error = subprocess.run(command, capture_output=True, text=True, timeout=60).stderr
    if "the run took longer than 60000 ms" not in error:
        sys.exit(f"the time of earlier workflows does not count:\n{error}")
    print("a continued run: the time of its earlier workflows counts")


def answer_of_continued_run(world):
    """An answer that comes with the last reply of a workflow is taken before the run continues as a new one."""
    world.server("--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=10")
    flow = world.worker("flow", [], approves=False)
    world.worker("tools", ["add"])
    steps = {
        "w": {"tool": "write_file", "args": {"path": "new.txt", "content": "new"}},
        "a": {"tool": "t_add", "args": {"numbers": [1], "ms": 4000}},
    }
    plan = {"plan": "1", "steps": steps, "outputs": {"a": number("a")}}
    queues = ["--task-queue", "flow,tools"]
    watching = world.start(plan, *queues)
    world.wait_for("add started [1]")
    [found] = world.workflow("list", "--query", "WorkflowType = 'toolwright_plan'")
    run = found["execution"]["workflowId"]
    shown = [*world.plan("show", run, "--json"), *queues]
    for _ in range(100):
        if json.loads(subprocess.run(shown, capture_output=True, check=True).stdout)["questions"]:
            break
        time.sleep(0.1)
    flow.send_signal(signal.SIGKILL)
    flow.wait()
    answer = json.dumps({"step": "w", "answer": {"answer": "approve"}})
    world.workflow("signal", "--workflow-id", run, "--name", "answer", "--input", answer)
    world.wait_for("add ended [1]")
    world.worker("flow", [], approves=False)
    check("answer", outputs_of(watching.communicate(timeout=120), "answer"), {"a": "2"})
    print("a continued run: an answer that came with the last reply is taken")


def large_values(world, gateway):
    """A result and an argument of 5 MB pass between two workers by handle."""
    world.worker("grow", ["grow"], "--gateway", gateway)
    world.worker("measure", ["measure"], "--gateway", gateway)
    steps = {
        "grow": {"tool": "t_grow", "args": {"length": LARGE}},
        "measure": {"tool": "t_measure", "args": {"text": number("grow")}},
    }
    plan = {"plan": "1", "steps": steps, "outputs": {"length": number("measure"), "text": number("grow")}}
    queues = ["--task-queue", "grow,measure"]
    found, took, error = world.run(plan, *queues, "--gateway", gateway)
    check(error, found and (found["length"], len(found["text"])), (str(LARGE), LARGE))
    print(f"5 MB between two workers by handle: {took:.1f} s")
    argument = {"measure": {"tool": "t_measure", "args": {"text": {"$from": "inputs/text"}}}}
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    plan = {"plan": "1", "inputs": schema, "steps": argument, "outputs": {"length": number("measure")}}
    inputs = world.folder / "large.json"
    inputs.write_text(json.dumps({"text": "y" * LARGE}))
    found, _, error = world.run(plan, *queues, "--gateway", gateway, "--inputs", f"@{inputs}")
    check(error, found, {"length": str(LARGE)})


def large_values_without_gateway(world):
    """Without a gateway the step fails once, by name."""
    world.log.write_text("")
    world.worker("alone", ["grow"])
    plan = {"plan": "1", "steps": {"grow": {"tool": "t_grow", "args": {"length": LARGE}, "retry": {"max": 3}}}}
    found, _, error = world.run(plan, "--task-queue", "alone")
    check("large without gateway", found, None)
    if "grow failed: the value has" not in error:
        sys.exit(f"the step is not named:\n{error}")
    check("starts", [line for line in world.calls() if "started" in line], ["grow started []"])
    print("5 MB without a gateway: the step fails once, by name")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--temporal", required=True)
    parser.add_argument("--items", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        world = World(arguments.binary, str(Path(arguments.temporal).resolve()), folder)
        try:
            server = world.server()
            worker = world.worker("main", ["add", "pay"])
            # The runs of this suite are on the queue `main`, unless they say otherwise.
            start = world.start
            world.start = lambda plan, *own: start(plan, *own, *([] if "--task-queue" in own else ["--task-queue", "main"]))
            same_as_local(world)
            time_of_continued_run(world)
            killed_worker(world, worker)
            unknown_outcome(world)
            unknown_outcome_in_published_plan(world)
            runs_of_both_engines(world)
            large_values_without_gateway(world)
            with Gateway(world.binary) as gateway:
                large_values(world, f"http://{gateway.address}")
            many_items(world, arguments.items)
            killed_server(world, server)
        finally:
            world.end()
    with tempfile.TemporaryDirectory() as folder:
        world = World(arguments.binary, str(Path(arguments.temporal).resolve()), folder)
        try:
            answer_of_continued_run(world)
        finally:
            world.end()


if __name__ == "__main__":
    main()
