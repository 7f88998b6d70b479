"""Checks on one store: what a migration must keep, and what a generated store promises."""
import os

from coredata import Attribute, key
from expectation import differences
from store import Missing, read_content, support_folder

# The framework's own metadata keys, which a migration writes anew.
FRAMEWORK_KEYS = ("NSStore", "_NS", "NSPersistence")


def identity(source, result):
    """What every inferred migration keeps: the UUID, the application's metadata, the version of
    the framework that wrote the source; and that the file is sound."""
    out = []
    if source.uuid != result.uuid:
        out.append(f"Z_UUID: expected {source.uuid}, found {result.uuid}")
    for name in sorted(set(source.metadata) | set(result.metadata)):
        ours = name == "NSPersistenceFrameworkVersion" or not name.startswith(FRAMEWORK_KEYS)
        if ours and source.metadata.get(name) != result.metadata.get(name):
            out.append(f"metadata {name}: expected {source.metadata.get(name)!r:.60}, "
                       f"found {result.metadata.get(name)!r:.60}")
    return out + sound(result)


def sound(store):
    found = store.rows("pragma integrity_check(3)")
    return [] if found == [("ok",)] else [f"integrity_check: {found}"]


def generated(store, layout, rows, gone=None):
    """What a store of so many generated objects promises; `gone` has the highest keys of objects
    that only its history knows, by root."""
    content = read_content(store, layout)
    dangling = dangling_references(content, layout.model)
    if dangling:
        return dangling[:10]
    out = differences(store, content, layout) + sound(store)
    out += shares(content, layout.model, rows) + maxima(content, layout.model, gone)
    for entity in layout.model.concrete():
        out += attributes(content, layout.model, entity)
    out += one_to_one(content, layout.model) + constraints(content, layout.model)
    return out + variety(store, content, layout)


def dangling_references(content, model):
    out = []
    for (root, pk), o in sorted(content.objects.items()):
        for name, target in o.to_one.items():
            p = model.properties(o.entity)[name]
            if target is not None and not fits(content, model, p, target):
                out.append(f"{o.entity} {pk}.{name}: no {p.destination} has key {target}")
    for p in model.relationships():
        for owner, targets in content.lists.get(key(p), {}).items():
            out += [f"{p.owner} {owner}.{p.name}: no {p.destination} has key {t}"
                    for t in targets if not fits(content, model, p, t)]
    return out


def fits(content, model, p, target):
    found = content.objects.get((model.root(p.destination), target))
    return found is not None and p.destination in model.lineage(found.entity)


def shares(content, model, rows):
    counts = dict.fromkeys(model.concrete(), 0)
    for o in content.objects.values():
        if o.entity not in counts:
            return [f"{o.entity} is abstract and has objects"]
        counts[o.entity] += 1
    out = []
    if sum(counts.values()) != rows:
        out.append(f"{sum(counts.values())} objects, expected {rows}")
    if max(counts.values()) - min(counts.values()) > 1:
        out.append(f"unequal shares: {counts}")
    return out


def maxima(content, model, gone=None):
    highest = {**dict.fromkeys(model.roots(), 0), **(gone or {})}
    for root, pk in content.objects:
        highest[root] = max(highest[root], pk)
    return [f"Z_MAX of {r}: expected {highest[r]}, found {content.maxima[r]}"
            for r in model.roots() if content.maxima[r] != highest[r]]


def attributes(content, model, entity):
    """Mandatory values are there; optional ones are sometimes there and sometimes not."""
    objects, out = [o for o in content.objects.values() if o.entity == entity], []
    for name, p in model.stored(entity).items():
        if isinstance(p, Attribute):
            nulls = sum(o.values[name] is None for o in objects)
            if not p.optional and nulls and p.derivation is None:
                out.append(f"{entity}.{name}: mandatory, {nulls} of {len(objects)} are NULL")
            if p.optional and p.derivation is None and len(objects) >= 50:
                out += [f"{entity}.{name}: optional, all of {len(objects)} are "
                        f"{'NULL' if nulls else 'set'}"] if nulls in (0, len(objects)) else []
        elif not p.to_many and not p.optional and not relationship_bound(content, model, p):
            nulls = sum(o.to_one[name] is None for o in objects)
            out += [f"{entity}.{name}: mandatory, {nulls} are NULL"] if nulls else []
    return out


def relationship_bound(content, model, p):
    """Whether a one-to-one relationship has more owners than there are targets."""
    inverse = model.inverse(p)
    if inverse is None or inverse.to_many:
        return False
    families = (model.family(p.owner), model.family(p.destination))
    owners, targets = (sum(o.entity in f for o in content.objects.values()) for f in families)
    return owners > targets


def one_to_one(content, model):
    out = []
    for p in model.relationships():
        inverse = model.inverse(p)
        if p.to_many or inverse is None or inverse.to_many:
            continue
        for (root, pk), o in content.objects.items():
            target = o.to_one.get(p.name) if p.owner in model.lineage(o.entity) else None
            if target is not None:
                back = content.objects[model.root(p.destination), target].to_one[inverse.name]
                if back != pk:
                    out.append(f"{o.entity} {pk}.{p.name} is {target}, "
                               f"whose {inverse.name} is {back}")
    return out[:10]


def constraints(content, model):
    out = []
    for entity, e in model.entities.items():
        for names in e.constraints:
            seen = {}
            for (root, pk), o in sorted(content.objects.items()):
                if entity in model.lineage(o.entity):
                    values = tuple(o.values.get(n, o.to_one.get(n)) for n in names)
                    if None not in values and values in seen:
                        out.append(f"{entity}({', '.join(names)}): {seen[values]} and {pk} are "
                                   f"both {values!r:.80}")
                    seen[values] = pk
    return out[:10]


def variety(store, content, layout):
    """Every relationship is used; there is Unicode, a blob with overflow, an external file."""
    model, out = layout.model, []
    for p in model.relationships():
        used = content.lists[key(p)] if p.to_many else any(
            o.to_one.get(p.name) is not None for o in content.objects.values()
            if p.owner in model.lineage(o.entity))
        possible = all(any(o.entity in model.family(end) for o in content.objects.values())
                       for end in (p.owner, p.destination))
        if possible and not used:
            out.append(f"{p.owner}.{p.name}: no object has a value")
    texts, blobs, external = [], [], []
    for o in content.objects.values():
        for name, value in o.values.items():
            p = model.properties(o.entity)[name]
            (external if p.external else blobs if p.type == "Binary" else texts
             if p.type == "String" else []).append(value)
    if texts and not any(t and not t.isascii() for t in texts):
        out.append("no text beyond ASCII")
    if blobs and not any(b and len(b) > 4096 for b in blobs):
        out.append("no blob needs an overflow page")
    folder = support_folder(store.path)
    files = os.listdir(folder) if os.path.isdir(folder) else []
    out += ["no external file"] if any(external) and not files else []
    out += ["an external file is missing"] if any(isinstance(v, Missing) for v in external) else []
    return out
