#!/usr/bin/env python3
"""A fleet as an array of jobs of real Slurm with two nodes: the merged result is that of a run on
one machine, whatever becomes of elements and nodes.

Meanwhile an element is killed, one is requeued, a node's slurmd is stopped and started again, and
a store is damaged. Slurm's packages have to be there, and the user is root; else it says so.

usage: fleet_arrays.py --godwit P [--stores N] [--elements N] [--scratch S]
"""
import json
import os
import signal
import sys
import tempfile
import time

import slurm
from fleets import Lab, require, spoil
from run import Failure, Tool, parser

PATIENCE = 300


def wait(words, holds):
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise Failure(f"after {PATIENCE} s not yet: {words}")
        time.sleep(0.2)


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
    """Waits until no job is left; Slurm would let two minutes pass before it requeues one."""
    def ended():
        for job, word in jobs(cluster).items():
            if word == "PENDING" and "_" in job:
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


def disturb(cluster, folder, array):
    """Kills an element, stops a node and starts it again."""
    def running():
        return [job for job, word in jobs(cluster).items()
                if job.startswith(array) and word == "RUNNING"]
    wait("an element runs", running)
    killed = False
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if words[1:3] == [b"fleet", b"run"] and os.path.join(folder, "F").encode() in words:
            os.kill(int(name), signal.SIGKILL)
            killed = True
            break
    require(killed, "no element was found to be killed")
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
    number, last = submit(lab, cluster, folder, elements)
    disturb(cluster, folder, number)
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
        print(f"fleet_arrays: skipped, {why}")
        return 0
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
        scratch = os.path.realpath(scratch)
        lab = Lab(Tool(arguments.godwit), scratch, 200)
        try:
            with slurm.Slurm(os.path.join(scratch, "slurm")) as cluster:
                merged = array(lab, cluster, arguments.stores, arguments.elements)
            require(merged == local(lab, arguments.stores),
                    "the elements together have other outcomes than one run")
        except (Failure, OSError) as failure:
            print(f"fleet_arrays: {failure}")
            return 1
    print(f"fleet_arrays: {arguments.stores} stores in {arguments.elements} elements as in one run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
