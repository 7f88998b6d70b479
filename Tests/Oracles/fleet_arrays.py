#!/usr/bin/env python3
"""A fleet as an array of jobs: the merged result is that of a run on one machine, whatever becomes
of elements and nodes.

By real Slurm with two nodes: an element is killed, a node's slurmd is stopped and started again,
and a store is damaged; an element that ends with 75 is requeued, and migrates what is left. By GNU
parallel, as the page of fleets calls it: an element is killed and retried. By the command of the
Kubernetes job on that page, with the index that Kubernetes puts into it. What is not
installed is skipped, with a line that says so; Slurm needs root as well.

usage: fleet_arrays.py --godwit P [--stores N] [--elements N] [--scratch S]
"""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import slurm
from fleets import Lab, require, spoil
from run import Failure, Tool, parser

PATIENCE = 300
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "how-to",
                    "fleets.md")


def wait(words, holds, period=0.2):
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise Failure(f"after {PATIENCE} s not yet: {words}")
        time.sleep(period)


# Seconds in which a node has cleaned up after a job.
CLEANING = 5


def outcomes(lab, folder):
    """What became of each store, by its place below the folder."""
    return {os.path.relpath(path, folder): (entry["outcome"], entry.get("reason"))
            for path, entry in lab.listed(folder).items()}


def submit(lab, cluster, folder, elements):
    """Submits a fleet; the numbers of the array and of the last job."""
    done = lab.tool.run("fleet", "submit", "slurm", os.path.join(folder, "F"), "--elements",
                        elements, environment=cluster.environment)
    words = done.stdout.replace(",", " ").replace(".", " ").split()
    return words[words.index("array") + 1], words[words.index("job") + 1]


def jobs(cluster):
    """{job: state} of those that wait or run."""
    lines = cluster.run("squeue", "--noheader", "--array", "--format", "%i %T").splitlines()
    return dict(line.split() for line in lines)


def wait_for_all(cluster):
    """Waits until no job is left; Slurm would let two minutes pass before it requeues one.

    A node needs a moment of them to clean up after the run that ended.
    """
    pending = {}

    def ended():
        now = time.monotonic()
        for job, word in jobs(cluster).items():
            since = pending.setdefault(job, now) if word == "PENDING" else pending.pop(job, now)
            if word == "PENDING" and "_" in job and now - since > CLEANING:
                try:
                    cluster.run("scontrol", "update", f"jobid={job}", "starttime=now")
                except OSError:
                    pass  # it runs by now
        return not jobs(cluster)
    wait("the last job has ended", ended)


def state(cluster, job):
    """The last state of a job, and its exit status."""
    told = dict(word.partition("=")[::2]
                for word in cluster.run("scontrol", "show", "job", job).split() if "=" in word)
    return told["JobState"], int(told["ExitCode"].partition(":")[0])


def send(folder, number):
    """Sends a signal to an element at work; whether there is one."""
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            program = os.path.basename(os.readlink(f"/proc/{name}/exe"))
        except OSError:
            continue
        if program.startswith("godwit") and words[1:3] == [b"fleet", b"run"] \
                and os.path.join(folder, "F").encode() in words:
            os.kill(int(name), number)
            return True
    return False


def results(folder):
    """The results of all attempts of all elements."""
    found = []
    for path in glob.glob(os.path.join(folder, "F", "results", "*.ndjson")):
        with open(path, encoding="utf-8") as file:
            found += [json.loads(line) for line in file if line.endswith("\n")]
    return found


def disturb(cluster, folder):
    """Kills an element, stops a node and starts it again."""
    wait("an element is killed", lambda: send(folder, signal.SIGKILL), period=0.01)
    node = cluster.nodes[1]
    cluster.stop_node(node)
    cluster.down(node)
    time.sleep(1)
    cluster.start_node(node)

    def back():
        # It may have come back by itself.
        if cluster.states().get(node, "down").startswith("down"):
            cluster.resume(node)
        return not cluster.states().get(node, "down").startswith("down")
    cluster.wait(f"{node} is back", back)


