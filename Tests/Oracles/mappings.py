#!/usr/bin/env python3
"""Compares `godwit map` with mapping models read here: expressions, order, hashes, pieces.

usage: mappings.py --godwit P --corpus D [--scratch S]
"""
import base64
import glob
import json
import os
import plistlib
import xml.etree.ElementTree as ElementTree

from coredata import bundles
from run import Failure, Tool, parser, run_cases


class Archive:
    """A keyed archive, as far as expressions and compiled mapping models go."""

    def __init__(self, data):
        self.list = plistlib.loads(data)
        self.root = self.get(self.list["$top"]["root"])

    def get(self, value):
        if isinstance(value, plistlib.UID):
            value = self.list["$objects"][value.data]
        return None if isinstance(value, str) and value == "$null" else value

    def member(self, thing, key):
        return self.get(thing.get(key))

    def members(self, thing, key):
        found = self.member(thing, key)
        return [self.get(m) for m in found["NS.objects"]] if found else []

    def kind(self, thing):
        return self.get(thing["$class"])["$classname"]

    def text(self, thing):
        """The expression in the format language."""
        kind = self.kind(thing)
        if kind == "NSVariableExpression":
            return "$" + self.member(thing, "NSVariable")
        if kind == "NSConstantValueExpression":
            return json.dumps(self.member(thing, "NSConstantValue"))
        if kind == "NSKeyPathExpression":
            path = self.member(self.members(thing, "NSArguments")[0], "NSKeyPath")
            return self.text(self.member(thing, "NSOperand")) + "." + path
        if kind == "NSFunctionExpression":
            parts = [self.text(self.member(thing, "NSOperand")),
                     json.dumps(self.member(thing, "NSSelectorName"))]
            parts += [self.text(a) for a in self.members(thing, "NSArguments")]
            return f"FUNCTION({', '.join(parts)})"
        raise Failure(f"an expression of class {kind}")


KINDS = {1: "custom", 2: "add", 3: "remove", 4: "copy", 5: "transform"}


def compiled(path):
    """What the JSON of a compiled mapping model must be, without hashes that it does not have."""
    with open(path, "rb") as file:
        archive = Archive(file.read())
    out = []
    for thing in archive.members(archive.root, "NSEntityMappings"):
        mapping = {"name": archive.member(thing, "NSMappingName"),
                   "type": KINDS[thing["NSMappingType"]]}
        for key, name in (("source", "NSSourceEntityName"),
                          ("destination", "NSDestinationEntityName"),
                          ("policy", "NSEntityMigrationPolicyClassName")):
            if archive.member(thing, name):
                mapping[key] = archive.member(thing, name)
        for key, name in (("sourceHash", "NSSourceEntityVersionHash"),
                          ("destinationHash", "NSDestinationEntityVersionHash")):
            if archive.member(thing, name):
                mapping[key] = archive.member(thing, name).hex()
        for key, name in (("attributes", "NSAttributeMappings"),
                          ("relationships", "NSRelationshipMappings")):
            properties = {}
            for one in archive.members(thing, name):
                value = archive.member(one, "NSValueExpression")
                properties[archive.member(one, "NSDestinationPropertyName")] = (
                    archive.text(value) if value else None)
            if properties:
                mapping[key] = properties
        out.append(mapping)
    return out


