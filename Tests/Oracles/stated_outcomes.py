#!/usr/bin/env python3
"""The inferred outcomes that the corpus states for samplemodel, bookmarks and wal-example.

usage: stated_outcomes.py --godwit P --corpus D --compare compare-stores.py [--scratch S]
"""
import os
import shutil
import types

from checks import identity
from coredata import Layout, bundles
from expectation import Mapping, differences
from run import Failure, Tool, fingerprint, parser, run_cases, unchanged
from store import Store, copy_store, read_content
from wire_pairs import load_compare

BOOKMARKS = "BookmarksModel"
TOP_LEVEL, UNDER_3, FAVOURITES = [1, 2, 3, 4, 5], [31, 32, 33], [5, 4, 33, 32, 2]


def migrate(tool, path, bundle, model, folder, downgrade=()):
    """Migrates a copy; a downgrade needs a consent to what it loses, which it names.

    Gives the source (opened from another copy) and the result."""
    source = copy_store(path, os.path.join(folder, "source"))
    if os.path.exists(path + "-shm"):
        shutil.copyfile(path + "-shm", source + "-shm")
    before, result = fingerprint(os.path.dirname(source)), os.path.join(folder, "result.sqlite")
    call = ("migrate", source, "--to", model.path, "--models", bundle.path, "--infer-only",
            "--output", result)
    if downgrade:
        refused = tool.run(*call, expect=78)
        if not all(name in refused.stderr for name in downgrade):
            raise Failure(f"a downgrade is refused without naming {downgrade}: {refused.stderr}")
    tool.run(*call, *(word for name in downgrade for word in ("--allow-loss", name)))
    unchanged(before, os.path.dirname(source))
    left = [n for n in os.listdir(folder) if n not in ("source", "result.sqlite")
            and not n.startswith("result.sqlite-")]
    read = Store(copy_store(path, os.path.join(folder, "read")))
    return read, Store(result), [f"left over: {n}" for n in left]


def follow_models(source, result, old, new):
    content = Mapping(old, new).apply(read_content(source, Layout(old)))
    return differences(result, content, Layout(new)) + identity(source, result)


def source_model(bundle, store):
    return bundle.models[bundle.matching(store.hashes)[0]]


def sample(tool, corpus, compare, folder):
    """V1 to V2: 145 rows, alike Apple's own V2 but for the entity name that Apple left stale."""
    bundle = bundles(corpus)["samplemodel"]
    fixtures, new = os.path.join(corpus, "samplemodel", "Fixtures"), bundle.models["SampleModel2"]
    source, result, out = migrate(
        tool, os.path.join(fixtures, "SampleModel_V1.sqlite"), bundle, new, folder)
    out += follow_models(source, result, source_model(bundle, source), new)
    apple = copy_store(os.path.join(fixtures, "SampleModel_V2.sqlite"),
                       os.path.join(folder, "apple"))
    found, _, _, _ = compare.compare(compare.Store(apple), compare.Store(result.path),
                                     types.SimpleNamespace(order=True, identity=True, schema=True))
    out += [line for line in found if not (line.startswith("Z_PRIMARYKEY") and (
        "ExpensiveSportCar" in line or "LuxuryCar" in line))]
    names = {number: name for name, number in new.numbers.items()}
    counts = {names[n]: c for n, c in result.rows("select Z_ENT, count(*) from ZCAR group by 1")}
    expected = {"Car": 115, "SportCar": 5, "LuxuryCar": 5}
    return out + ([] if counts == expected else [f"ZCAR: expected {expected}, found {counts}"])


def bookmarks(tool, corpus, version, target, folder):
    bundle = bundles(corpus)["bookmarks"]
    new = bundle.models[target]
    path = os.path.join(corpus, "bookmarks", f"Bookmarks_V{version}.sqlite")
    source, result, out = migrate(tool, path, bundle, new, folder)
    old = source_model(bundle, source)
    return (out + follow_models(source, result, old, new) + orders(source, old, "source")
            + orders(result, new, "result"))


def orders(store, model, where):
    """The sequences that users see, by the bookmarks' titles, which name them by number."""
    content, out = read_content(store, Layout(model)), []
    labels = {pk: label(o) for (_, pk), o in content.objects.items()}
    roots = {o.values["uuid"]: pk for (_, pk), o in content.objects.items()}
    children = content.lists["BookmarkEntity", "children"]
    tops = [owner for owner in children if owner == roots.get("bookmarks_root")]
    sequences = {
        "top level": (TOP_LEVEL, [labels[t] for t in children[tops[0]]] if tops else None),
        "under 3": (UNDER_3, next(([labels[t] for t in ts] for o, ts in children.items()
                                   if labels[o] == 3), None)),
        "favourites": (FAVOURITES, next(([labels[t] for t in ts] for _, ts in sorted(
            content.lists["BookmarkEntity", "favorites"].items()) if ts), None)),
    }
    for name, (expected, found) in sequences.items():
        if found != expected:
            out.append(f"{where}, {name}: expected {expected}, found {found}")
    return out


def label(bookmark):
    text = bookmark.values["title"] or ""
    digits = "".join(c for c in text if c.isdigit())
    return int(digits) if digits else text


def wal(tool, corpus, folder):
    """All 84 posts and colours stand in the journal, and must arrive."""
    bundle = bundles(corpus)["wal-example"]
    new = bundle.models["CoreDataMigration_Example 3"]
    path = os.path.join(corpus, "wal-example", "CoreDataMigration_Example_WAL.sqlite")
    source, result, out = migrate(tool, path, bundle, new, folder, downgrade=["Post.hide"])
    out += follow_models(source, result, source_model(bundle, source), new)
    for table in ("ZPOST", "ZCOLOR"):
        count = result.rows(f"select count(*) from {table}")[0][0]
        out += [] if count == 84 else [f"{table}: {count} rows, expected 84"]
    return out


def main():
    p = parser(__doc__)
    p.add_argument("--compare", required=True, help="path of compare-stores.py")
    options = p.parse_args()
    tool, compare, corpus = Tool(options.godwit), load_compare(options.compare), options.corpus
    cases = [("samplemodel V1 -> V2", lambda f: sample(tool, corpus, compare, f)),
             ("wal-example WAL -> 3", lambda f: wal(tool, corpus, f))]

    def case(version, number):
        return (f"bookmarks V{version} -> {number}",
                lambda f: bookmarks(tool, corpus, version, f"{BOOKMARKS} {number}", f))
    cases += [case(v, n) for v in (1, 2, 3) for n in range(v + 1, 7)]
    run_cases(options, cases, "migrations")


if __name__ == "__main__":
    main()
