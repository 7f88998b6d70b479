#!/usr/bin/env python3
"""Small stores of a fleet, which are migrated in memory and swapped at once (`InstantSwap`).

Workers are killed at fault points; they are killed, fail or have no room at any call by which they
change files of a store; a power cut leaves of a group of stores what was synced; there is no room
in /dev/shm. The name of each store always leads to the old store or the new one, to the byte. A
store that the fleet states as done is the new one, and the old one is kept. The next run ends as an
unharmed one, and nothing is left over.

usage: instant_swaps.py --godwit P [--sample N] [--cuts N] [--only TEXT] [--scratch S]
"""
import glob
import os
import random
import shutil
import subprocess
import tempfile

from failing_calls import IO_ERROR, NO_SPACE, Calls, logged
from fleets import Lab, read
from power_cuts import Recorder
from run import Failure, Tool, parser, run_cases
from swap_faults import DEEDS, judge_ending

# Sizes and files that a file system in memory has: none, some or all of a store, or of several.
ROOMS = ("size=16k", "size=200k", "size=400k", "size=1m", "size=2m", "size=1g,nr_inodes=2",
         "size=1g,nr_inodes=4", "size=1g,nr_inodes=6", "size=1g,nr_inodes=9", "size=1g,ro")
MOUNT = 'mount -t tmpfs -o "$1" tmpfs /dev/shm && shift && exec "$@"'


def fleet_of(folder):
    return os.path.join(folder, "F")


def judge_stores(lab, stores):
    """What is wrong with stores that were harmed: each is the old one or the new one."""
    out = []
    for path, name in stores.items():
        content = read(path) if os.path.isfile(path) else None
        if content not in (lab.olds[name], lab.news[name]):
            out.append(f"{os.path.basename(path)} is neither the old store nor the new one")
    return out


def judge_results(lab, folder, stores):
    """What is wrong with the stores that the fleet states as done."""
    out = []
    for path, entry in lab.listed(folder).items():
        if entry["outcome"] != "migrated":
            continue
        name = stores[path]
        if not os.path.isfile(path) or read(path) != lab.news[name]:
            out.append(f"{os.path.basename(path)} is stated as done, and is not the new store")
        kept = glob.glob(glob.escape(path) + ".before-*")
        if [read(k) for k in kept] != [lab.olds[name]]:
            out.append(f"{os.path.basename(path)} is stated as done, and the old one is not kept")
    return out


def judge_end(lab, folder, stores):
    """What is wrong after runs that nothing harmed."""
    done = lab.tool.call("fleet", "run", fleet_of(folder))
    if done.returncode:
        done = lab.tool.call("fleet", "retry", fleet_of(folder))
    if done.returncode:
        return [f"in the end: exit {done.returncode}: {done.stderr.strip()[-300:]}"]
    try:
        lab.require_migrated(stores)
    except Failure as failure:
        return [f"in the end {failure}"]
    return judge_results(lab, folder, stores)


# Fault points

def fault_points(lab):
    """The points of an instant swap at which a debug build may be killed, as it lists them."""
    listed = lab.tool.run("--version", environment={"GODWIT_FAULTS": "list"}).stdout.split()
    return [p for p in listed if p.startswith("instant:")]


def check_point(lab, point):
    """Kills each worker at a point: with several stores, and then with each of them alone."""
    folder, stores = lab.fleet(3)
    done = lab.tool.call("fleet", "run", fleet_of(folder), environment={"GODWIT_FAULT": point})
    out = judge_stores(lab, stores) + judge_results(lab, folder, stores)
    if "a worker process crashed" not in done.stderr:
        return out + ["no worker was killed, so nothing was tried"]
    # Whoever finds the new store in its place has nothing left to do.
    swapped = point == "instant:swapped"
    if done.returncode != (0 if swapped else 70):
        out.append(f"exit {done.returncode}: {done.stderr.strip()[-300:]}")
    new = [path for path, name in stores.items() if read(path) == lab.news[name]]
    if len(new) != (3 if swapped else 0):
        out.append(f"{len(new)} stores are new")
    return out + judge_end(lab, folder, stores)


# Harmed calls

def calls_of(lab, calls):
    """The calls by which a worker changes files of a store."""
    folder, _ = lab.fleet(1)
    log = os.path.join(folder, "log")
    lab.tool.run("fleet", "run", fleet_of(folder), environment=calls.environment(
        os.path.join(folder, "users"), log=log))
    return logged(log)


def check_call(lab, calls, number, do):
    folder, stores = lab.fleet(1)
    environment = calls.environment(os.path.join(folder, "users"), at=number, do=do)
    done = lab.tool.call("fleet", "run", fleet_of(folder), "--retries", 1, environment=environment)
    if not calls.counted(environment)[1]:
        return ["the call was not reached"]
    # A worker that is killed is replaced, so a kill is no end of the run.
    out = judge_ending(done.returncode, done.stderr, do if do != "kill" else "short")
    if do == "kill" and done.returncode:
        out.append(f"exit {done.returncode} after one kill: {done.stderr.strip()[-300:]}")
    out += judge_stores(lab, stores) + judge_results(lab, folder, stores)
    told = lab.status(folder, expect=done.returncode)
    if done.returncode == 0 and told["migrated"] != 1:
        out.append(f"status 0, and {told}")
    return out + judge_end(lab, folder, stores)


