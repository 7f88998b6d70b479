#!/usr/bin/env python3
"""Migrates one store over two nodes of real Slurm (slurm.py), watched live meanwhile: a worker is
killed, a node is given up and its slurmd stopped and started; the migration is paused, slowed down,
killed and taken up. Results are those of child processes on one machine to the byte.

usage: nodes.py --godwit P [--megabytes N] [--scratch S]
"""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from functools import partial

import slurm
from run import Failure, Tool, Watched, parser, run_cases, said, same_bytes

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld")
LAUNCHER = "srun -N1 -n1 -c1"
PATIENCE = 120.0
ROWS_PER_MEGABYTE = 3_400


class Ground:
    """A cluster, a made-up store, and what one machine makes of it."""

    def __init__(self, tool, cluster, folder, megabytes):
        self.tool, self.cluster, self.folder = tool, cluster, folder
        self.source = os.path.join(folder, "source.sqlite")
        self.expected = os.path.join(folder, "expected.sqlite")
        tool.run("generate", LIBRARY, "--version", "Library 1",
                 "--rows", megabytes * ROWS_PER_MEGABYTE, "--output", self.source)
        self.range_rows = megabytes * ROWS_PER_MEGABYTE // 30
        tool.run(*self.command(self.expected))

    def command(self, output, *options):
        return ["migrate", self.source, "--to", LIBRARY, "--output", output, "--workers", 2,
                "--range-rows", self.range_rows, *options]


class Run(Watched):
    """A migration over the nodes, and its status from outside."""
    patience = PATIENCE

    def __init__(self, ground, folder, *options, slow=0, launcher=LAUNCHER):
        self.ground, self.tool = ground, ground.tool
        self.output = os.path.join(folder, "result.sqlite")
        self.report = os.path.join(folder, "report.json")
        self.command = [*ground.command(self.output, "--launcher", launcher, *options),
                        "--report", self.report]
        self.start(slow)

    def start(self, slow=0):
        self.process = self.tool.start(*self.command, environment={
            **self.ground.cluster.environment, "GODWIT_SLOW": str(slow)})

    def wait_for_rows(self):
        return self.wait("rows were made", lambda s: s.get("rowsDone", 0) > 0)

    def end(self, status=0):
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failure(f"it did not end: {said(self.process)[-400:]}") from None
        if self.process.returncode != status:
            raise Failure(f"it ended with {self.process.returncode}, expected {status}: "
                          f"{said(self.process)[-400:]}")

    def judge(self):
        same_bytes(self.output, self.ground.expected, "over nodes and on one machine")
        if os.path.exists(self.output + ".godwit"):
            raise Failure("the work folder is left")

    def attempts(self):
        with open(self.report, encoding="utf-8") as file:
            return [order["attempts"] for order in json.load(file)["workOrders"]]


