#!/usr/bin/env python3
"""Damages the status file and its lock file while a migration writes them and others watch: the
migration goes on to its result and says so once, and neither it nor a monitor crashes or hangs.

usage: status_abuse.py --godwit P [--corpus D] [--seeds 1-2] [--scratch S]
"""
import os
import random
import subprocess
import time

from run import Failure, Tool, parser, run_cases, said, seeds

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "..", "..", "docs", "sample", "Library.xcdatamodeld")
ABUSES = {
    "cut to nothing": lambda p, c: os.truncate(p, 0),
    "cut to a page": lambda p, c: os.truncate(p, 4096),
    "cut amid its pages": lambda p, c: os.truncate(p, 8192),
    "zeroed": lambda p, c: overwrite(p, bytes(os.path.getsize(p))),
    "garbage": lambda p, c: overwrite(p, c.randbytes(os.path.getsize(p))),
    "a garbage header": lambda p, c: overwrite(p, c.randbytes(150), 10),
    "garbage after the headers": lambda p, c: overwrite(
        p, c.randbytes(os.path.getsize(p) - 8192), 8192),
    "removed": lambda p, c: os.remove(p),
    "a lock file of garbage": lambda p, c: overwrite(p + "-lock", c.randbytes(4096)),
    "a lock file cut to nothing": lambda p, c: os.truncate(p + "-lock", 0),
}
# A crash of ours ends with such a status, by a signal or by a trap.
KNOWN = {0, 64, 65, 66, 69, 70, 71, 73, 74, 75, 78}


def overwrite(path, content, offset=0):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(content)


def wrong_with(name, status, text):
    out = [] if status in KNOWN else [f"{name} ended with {status}"]
    return out + [f"{name} crashed: {text[-300:]}"] * ("Crash" in text or "Fatal error" in text)


def check(tool, abuse, seed, folder):
    chance = random.Random(seed)
    store, output = os.path.join(folder, "Shop.sqlite"), os.path.join(folder, "New.sqlite")
    tool.run("generate", MODEL, "--version", "Library 1", "--rows", 2000, "--output", store)
    process = tool.start("migrate", store, "--to", MODEL, "--output", output, "--range-rows", 100,
                         environment={"GODWIT_SLOW": "40"})
    watch = tool.start("status", output, "--watch")
    status, end = output + ".godwit/status.mdb", time.monotonic() + 30
    while not os.path.exists(output + ".godwit/shard-1.json") and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(chance.uniform(0, 0.3))
    if process.poll() is not None:
        raise Failure(f"ended before it was abused: {said(process)}")
    ABUSES[abuse](status, chance)
    out, abused = [], time.monotonic()
    while process.poll() is None:
        done = tool.call("status", output, "--json")
        out += wrong_with("status", done.returncode, done.stderr)
        time.sleep(0.1)
    lasted, text = time.monotonic() - abused, said(process)
    out += [] if process.returncode == 0 else [f"ended with {process.returncode}: {text[-300:]}"]
    out += wrong_with("the migration", process.returncode, text)
    told = text.count("status file")
    # What is damaged in the last moments nobody looks at again.
    if told > 1 or (told == 0 and abuse != "removed" and lasted > 3):
        out.append(f"tells {told} times of it: {text[-300:]!r}")
    try:
        out += wrong_with("--watch", watch.wait(20), said(watch))
    except subprocess.TimeoutExpired:
        watch.kill()
        out.append("--watch never ends")
    return sorted(set(out))


def main():
    p = parser(__doc__, needs_corpus=False)
    p.add_argument("--seeds", default="1-1", help="such as 7 or 1-24")
    options = p.parse_args()
    tool = Tool(options.godwit, timeout=30)
    run_cases(options, [(f"{abuse}, seed {seed}", lambda f, a=abuse, s=seed: check(tool, a, s, f))
                        for seed in seeds(options.seeds) for abuse in ABUSES],
              "abused status files")


if __name__ == "__main__":
    main()
