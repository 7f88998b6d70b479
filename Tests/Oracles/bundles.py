#!/usr/bin/env python3
"""Generates a store from every earlier version of every model bundle, checks it, migrates it to
the bundle's current version, and compares the result with what follows from the two models.

usage: bundles.py --godwit P --corpus D [--only BUNDLE] [--large] [--scratch S]
"""
import filecmp
import os

import history
from checks import generated, identity
from coredata import Layout, bundles
from expectation import Mapping, differences
from run import Failure, Tool, fingerprint, parser, run_cases, unchanged
from store import Store, read_content

ROWS, LARGE_ROWS, SEED = 2000, 300000, 7
# Changes of each object, on average.
CHANGES = 2

# Steps that cannot be inferred, with the properties that stand in the way.
REFUSED = {
    ("altstore", "AltStore"): {"InstalledApp.installedDate", "StoreApp.iconURL",
                               "StoreApp.screenshotURLs"},
    ("altstore", "AltStore 2"): {"InstalledApp.installedDate"},
    ("samplemodel", "SampleModel2"): {"Person.id"},
    ("samplemodel", "SampleModel3"): {"Person.id"},
    ("derived", "Model"): {"ChildEntity.canonicalOptionalString", "ChildEntity.derivedCount",
                           "ChildEntity.now", "MainEntity.boolean", "MainEntity.string",
                           "SecondaryEntity.name"},
    ("wal-example", "CoreDataMigration_Example"): {"Post.color"},
}
# Steps that can be inferred but for objects, which would lack a new mandatory reference.
LACKING = {("wal-example", "CoreDataMigration_Example 2"): {"Post.color"}}
LARGE = [("wire", "zmessaging2.26.0"), ("openemu", "OEDatabase"),
         ("bookmarks", "BookmarksModel"), ("altstore", "AltStore 3")]


def check_step(tool, bundle, name, version, rows, folder):
    old, new = bundle.models[version], bundle.models[bundle.current]
    source = os.path.join(folder, "source", "F.sqlite")
    os.makedirs(os.path.dirname(source))
    generate(tool, old, rows, source, folder)
    store, layout = Store(source), Layout(old)
    told, gone = history.generated(store, layout, CHANGES * rows)
    found = [f"generated: {line}" for line in told + generated(store, layout, rows, gone)]
    if found:
        return found
    before = fingerprint(os.path.dirname(source))
    result = os.path.join(folder, "result", "G.sqlite")
    os.makedirs(os.path.dirname(result))
    mapping, reasons = Mapping(old, new), REFUSED.get((name, version))
    if lacking := LACKING.get((name, version)):
        refuse(tool, source, bundle, result, lacking)
    elif reasons:
        refuse(tool, source, bundle, result, reasons)
        if set(mapping.refusals()) != reasons:
            found = [f"the models give the reasons {mapping.refusals()}"]
    else:
        tool.migrate(source, "--to", bundle.path, "--infer-only", "--output", result,
                     report=os.path.join(folder, "report.json"))
        content = mapping.apply(read_content(store, layout))
        migrated = Store(result)
        found = differences(migrated, content, Layout(new)) + identity(store, migrated)
        found += history.differences(store.db, migrated.db, mapping, layout, Layout(new))
    unchanged(before, os.path.dirname(source))
    return found


def generate(tool, model, rows, path, folder):
    flags = (model.path, "--rows", rows, "--changes", CHANGES * rows, "--seed", SEED, "--output")
    tool.run("generate", *flags, path)
    again = os.path.join(folder, "again", os.path.basename(path))
    os.makedirs(os.path.dirname(again))
    tool.run("generate", *flags, again)
    if fingerprint(os.path.dirname(path)) != fingerprint(os.path.dirname(again)):
        alike = filecmp.cmp(path, again, shallow=False)
        raise Failure("generated twice with one seed, " + (
            "files beside the store differ" if alike else "the stores differ"))


def refuse(tool, source, bundle, result, reasons):
    """Refused, by `check` as by `migrate`, with all the reasons and nothing written."""
    for command in (("check", source, "--to", bundle.path, "--infer-only"),
                    ("migrate", source, "--to", bundle.path, "--infer-only", "--output",
                     result)):
        done = tool.run(*command, expect=78)
        missing = [r for r in sorted(reasons) if r not in done.stdout + done.stderr]
        if missing:
            raise Failure(f"godwit {command[0]} refuses without naming {', '.join(missing)}: "
                          f"{(done.stdout + done.stderr).strip()[-600:]}")
        if os.listdir(os.path.dirname(result)):
            raise Failure(f"godwit {command[0]} refuses and leaves "
                          f"{os.listdir(os.path.dirname(result))} behind")


def main():
    p = parser(__doc__)
    p.add_argument("--only", help="one bundle")
    p.add_argument("--large", action="store_true", help="four steps with 300,000 objects")
    options = p.parse_args()
    tool, found = Tool(options.godwit, timeout=3600), bundles(options.corpus)
    steps = LARGE if options.large else [
        (n, v) for n, b in found.items() for v in b.models if v != b.current]
    rows = LARGE_ROWS if options.large else ROWS

    def case(name, version):
        return (f"{name}: {version} -> {found[name].current}", lambda folder: check_step(
            tool, found[name], name, version, rows, folder))
    chosen = [case(n, v) for n, v in steps if options.only in (None, n)]
    run_cases(options, chosen, "steps")


if __name__ == "__main__":
    main()