def remote_workers():
    """Workers that slurmstepd started, with the node of each."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{name}/environ", "rb") as file:
                variables = dict(v.split(b"=", 1) for v in file.read().split(b"\0") if b"=" in v)
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if words[1:3] == [b"godwit-worker", b"0"] and b"SLURMD_NODENAME" in variables:
            found[int(name)] = variables[b"SLURMD_NODENAME"].decode()
    return found


def watched(ground, folder):
    """Both nodes work, and the status tells of it: nothing falls, nothing is silent for long."""
    run = Run(ground, folder, slow=20)
    told, nodes = [], set()
    while run.process.poll() is None:
        found = run.status()
        if found.get("phase") == "migrating":
            told.append((time.monotonic(), found["fraction"], found["rowsDone"],
                         found["workersRunning"], found["peakMemoryBytes"]))
            nodes |= set(remote_workers().values())
        time.sleep(0.05)
    run.end()
    run.judge()
    if nodes != {"n1", "n2"}:
        return [f"workers ran on {sorted(nodes) or 'no node'}"]
    fractions = [fraction for _, fraction, *_ in told]
    if fractions != sorted(fractions):
        return [f"the fraction falls: {fractions}"]
    if len({rows for _, _, rows, *_ in told}) < 4:
        return [f"it told only {sorted({rows for _, _, rows, *_ in told})} rows"]
    if max(workers for *_, workers, _ in told) != 2:
        return ["never were two workers told of"]
    if set(run.attempts()) != {1}:
        return [f"attempts at work orders: {run.attempts()}"]
    return []


def worker_killed(ground, folder):
    run = Run(ground, folder, slow=100)
    run.wait_for_rows()
    os.kill(next(iter(remote_workers())), signal.SIGKILL)
    run.wait("a second attempt", lambda s: any(
        part["attempt"] == 2 for part in s.get("parts") or []))
    run.end()
    run.judge()
    return [] if sorted(run.attempts())[-2:] == [1, 2] else [f"attempts: {run.attempts()}"]


def node_lost(ground, folder):
    """A node is given up while its worker is at work, its slurmd is stopped, and started again."""
    cluster, run = ground.cluster, Run(ground, folder, slow=100)
    run.wait("both nodes work", lambda s: len(set(remote_workers().values())) == 2)
    run.wait_for_rows()
    cluster.stop_node("n2")
    cluster.down("n2")
    run.wait("the other node goes on", lambda s: any(
        part["attempt"] == 2 for part in s.get("parts") or []))
    cluster.start_node("n2")
    run.end()
    run.judge()
    cluster.wait_until_idle(cluster.nodes)
    if "lost on n2" not in said(run.process):
        return [f"it does not say which node was lost: {said(run.process)[-400:]}"]
    return [] if max(run.attempts()) == 2 else [f"attempts at work orders: {run.attempts()}"]


def controlled(ground, folder):
    """Paused by a command, workers on nodes write nothing; then slowed down, and let go."""
    run = Run(ground, folder, slow=50)
    run.wait_for_rows()
    run.tool.run("pause", run.output)
    found = run.wait("paused", lambda s: s.get("state") == "paused")
    before = run.status()["rowsDone"]
    time.sleep(1.5)
    after = run.status()
    if after["rowsDone"] != before or after["state"] != "paused":
        run.kill()
        raise Failure(f"paused at {before} rows, then {after['rowsDone']}: {found['state']}")
    run.tool.run("set", run.output, "--rate", "64K")
    run.tool.run("resume", run.output)
    found = run.wait("slow", lambda s: s.get("state") == "running" and s.get("rate") == 64 << 10)
    time.sleep(2)
    bytes_done = run.status()["bytesDone"] - found["bytesDone"]
    if bytes_done > 10 * (64 << 10):
        run.kill()
        raise Failure(f"{bytes_done} bytes in two seconds at 64 KiB a second")
    run.tool.run("set", run.output, "--rate", "0")
    run.end()
    run.judge()


def coordinator_killed(ground, folder):
    """Workers end with their coordinator, and the next run goes on with what is done."""
    run = Run(ground, folder, slow=100)
    run.wait("a work order is done", lambda s: any(
        part["state"] == "done" for part in s.get("parts") or []))
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    end = time.monotonic() + 20
    while remote_workers():
        if time.monotonic() > end:
            raise Failure(f"workers outlive their coordinator by 20 s: {remote_workers()}")
        time.sleep(0.05)
    run.start()
    run.end()
    run.judge()
    with open(run.report, encoding="utf-8") as file:
        if not json.load(file)["resumed"]:
            return ["it began anew"]
    return []


def cancelled(ground, folder):
    run = Run(ground, folder, "--engine", "sql", slow=100)
    run.wait_for_rows()
    run.tool.run("cancel", run.output)
    run.end(75)
    end = time.monotonic() + 20
    while remote_workers():
        if time.monotonic() > end:
            raise Failure("workers outlive a cancelled migration by 20 s")
        time.sleep(0.05)
    run.start()
    run.end()
    run.judge()


def main():
    arguments = parser(__doc__.splitlines()[0], needs_corpus=False)
    arguments.add_argument("--megabytes", type=int, default=300, help="the size of the store")
    options = arguments.parse_args()
    missing = slurm.missing()
    if missing:
        print(f"skipped: no Slurm here: {missing}")
        return
    base = options.scratch or tempfile.mkdtemp(prefix="godwit-nodes-")
    os.makedirs(base, exist_ok=True)
    options.jobs = 1  # the nodes have a processor each
    folder = tempfile.mkdtemp(prefix="ground-", dir=base)
    try:
        with slurm.Slurm(os.path.join(base, "cluster")) as cluster:
            ground = Ground(Tool(options.godwit), cluster, folder, options.megabytes)
            bodies = (watched, worker_killed, node_lost, controlled, coordinator_killed, cancelled)
            run_cases(options, [(body.__name__.replace("_", " "), partial(body, ground))
                                for body in bodies], "migrations over nodes")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if not options.scratch:
            shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
