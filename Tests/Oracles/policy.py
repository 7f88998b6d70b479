#!/usr/bin/env python3
"""A policy over many objects: what it makes of them, in how much memory and time.

usage: policy.py --godwit P --corpus D [--rows N] [--limit MIB] [--scratch S]
Beside the tool must lie PolicyTool of the same build.
"""
import json
import os
import sqlite3
import time

from split_and_merge import model, splitting
from run import Failure, Tool, parser, run_cases

CREATURES = """
    with recursive n(i) as (select 1 union all select i + 1 from n where i < {count})
    insert into ZOBJECT (Z_PK, Z_ENT, Z_OPT, ZNAME, ZAGE, ZWEIGHT, ZBOSS)
    select i, 2, 1, 'creature ' || i, i % 90, i * 0.5, nullif(i / 10, 0) from n"""


def store(tool, path, folder, rows):
    """A store of so many creatures in no herd, which are made here: generating takes longer."""
    tool.run("generate", path, "--rows", 0, "--output", os.path.join(folder, "Herds.sqlite"))
    name = os.path.join(folder, "Herds.sqlite")
    db = sqlite3.connect(name)
    db.execute(CREATURES.format(count=rows))
    db.execute("update Z_PRIMARYKEY set Z_MAX = ? where Z_NAME = 'Object'", (rows,))
    db.commit()
    db.close()
    return name


def gathering():
    """The policy puts all creatures of a kind into one herd, which it keeps in `userInfo`."""
    mapping = splitting()
    for one in mapping["mappings"]:
        if one["source"] == "Object":
            one["policy"] = "Gathering"
            one["relationships"].pop("herd")
    return mapping


def run(tool, rows, limit, folder):
    places = {}
    for name, text in model().items():
        places[name] = os.path.join(folder, name + ".xcdatamodel")
        os.makedirs(places[name])
        with open(os.path.join(places[name], "contents"), "w", encoding="utf-8") as file:
            file.write(text)
    mapping = os.path.join(folder, "gathering.json")
    with open(mapping, "w", encoding="utf-8") as file:
        json.dump(gathering(), file)
    source = store(tool, places["together"], folder, rows)
    result, report = os.path.join(folder, "New.sqlite"), os.path.join(folder, "report.json")
    start = time.monotonic()
    tool.run("migrate", source, "--to", places["apart"], "--models", places["together"],
             "--mapping", mapping, "--output", result, "--report", report, "--memory", "256M")
    seconds = time.monotonic() - start
    with open(report, encoding="utf-8") as file:
        peak = max(order["peakMemory"] for order in json.load(file)["workOrders"])
    print(f"{rows} objects: {seconds:.1f} s, worker's peak {peak / 2**20:.0f} MiB", flush=True)
    if peak > limit * 2**20:
        raise Failure(f"the worker took {peak / 2**20:.0f} MiB, and {limit} are the most")
    db = sqlite3.connect(f"file:{result}?mode=ro&immutable=1", uri=True)
    found = []
    for query, expected in (
            ("select count(*) from ZHUMAN", rows // 3),
            ("select count(*) from ZANIMAL", rows - rows // 3),
            ("select count(*) from ZHERD", 2),
            ("select count(*) from ZHUMAN where ZHERD is null", 0),
            ("select count(distinct ZHERD) from ZANIMAL", 1),
            ("select count(ZHUMANBOSS) + count(ZANIMALBOSS) from ZHUMAN", rows // 3 - 3),
            ("select count(distinct Z_FOK_HERD) from ZANIMAL", rows - rows // 3)):
        number = db.execute(query).fetchone()[0]
        if number != expected:
            found.append(f"{query}: {number} instead of {expected}")
    db.close()
    return found


def main():
    p = parser(__doc__)
    p.add_argument("--rows", type=int, default=1000000)
    p.add_argument("--limit", type=int, default=256, help="MiB that the worker may take")
    options = p.parse_args()
    tool = Tool(os.path.join(os.path.dirname(options.godwit), "PolicyTool"), timeout=3600)
    run_cases(options, [(f"{options.rows} objects", lambda folder: run(
        tool, options.rows, options.limit, folder))], "policies")


if __name__ == "__main__":
    main()