# Power cuts

def check_cut(lab, recorder, count, seed, scratch, syncs=True):
    """What is wrong with what a power cut leaves of a run, at any moment or right after it."""
    r = random.Random(seed)
    folder, stores = lab.fleet(count)
    before, log = os.path.join(scratch, "before"), os.path.join(scratch, "log")
    shutil.copytree(folder, before)
    more = ["--element", "0/1"] if r.random() < 0.7 else []
    command = ["fleet", "run", fleet_of(folder), "--jobs", r.choice((1, 2)), *more]
    lab.tool.run(*command, environment=recorder.environment(folder, log))
    left = os.path.join(scratch, "left")
    users = os.path.join(folder, "users")
    deeds = [d for d in recorder.deeds(log)
             if syncs or d.call != "fsync" or not d.path.startswith(users)]
    moment = recorder.leave(deeds, before, folder, left, r, ends=r.random() < 0.3)
    shutil.rmtree(folder)
    shutil.move(left, folder)
    if not more:
        # The state of a run that did not see the machine stop is not read after a restart, which
        # no test can have.
        for path in glob.glob(os.path.join(fleet_of(folder), "state.mdb*")):
            os.remove(path)
    out = judge_stores(lab, stores) + judge_results(lab, folder, stores)
    # The name of a record is not synced: the store tells more than its record.
    for path in glob.glob(os.path.join(users, "*", "*.godwit-status.json.*.tmp")):
        os.remove(path)
    out += judge_end(lab, folder, stores)
    shutil.rmtree(folder)
    return [f"after {moment} of {len(deeds)} calls: {line}" for line in out]


# No room in memory

def can_mount():
    done = subprocess.run(["unshare", "-m", "sh", "-c", MOUNT, "sh", "size=16k", "true"],
                          stderr=subprocess.DEVNULL, check=False)
    return done.returncode == 0


def check_room(lab, options):
    folder, stores = lab.fleet(24)
    done = lab.tool.call("fleet", "run", fleet_of(folder), "--jobs", 2, "--retries", 0,
                         prefix=("unshare", "-m", "sh", "-c", MOUNT, "sh", options))
    if done.returncode:
        return [f"exit {done.returncode}: {done.stderr.strip()[-400:]}"]
    lab.require_migrated(stores)
    return judge_results(lab, folder, stores)


def the_judges(lab, recorder, scratch):
    """The judges find what they are there to find."""
    cuts = []
    for seed in range(10):
        place = os.path.join(scratch, str(seed))
        os.mkdir(place)
        cuts += check_cut(lab, recorder, 6, seed, place, syncs=False)
    found = " ".join(cuts)
    missed = [words for words in ("neither", "stated as done") if words not in found]
    folder, stores = lab.fleet(2)
    lab.tool.run("fleet", "run", fleet_of(folder))
    out = judge_stores(lab, stores) + judge_results(lab, folder, stores)
    out += [f"without syncs no cut leaves what is {words}" for words in missed]
    one, two = sorted(stores)
    with open(one, "r+b") as file:
        file.truncate(8192)
    os.remove(glob.glob(glob.escape(two) + ".before-*")[0])
    if len(judge_stores(lab, stores)) != 1:
        out.append("a store that was cut is not found")
    if len(judge_results(lab, folder, stores)) != 2:
        out.append("a lost old store, or a cut new one, is not found")
    return out


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--sample", type=int, default=30, help="harmed calls; 0 for all")
    p.add_argument("--cuts", type=int, default=40)
    p.add_argument("--rows", type=int, default=60, help="objects of a store")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", default="", help="a text in the names of cases")
    options = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="godwit-oracle-") as folder:
        calls, recorder = Calls(folder), Recorder(folder)
        lab = Lab(Tool(options.godwit, timeout=120), os.path.realpath(folder), options.rows)
        cases = [("the judges", lambda f: the_judges(lab, recorder, f))]
        points = fault_points(lab)
        if not points:
            print("fault points: skipped, since this is a build for release", flush=True)
        cases += [(f"killed at {p}", lambda f, p=p: check_point(lab, p)) for p in points]
        every = [(n, do, call, path) for n, _, call, path in calls_of(lab, calls) for do in DEEDS
                 if do != "short" or call in ("write", "pwrite", "copy_file_range")]
        if options.sample:
            every = random.Random(options.seed).sample(every, min(options.sample, len(every)))
        cases += [(f"{do} at call {n} ({call} {os.path.basename(path)})",
                   lambda f, n=n, d=do: check_call(lab, calls, n, d))
                  for n, do, call, path in every]
        cases += [(f"power cut {options.seed}.{number}",
                   lambda f, s=f"{options.seed}.{number}": check_cut(lab, recorder, 10, s, f))
                  for number in range(options.cuts)]
        if can_mount():
            cases += [(f"/dev/shm with {room}", lambda f, r=room: check_room(lab, r))
                      for room in ROOMS]
        else:
            print("/dev/shm without room: skipped, since only root may mount one", flush=True)
        run_cases(options, [c for c in cases if options.only in c[0]], "instant swaps")


if __name__ == "__main__":
    main()
