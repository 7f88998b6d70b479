"""Has `scripts/oracles` schedule checks that fail, wait or are not due."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

from loading import load

oracles = load("oracles")


class Scheduling(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        patched = unittest.mock.patch.object(oracles, "LOGS", self.folder)
        patched.start()
        self.addCleanup(patched.stop)

    def check(self, name, code, seconds=1):
        return oracles.Check(name, [sys.executable, "-c", code], seconds)

    def run_all(self, *checks, lanes=2):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            oracles.Schedule(checks, lanes).run()
        return said.getvalue()

    def test_a_check_that_fails_is_told_with_its_words_and_the_others_go_on(self):
        checks = [self.check("bad", "print('why'); raise SystemExit(3)"),
                  self.check("good", "print('all alike')")]
        said = self.run_all(*checks)
        self.assertEqual([c.status for c in checks], [3, 0])
        self.assertIn("FAILED bad", said)
        self.assertIn("    why", said)
        self.assertRegex(said, r"ok     good \(\d+ s\): all alike")

    def test_a_check_that_a_signal_ends_has_failed(self):
        check = self.check("killed", "import os; os.kill(os.getpid(), 9)")
        self.run_all(check)
        self.assertEqual(check.status, -9)

    def test_a_check_that_checks_nothing_has_failed(self):
        check = oracles.Check("vain", [sys.executable, "-c", "print('a run with 0 tests')"], 1,
                              vain="with 0 tests")
        self.run_all(check)
        self.assertEqual(check.status, 1)

    def test_a_program_that_is_not_there_fails_and_the_others_go_on(self):
        missing = oracles.Check("missing", [self.folder / "none"], 9)
        good = self.check("good", "")
        said = self.run_all(missing, good, lanes=1)
        self.assertEqual([missing.status, good.status], [127, 0])
        self.assertIn("scripts/build-tests", said)

    def test_the_longest_begins_first_and_as_many_run_as_there_are_lanes(self):
        note = (f"import time; f = open({str(self.folder / 'order')!r}, 'a'); "
                "f.write('{0}+'); f.flush(); time.sleep(0.05); f.write('{0}-')")
        checks = [self.check(name, note.format(name), seconds)
                  for name, seconds in (("a", 1), ("b", 3), ("c", 2))]
        self.run_all(*checks, lanes=1)
        self.assertEqual((self.folder / "order").read_text(), "b+b-c+c-a+a-")

    def test_one_that_waits_runs_beside_the_lanes(self):
        # Each ends only once the other has begun.
        code = ("import pathlib, time\nhere = pathlib.Path({!r})\n(here / '{}').touch()\n"
                "while not (here / '{}').exists(): time.sleep(0.01)")
        checks = [self.check("control", code.format(str(self.folder), "one", "two")),
                  self.check("joins", code.format(str(self.folder), "two", "one"))]
        self.run_all(*checks, lanes=1)
        self.assertEqual([c.status for c in checks], [0, 0])

    def test_what_needs_another_check_begins_after_it_and_the_others_before(self):
        note = f"f = open({str(self.folder / 'order')!r}, 'a'); f.write('{{0}} ')"
        build = oracles.Check("build", [sys.executable, "-c", "import time; time.sleep(0.6); "
                                        + note.format("build")], 9)
        needy = oracles.Check("needy", [sys.executable, "-c", note.format("needy")], 8, after=build)
        patient = oracles.Check("control", [sys.executable, "-c", note.format("control")], 8,
                                after=build)
        other = self.check("other", note.format("other"))
        self.run_all(build, needy, patient, other)
        order = (self.folder / "order").read_text().split()
        self.assertEqual(order[:2], ["other", "build"])
        self.assertEqual(sorted(order[2:]), ["control", "needy"])

    def test_lanes_with_nothing_else_to_do_take_those_that_wait_each_once(self):
        note = f"f = open({str(self.folder / 'ran')!r}, 'a'); f.write('{{0}} ')"
        names = sorted(oracles.WAITING)[:5]
        checks = [self.check(name, note.format(name)) for name in names]
        self.run_all(*checks, lanes=2)
        self.assertEqual([c.status for c in checks], [0] * 5)
        self.assertEqual(sorted((self.folder / "ran").read_text().split()), names)

    def test_the_share_of_a_processor_counts_children(self):
        busy = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
        check = self.check("parent", "import subprocess, sys; "
                           f"subprocess.run([sys.executable, '-c', {busy!r}])")
        self.run_all(check)
        self.assertGreater(check.busy, 0.25)


class Choosing(unittest.TestCase):
    def test_a_check_is_due_when_what_it_is_about_has_changed(self):
        for files, due in ((["README.md"], False), (["Sources/LivePages/LiveSite.swift"], True),
                           (["Tests/Oracles/serving_judges.py"], True), (None, True)):
            self.assertEqual(oracles.is_due("serving", files), due, files)
        self.assertTrue(oracles.is_due("joins", ["README.md"]))

    def test_the_default_and_the_rest_and_what_is_for_releases_are_all(self):
        names = {}
        for flag in ([], ["--rest"], ["--all"]):
            options = oracles.parsed(flag)
            options.tool = pathlib.Path("/a/godwit")
            with unittest.mock.patch.object(oracles, "changed", return_value=["README.md"]):
                checks, _ = oracles.chosen(options, pathlib.Path("/"))
            names["".join(flag)] = [c.name for c in checks]
        both = [*names[""], *names["--rest"], *oracles.OF_RELEASES]
        self.assertEqual(sorted(set(both)), sorted(names["--all"]))
        self.assertEqual(len(both), len(set(both)))
        self.assertIn("clones", names["--rest"])
        self.assertNotIn("clones", names[""])

    def test_a_share_is_tried_by_default_only_and_each_number_has_another_one(self):
        shares = set()
        every = oracles.SHARES["bundles"]
        for number in range(every):
            options = oracles.parsed(["--seed", str(number)])
            options.tool = pathlib.Path("/a/godwit")
            checks, _ = oracles.chosen(options, pathlib.Path("/"))
            shares |= {c.command[-1] for c in checks if c.name == "bundles"}
        self.assertEqual(shares, {f"{n}/{every}" for n in range(1, every + 1)})
        options = oracles.parsed(["--all"])
        options.tool = pathlib.Path("/a/godwit")
        checks, _ = oracles.chosen(options, pathlib.Path("/"))
        self.assertFalse([c.name for c in checks if "--share" in c.command])

    def test_seeds_rotate_and_stay_as_many_and_within_those_of_scripts_long(self):
        for name, last in oracles.SEEDS.items():
            ranges = {oracles.seeds(name, number) for number in range(40)}
            self.assertGreater(len(ranges), 4, name)
            for first, end in (map(int, text.split("-")) for text in ranges):
                self.assertEqual(end - first + 1, oracles.default_seeds(name))
                self.assertLessEqual(end, last)

    def test_what_is_about_an_oracle_names_files_that_are_there(self):
        for name, places in oracles.ABOUT.items():
            self.assertIn(name, {*oracles.OWN, *oracles.OF_CORPUS})
            for place in places:
                self.assertTrue((oracles.ROOT / place).exists(), f"{name}: {place}")

    def test_every_part_of_the_unit_tests_is_a_target(self):
        targets = {p.name for p in (oracles.ROOT / "Tests").glob("*Tests")}
        self.assertLessEqual(set(oracles.TESTS), targets)


if __name__ == "__main__":
    unittest.main()
