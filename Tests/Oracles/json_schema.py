"""Validates documents against the schemas of docs/schemas, which are JSON Schema (draft 2020-12).

It knows the keywords that those use, and takes no other: a keyword that nobody looks at would make
a schema say more than is checked.
"""
import json
import os
import re

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "schemas")
NOTES = {"$schema", "$defs", "title", "description"}
TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
}


class Schema:
    """A schema of docs/schemas, by the first part of its name."""

    def __init__(self, name):
        with open(os.path.join(FOLDER, f"{name}.schema.json"), encoding="utf-8") as file:
            self.root = json.load(file)

    def faults(self, value):
        """Where the document is not as the schema says, one line each."""
        return list(self._faults(value, self.root, "$"))

    def _faults(self, value, schema, place):
        for word, told in schema.items():
            if word in NOTES:
                continue
            check = getattr(self, "_" + word.lstrip("$"), None)
            if check is None:
                raise ValueError(f"{place}: the schema uses {word}, which is not known here")
            yield from check(value, told, place, schema)

    def _ref(self, value, told, place, _):
        part = self.root
        for name in told.removeprefix("#/").split("/"):
            part = part[name]
        yield from self._faults(value, part, place)

    def _type(self, value, told, place, _):
        if not TYPES[told](value):
            yield f"{place} is {value!r:.60}, and no {told}"

    def _const(self, value, told, place, _):
        if value != told or type(value) is not type(told):
            yield f"{place} is {value!r:.60}, not {told!r}"

    def _enum(self, value, told, place, _):
        if value not in told:
            yield f"{place} is {value!r:.60}, none of {told}"

    def _pattern(self, value, told, place, _):
        if isinstance(value, str) and not re.search(told, value):
            yield f"{place} is {value!r:.60}, which does not match {told}"

    def _minimum(self, value, told, place, _):
        if TYPES["number"](value) and value < told:
            yield f"{place} is {value}, less than {told}"

    def _maximum(self, value, told, place, _):
        if TYPES["number"](value) and value > told:
            yield f"{place} is {value}, more than {told}"

    def _minItems(self, value, told, place, _):
        if isinstance(value, list) and len(value) < told:
            yield f"{place} has {len(value)} items, fewer than {told}"

    def _items(self, value, told, place, _):
        for n, item in enumerate(value if isinstance(value, list) else []):
            yield from self._faults(item, told, f"{place}[{n}]")

    def _required(self, value, told, place, _):
        if isinstance(value, dict):
            yield from (f"{place} has no {name}" for name in told if name not in value)

    def _properties(self, value, told, place, _):
        if isinstance(value, dict):
            for name, schema in told.items():
                if name in value:
                    yield from self._faults(value[name], schema, f"{place}.{name}")

    def _additionalProperties(self, value, told, place, schema):
        if not isinstance(value, dict):
            return
        others = [name for name in value if name not in schema.get("properties", {})]
        for name in others:
            if told is False:
                yield f"{place} has {name}, which the schema does not know"
            else:
                yield from self._faults(value[name], told, f"{place}.{name}")
