"""Measures a fleet of small stores against what else one could do with them, in one run.

The others: a script in Python with the SQL of this one change, which is as safe (temporary file,
sync, a second name for the old store, rename, sync of the folder), and a shell loop over `godwit
migrate`. Stores are copies of a few; each way gets copies of its own. Results are compared by rows.
"""
import argparse
import os
import shutil
import sqlite3
import subprocess
import sys
import time

import by_hand
import measuring

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "Ledger.xcdatamodeld")
SQL = os.path.join(HERE, "ledger.sql")
SEEDS = (1, 2, 3)
# Large integers that become doubles.
CONSENT = ("--allow-loss", "Account.count", "--allow-loss", "Entry.count")


def make(tool, folder, count, rows):
    """Stores in a folder of 1,000 each, as paths."""
    originals = []
    for seed in SEEDS:
        original = os.path.join(os.path.dirname(folder), f"original-{seed}-{rows}.sqlite")
        if not os.path.exists(original):
            subprocess.run([tool, "generate", MODEL, "--version", "Ledger", "--rows", str(rows),
                            "--seed", str(seed), "--output", original], check=True,
                           capture_output=True)
        originals.append(original)
    shutil.rmtree(folder, ignore_errors=True)
    paths = []
    for number in range(count):
        path = os.path.join(folder, f"{number // 1000}", f"{number}.sqlite")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(originals[number % len(originals)], path)
        paths.append(path)
    os.sync()
    return paths


def migrate_by_hand(path, script):
    """What an expert's script does with one store, and as much for its safety."""
    temporary = path + ".tmp"
    db = sqlite3.connect(f"file:{temporary}", uri=True, isolation_level=None)
    db.executescript(script.replace("SRC", path))
    db.close()
    for name in (temporary,):
        descriptor = os.open(name, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
    os.link(path, path + ".before")
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    os.fsync(folder)
    os.rename(temporary, path)
    os.fsync(folder)
    os.close(folder)


def by_python(paths):
    with open(SQL, encoding="utf-8") as file:
        script = file.read()
    began = time.monotonic()
    for path in paths:
        migrate_by_hand(path, script)
    return len(paths) / (time.monotonic() - began)


def by_loop(tool, paths):
    began = time.monotonic()
    call = " ".join(('"$tool" migrate "$store" --to "$model"', *CONSENT))
    subprocess.run(["sh", "-c", f"tool=$1; model=$2; shift 2; for store; do {call} || exit; done",
                    "sh", tool, MODEL, *paths], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return len(paths) / (time.monotonic() - began)


def by_fleet(tool, folder, fleet, jobs):
    """Stores a second, and the most memory of all processes together, in KiB."""
    shutil.rmtree(fleet, ignore_errors=True)
    subprocess.run([tool, "fleet", "create", fleet, folder, "--to", MODEL, *CONSENT],
                   check=True, stdout=subprocess.DEVNULL)
    began = time.monotonic()
    process = subprocess.Popen([tool, "fleet", "run", fleet, "--jobs", str(jobs)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    memory = 0
    while process.poll() is None:
        memory = max(memory, sum(measuring.private_kib(pid)
                                 for pid in measuring.tree(process.pid)))
        time.sleep(0.2)
    seconds = time.monotonic() - began
    if process.returncode:
        raise SystemExit(f"fleet run ended with {process.returncode}")
    count = sum(len(files) for _, _, files in os.walk(folder)) // 4
    return count / seconds, memory


def main(arguments):
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--godwit", default=".build/release/godwit")
    p.add_argument("--work", default="/tmp/godwit-bench-fleet")
    p.add_argument("--stores", type=int, default=10_000)
    p.add_argument("--rows", type=int, default=200)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    options = p.parse_args(arguments)
    tool = os.path.abspath(options.godwit)
    os.makedirs(options.work, exist_ok=True)

    def stores(name, count):
        return make(tool, os.path.join(options.work, name), count, options.rows)
    few = max(1, options.stores // 20)
    python, loop = stores("python", options.stores // 2), stores("loop", few)
    stores("fleet", options.stores)
    rates = {"a script in Python": by_python(python), "a shell loop": by_loop(tool, loop)}
    fleet, memory = by_fleet(tool, os.path.join(options.work, "fleet"),
                             os.path.join(options.work, "F"), options.jobs)
    made = os.path.join(options.work, "fleet", "0", "0.sqlite")
    for name, other in (("python", python[0]), ("loop", loop[0])):
        if by_hand.contents(made) != by_hand.contents(other):
            raise SystemExit(f"fleet and {name} make different rows of one store")
    print(f"{options.stores:,} stores of {options.rows} objects, {options.jobs} workers: "
          f"{fleet:.0f} stores/s, {memory >> 10} MiB in all")
    for name, rate in rates.items():
        print(f"  {fleet / rate:.1f} x {name}, {rate:.0f} stores/s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
