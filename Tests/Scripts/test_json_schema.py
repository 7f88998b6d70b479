"""The validator of schemas finds what is planted."""
import copy
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Oracles"))
import json_schema  # noqa: E402

STORE = {
    "store": "A.sqlite", "isPossible": True, "from": ["1"], "to": ["2"], "stepsNotLookedAt": 0,
    "reasons": [], "refusals": [],
    "losses": [{"kind": "entity", "cause": "removed", "entity": "A", "count": 1, "keys": [1]}],
    "defects": [], "exitStatus": 0, "seconds": 0.5, "trial": {"rows": 1, "isCompared": True},
}
REPORT = {
    "version": 1, "godwit": "0.1.0", "target": ["A.momd"], "isMigrated": True, "exitStatus": 0,
    "seconds": 1, "stores": [STORE], "passedOver": [{"path": "x", "reason": "link"}],
    "summary": {"stores": 1, "current": 0, "migratable": 1, "impossible": 0, "failed": 0,
                "withLosses": 1},
}


def changed(path, value):
    report = copy.deepcopy(REPORT)
    place = report
    for name in path[:-1]:
        place = place[name]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return report


class SchemaTests(unittest.TestCase):
    def setUp(self):
        self.schema = json_schema.Schema("check")

    def test_a_report_is_valid(self):
        self.assertEqual(self.schema.faults(REPORT), [])

    def test_each_planted_fault_is_found(self):
        for path, value in (
                (("version",), 2), (("version",), True), (("target",), []), (("target",), "A"),
                (("isMigrated",), 1), (("summary", "failed"), None), (("summary", "failed"), -1),
                (("summary", "more"), 1), (("stores",), []), (("stores", 0, "store"), None),
                (("stores", 0, "isNeeded"), "yes"), (("stores", 0, "seconds"), None),
                (("stores", 0, "trial", "rows"), 1.5), (("stores", 0, "trial", "more"), 1),
                (("stores", 0, "losses", 0, "kind"), "value"),
                (("stores", 0, "losses", 0, "keys", 0), "1"),
                (("passedOver", 0, "reason"), "other"), (("more",), 1)):
            with self.subTest(path=path, value=value):
                self.assertEqual(len(self.schema.faults(changed(path, value))), 1)

    def test_a_keyword_that_nobody_looks_at_is_refused(self):
        self.schema.root["properties"]["godwit"]["contentEncoding"] = "x"
        with self.assertRaises(ValueError):
            self.schema.faults(REPORT)

    def test_a_text_has_to_match_a_pattern(self):
        for pattern, faults in (("x", 1), (".", 0)):
            self.schema.root["properties"]["godwit"]["pattern"] = pattern
            self.assertEqual(len(self.schema.faults(REPORT)), faults)


if __name__ == "__main__":
    unittest.main()