def array(lab, cluster, count, elements):
    folder, stores = lab.fleet(count)
    damaged = sorted(stores)[count // 3]
    spoil(damaged, "cut")
    _, last = submit(lab, cluster, folder, elements)
    disturb(cluster, folder)
    wait_for_all(cluster)
    # The element that was killed has stores left, which the last job tells.
    left = lab.tool.run("fleet", "list", os.path.join(folder, "F"), "--array", "--elements",
                        elements).stdout.strip()
    require(state(cluster, last)[1] in (1, 65), f"the last job ended with {state(cluster, last)}")
    if state(cluster, last)[1] == 1:
        done = lab.tool.run("fleet", "submit", "slurm", os.path.join(folder, "F"), "--elements",
                            elements, "--only", left, environment=cluster.environment)
        last = done.stdout.rstrip(".\n").split()[-1]
        wait_for_all(cluster)
    require(state(cluster, last)[1] == 65, f"the last job ended with {state(cluster, last)}")
    with open(os.path.join(folder, "F", "report.json"), encoding="utf-8") as file:
        report = json.load(file)
    require((report["migrated"], report["failed"], report["waiting"]) == (count - 1, 1, 0),
            f"the merged report: {report}")
    lab.require_migrated({p: n for p, n in stores.items() if p != damaged})
    return outcomes(lab, folder)


def requeued(lab, cluster, count):
    """An element that is asked to stop ends with 75; Slurm requeues it, and it goes on."""
    folder, stores = lab.fleet(count)
    number, last = submit(lab, cluster, folder, 1)
    wait("the element has results", lambda: results(folder), period=0.01)
    require(send(folder, signal.SIGTERM), "no element was found to be stopped")

    def restarts():
        told = cluster.run("scontrol", "show", "job", f"{number}_0")
        return int(re.search(r"Restarts=(\d+)", told)[1])
    wait("Slurm has requeued the element", restarts)
    before = {r["number"] for r in results(folder)}
    require(0 < len(before) < count, f"{len(before)} of {count} stores were done before the stop")
    wait_for_all(cluster)
    require(state(cluster, last) == ("COMPLETED", 0), f"the last job: {state(cluster, last)}")
    told = results(folder)
    require(sorted(r["number"] for r in told) == list(range(count)),
            "after a requeue stores are done twice, or not at all")
    require({r["outcome"] for r in told} == {"migrated"} and not any("wasFound" in r for r in told),
            "an element that goes on migrates what was done")
    lab.require_migrated(stores)


def by_parallel(lab, count, elements):
    """The call of GNU parallel on the page, on this machine; an element is killed meanwhile."""
    if shutil.which("parallel") is None:
        return print("fleet_arrays: GNU parallel is not installed, and not tried")
    folder, stores = lab.fleet(count)
    with open(PAGE, encoding="utf-8") as file:
        call = re.search(r"^seq 0 \d+ \| (parallel .*)$", file.read(), re.M)
    require(call, "the page has no call of GNU parallel")
    words = call[1].replace("-S n1,n2 ", "").replace("/shared/Autumn", os.path.join(folder, "F"))
    words = words.replace("{}/20", "{}/" + str(elements)).replace("--jobs 4", "--jobs 2")
    with tempfile.TemporaryDirectory() as home:
        os.symlink(lab.tool.path, os.path.join(home, "godwit"))
        process = subprocess.Popen(
            ["sh", "-c", f"seq 0 {elements - 1} | {words}"], stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "HOME": home, "PATH": f"{home}:{os.environ['PATH']}"})
        wait("an element of GNU parallel has results", lambda: results(folder))
        killed = send(folder, signal.SIGKILL)
        said = process.communicate(timeout=PATIENCE)[1].decode()
    require(process.returncode == 0, f"parallel ended with {process.returncode}: {said[-300:]}")
    require(killed, "no element of GNU parallel was found to be killed")
    lab.require_migrated(stores)
    require(lab.status(folder)["migrated"] == count, "not all are migrated")


def by_kubernetes(lab, count, elements):
    """The command of the job on the page, with the variable expanded as Kubernetes does."""
    folder, stores = lab.fleet(count)
    with open(PAGE, encoding="utf-8") as file:
        job = re.search(r"apiVersion: batch/v1\n(.*?)\n```", file.read(), re.S)
    command = job and re.search(r"command: \[(.*)\]", job[1])
    require(command, "the page has no job of Kubernetes with a command")
    for field in ("completionMode: Indexed", "completions: 20", "restartPolicy: Never"):
        require(field in job[1], f"the job has no {field}")
    for index in range(elements):
        variables = {"JOB_COMPLETION_INDEX": str(index)}
        words = [re.sub(r"\$\((\w+)\)", lambda found: variables.get(found[1], found[0]), word)
                 for word in command[1].split(", ")]
        require(words[0] == "godwit", f"the job starts {words[0]}")
        words = [w.replace("/20", f"/{elements}").replace("/shared/Autumn",
                                                          os.path.join(folder, "F"))
                 for w in words[1:]]
        lab.tool.run(*words, environment=variables)
    lab.require_migrated(stores)
    require(lab.status(folder)["migrated"] == count, "not all are migrated")


def local(lab, count):
    folder, stores = lab.fleet(count)
    spoil(sorted(stores)[count // 3], "cut")
    lab.tool.run("fleet", "run", os.path.join(folder, "F"), expect=65)
    return outcomes(lab, folder)


def main():
    p = parser(__doc__.splitlines()[0], needs_corpus=False)
    p.add_argument("--stores", type=int, default=100)
    p.add_argument("--elements", type=int, default=6)
    arguments = p.parse_args()
    why = slurm.missing()
    if why:
        print(f"fleet_arrays: Slurm is skipped, {why}")
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
        scratch = os.path.realpath(scratch)
        lab = Lab(Tool(arguments.godwit), scratch, 200)
        count, elements = arguments.stores, arguments.elements
        try:
            by_parallel(lab, count, 4)
            by_kubernetes(lab, 12, 3)
            if not why:
                with slurm.Slurm(os.path.join(scratch, "slurm")) as cluster:
                    merged = array(lab, cluster, count, elements)
                    requeued(lab, cluster, count)
                require(merged == local(lab, count),
                        "the elements together have other outcomes than one run")
        except (Failure, OSError) as failure:
            print(f"fleet_arrays: {failure}")
            return 1
    print(f"fleet_arrays: {count} stores in {elements} elements as in one run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