def document(path):
    """The mappings of a document in order: entities, explicit expressions, property names."""
    objects = {}
    for element in ElementTree.parse(os.path.join(path, "xcmapping.xml")).getroot().iter("object"):
        thing = {a.get("name"): a.text or "" for a in element.findall("attribute")}
        thing["links"] = {r.get("name"): (r.get("idrefs") or "").split()
                          for r in element.findall("relationship")}
        thing["type"] = element.get("type")
        objects[element.get("id")] = thing
    model = next(t for t in objects.values() if t["type"] == "XDDEVMAPPINGMODEL")
    listed = [objects[i] for i in model["links"]["entitymappings"]]
    out = []
    for thing in sorted(listed, key=lambda t: int(t["mappingnumber"])):
        properties = {}
        for key, name in (("attributes", "attributemappings"),
                          ("relationships", "relationshipmappings")):
            for one in (objects[i] for i in thing["links"].get(name, [])):
                data = one.get("valueexpressiondata")
                archive = Archive(base64.b64decode(data)) if data else None
                properties[key, one["name"]] = archive.text(archive.root) if archive else None
        out.append({"source": thing.get("sourcename"), "destination": thing.get("destinationname"),
                    "policy": thing.get("migrationpolicyclassname") or None,
                    "properties": properties})
    return out


def check_compiled(tool, path):
    said = tool.json("map", path)["mappings"]
    return [f"{e['name']}: {s} instead of {e}" for e, s in zip(compiled(path), said) if e != s]


def check_document(tool, path, versions):
    said = tool.json("map", path)["mappings"]
    expected, odd = document(path), []
    if len(said) != len(expected):
        return [f"{len(said)} mappings instead of {len(expected)}"]
    for mine, theirs in zip(expected, said):
        for key in ("source", "destination", "policy"):
            if mine[key] != theirs.get(key):
                odd.append(f"{theirs['name']}: {key} {theirs.get(key)} instead of {mine[key]}")
        names = {(k, n) for k in ("attributes", "relationships") for n in theirs.get(k, {})}
        if names != set(mine["properties"]):
            odd.append(f"{theirs['name']}: other properties")
        for (kind, name), value in mine["properties"].items():
            if value is not None and theirs[kind][name] != value:
                odd.append(f"{theirs['name']}.{name}: {theirs[kind][name]} instead of {value}")
    for side in ("source", "destination"):
        fitting = [n for n, model in versions.items() if all(
            m[side] in model.entities and model.hash(m[side]).hex() == m[side + "Hash"]
            for m in said if side in m)]
        if not fitting:
            odd.append(f"no version has the {side} hashes")
    return odd


def check_forms(tool, path, folder):
    """The JSON reads back as itself, and its pieces hold every mapping once."""
    first = os.path.join(folder, "first.json")
    tool.run("map", path, "--output", first)
    with open(first, encoding="utf-8") as file:
        text = file.read()
    if tool.run("map", first).stdout != text:
        return ["the JSON does not read back as itself"]
    done = tool.call("map", path, "--split", "--output", folder)
    if done.returncode == 78:
        return [] if "cannot be split" in done.stderr else ["a refusal without its reason"]
    pieces = []
    for piece in glob.glob(os.path.join(folder, "*-*.json")):
        with open(piece, encoding="utf-8") as file:
            pieces += json.load(file)["mappings"]
    key = lambda mapping: mapping["name"]
    whole = json.loads(text)["mappings"]
    return [] if sorted(pieces, key=key) == sorted(whole, key=key) else ["the pieces differ"]


def main():
    options = parser(__doc__).parse_args()
    tool, known = Tool(options.godwit), bundles(options.corpus)
    cases = []
    # The folders of cases have models of their own.
    apart = tuple(os.path.join(options.corpus, each) + os.sep for each in ("field", "attack"))
    find = lambda pattern: sorted(
        path for path in glob.glob(os.path.join(options.corpus, "**", pattern), recursive=True)
        if not path.startswith(apart))
    for path in find("*.cdm"):
        name = os.path.relpath(path, options.corpus)
        cases.append((name, lambda folder, path=path: check_compiled(tool, path)))
    for path in find("*.xcmappingmodel"):
        name = os.path.relpath(path, options.corpus)
        bundle = next(b for n, b in known.items() if n in name.split(os.sep))
        cases.append((name, lambda folder, path=path, models=bundle.models:
                      check_document(tool, path, models) + check_forms(tool, path, folder)))
    run_cases(options, cases, "mapping models")


if __name__ == "__main__":
    main()
