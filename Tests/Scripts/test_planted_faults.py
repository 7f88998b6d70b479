"""Holds the planted faults against the sources and the checks that are to find them."""
import json
import unittest

from loading import load

faults = load("planted-faults")
oracles = load("oracles")
LIST = json.loads(faults.LIST.read_text(encoding="utf-8"))


class PlantedFaults(unittest.TestCase):
    def test_each_fault_has_one_place_and_changes_it(self):
        for fault in LIST:
            sound = (faults.ROOT / fault["file"]).read_text(encoding="utf-8")
            faulty = faults.planted(fault, sound)
            self.assertIsNotNone(faulty, f"the place is gone: {fault['fault']}")
            self.assertNotEqual(faulty, sound)

    def test_each_check_is_there(self):
        for fault in LIST:
            self.assertTrue(fault["checks"])
            for name in fault["checks"]:
                there = name in {*oracles.OWN, *oracles.OF_CORPUS} or (
                    faults.ROOT / "Tests" / name).is_dir()
                self.assertTrue(there, f"{fault['fault']}: {name}")

    def test_twenty_modules_have_one(self):
        self.assertGreaterEqual(len({fault["file"].split("/")[1] for fault in LIST}), 20)

    def test_a_place_that_is_not_there_or_twice_is_none(self):
        fault = {"old": "a", "new": "b"}
        self.assertIsNone(faults.planted(fault, "c"))
        self.assertIsNone(faults.planted(fault, "aa"))
        self.assertEqual(faults.planted(fault, "ca"), "cb")


if __name__ == "__main__":
    unittest.main()
