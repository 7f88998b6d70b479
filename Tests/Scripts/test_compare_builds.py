"""Plants differences between two builds, and has `scripts/compare-builds` find each."""
import contextlib
import io
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import types
import unittest

from loading import SCRIPTS, load

builds = load("compare-builds")


def outcome(status=0, out=b"", error=b""):
    return types.SimpleNamespace(returncode=status, stdout=out, stderr=error)


class Folders(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        for name in ("old", "new"):
            (self.folder / name).mkdir()

    def put(self, side, name, data):
        path = self.folder / side / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def both(self, name, old, new):
        self.put("old", name, old)
        self.put("new", name, new)

    def compare(self, **options):
        comparison = builds.Comparison(str(self.folder / "old"), str(self.folder / "new"),
                                       **options)
        comparison.compare_files()
        return comparison

    def kinds(self):
        return [kind for kind, _ in self.compare().differences]


class Files(Folders):
    def test_the_same_bytes_are_alike(self):
        self.both("New.sqlite", b"abc", b"abc")
        comparison = self.compare()
        self.assertEqual((comparison.differences, comparison.results["alike"]), ([], 1))

    def test_one_other_byte_is_found_with_its_place(self):
        self.both("New.sqlite", b"abc", b"abd")
        self.assertEqual(self.compare().differences,
                         [["bytes", "New.sqlite: 3 and 3 bytes, the first other one at 2"]])

    def test_a_longer_file_is_found(self):
        self.both("New.sqlite", b"abc", b"abcd")
        self.assertEqual(self.kinds(), ["bytes"])

    def test_a_file_of_one_build_is_found(self):
        self.put("old", "a", b"")
        self.put("new", "b/c", b"")
        self.assertEqual([text for _, text in self.compare().differences],
                         ["a is made by the old build only", "b is made by the new build only",
                          "b/c is made by the new build only"])

    def test_another_mode_and_another_link_are_found(self):
        self.both("a", b"", b"")
        (self.folder / "new" / "a").chmod(0o600)
        (self.folder / "old" / "l").symlink_to("a")
        (self.folder / "new" / "l").symlink_to("b")
        self.assertEqual(self.kinds(), ["files", "files"])

    def test_an_old_store_has_its_time_masked_and_its_bytes_not(self):
        self.put("old", "A.sqlite.before-20300102-030405", b"abc")
        self.put("new", "A.sqlite.before-20300102-030406", b"abc")
        self.assertEqual(self.kinds(), [])
        self.put("new", "A.sqlite.before-20300102-030406", b"xbc")
        self.assertEqual(self.kinds(), ["bytes"])

    def test_a_work_folder_is_no_result(self):
        self.both("A.sqlite.godwit/godwit.json", b"1", b"2")
        self.both("A.sqlite.godwit/plan.json", b"1", b"2")
        self.assertEqual(self.kinds(), [])

    def test_a_report_is_compared_but_for_times_and_memory(self):
        def report(rows, seconds):
            return json.dumps({"rows": rows, "seconds": {"merging": seconds},
                               "workOrders": [{"peakMemory": seconds}]}).encode()
        self.both("r.json", report(1, 2.5), report(1, 3.5))
        self.assertEqual(self.kinds(), [])
        self.both("r.json", report(1, 2.5), report(2, 2.5))
        self.assertEqual(self.kinds(), ["files"])

    def test_accounts_of_mappings_are_compared_in_any_order_and_to_the_last_object(self):
        def report(*made):
            return json.dumps({"mappings": [{"taken": 1, "made": count} for count in made],
                               "made": f"inode {made[0]}"}).encode()
        self.both("r.json", report(1, 2), report(2, 1))
        self.assertEqual(self.kinds(), [])
        self.both("r.json", report(1, 2), report(1, 3))
        self.assertEqual(self.kinds(), ["files"])

    def test_stores_with_other_pages_are_compared_by_their_content(self):
        def store(side, orders, rows):
            path = self.folder / side / "S.sqlite"
            path.unlink(missing_ok=True)
            db = sqlite3.connect(path)
            for name in orders:
                db.execute(f"create table {name} (x)")
            for table, value in rows:
                db.execute(f"insert into {table} values (?)", (value,))
            db.commit()
            db.close()
        filler = [("a", "x" * 9000), ("b", "y" * 9000)]
        store("old", "ab", filler)
        store("new", "ab", filler[::-1])
        comparison = self.compare()
        self.assertEqual((comparison.differences, comparison.results["alike by VACUUM INTO"]),
                         ([], 1))
        self.assertEqual([kind for kind, _ in self.compare(may_vacuum=False).differences],
                         ["bytes"])
        store("new", "ab", [("a", "x" * 9000), ("b", "y" * 8999 + "z")])
        self.assertEqual(self.kinds(), ["bytes"])


class Outcomes(unittest.TestCase):
    def kinds(self, old, new, words=()):
        comparison = builds.Comparison("", "", words=words)
        comparison.compare_outcomes(old, new)
        return [kind for kind, _ in comparison.differences]

    def test_each_stream_and_the_status_are_compared(self):
        self.assertEqual(self.kinds(outcome(0, b"a", b"b"), outcome(0, b"a", b"b")), [])
        self.assertEqual(self.kinds(outcome(0, b"a", b"b"), outcome(78, b"c", b"d")),
                         ["exit status", "standard output", "standard error"])

    def test_times_are_masked_and_other_numbers_are_not(self):
        self.assertEqual(self.kinds(outcome(out=b"3 rows in 0.5 s"), outcome(out=b"3 rows in 7 s")),
                         [])
        self.assertEqual(self.kinds(outcome(out=b"3 rows in 0.5 s"), outcome(out=b"4 rows in 7 s")),
                         ["standard output"])
        self.assertEqual(self.kinds(outcome(out=b"kept as A.before-20300102-030405."),
                                    outcome(out=b"kept as A.before-20300102-030406.")), [])

    def test_how_far_a_long_call_is_is_masked_and_nothing_beside(self):
        told = b"godwit: 5 % after 11 s: migrating\ngodwit: after 21 s: comparing A\n"
        self.assertEqual(self.kinds(outcome(error=told + b"godwit: note: x\n"),
                                    outcome(error=b"godwit: note: x\n")), [])
        self.assertEqual(self.kinds(outcome(error=told), outcome(error=b"godwit: note: x\n")),
                         ["standard error"])

    def test_a_word_stands_for_another_only_where_it_is_said(self):
        old, new = outcome(out=b"leg 1: legs"), outcome(out=b"stage 1: legs")
        self.assertEqual(self.kinds(old, new), ["standard output"])
        self.assertEqual(self.kinds(old, new, [("leg", "stage")]), [])


def may_mount():
    return subprocess.run(["unshare", "--mount", "true"], capture_output=True,
                          check=False).returncode == 0


class Engines(unittest.TestCase):
    def test_only_what_workers_may_have_written_as_pages_is_compared_by_content(self):
        def may(*arguments):
            return builds.Call({"world": "/none"}, list(arguments)).may_write_pages()
        self.assertTrue(may("migrate", "a"))
        self.assertTrue(may("migrate", "a", "--engine", "pages"))
        self.assertFalse(may("migrate", "a", "--engine", "sql"))
        self.assertFalse(may("migrate", "a", "--engine", "objects"))
        self.assertFalse(may("generate", "a"))


@unittest.skipUnless(sys.platform == "linux" and may_mount(), "private mounts are not allowed here")
class Calls(Folders):
    """Whole calls of two made-up builds, shell scripts that write a file."""

    def call(self, old, new, *arguments):
        world = self.folder / "world"
        world.mkdir(exist_ok=True)
        for name, text in (("a", old), ("b", new)):
            (self.folder / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.folder / name).chmod(0o755)
        settings = {"world": str(world), "log": str(self.folder), "user": os.geteuid(), "words": [],
                    "keep": None, "tool": "godwit", "old": str(self.folder / "a"),
                    "new": str(self.folder / "b")}
        (self.folder / "settings.json").write_text(json.dumps(settings))
        done = subprocess.run(
            [SCRIPTS / "compare-builds", "--call", self.folder / "settings.json", *arguments],
            cwd=world, capture_output=True, check=False)
        noted = [json.loads(line) for line in (self.folder / "calls").read_text().splitlines()]
        return done, noted[-1], world

    def test_both_run_on_the_same_files_and_the_new_one_answers(self):
        text = 'cat "$PWD/made" 2>/dev/null; echo more >> made'
        for expected in (b"", b"more\n"):
            done, noted, world = self.call(text, text)
            self.assertEqual((done.stdout, noted["differences"]), (expected, []))
            self.assertEqual(noted["results"], {"alike": 1})
        self.assertEqual((world / "made").read_text(), "more\nmore\n")

    def test_what_one_of_them_does_otherwise_is_found(self):
        done, noted, _ = self.call("echo a > made; exit 0", "echo b > made; exit 3")
        self.assertEqual(done.returncode, 3)
        self.assertEqual([kind for kind, _ in noted["differences"]], ["exit status", "bytes"])

    def test_a_signal_is_passed_on(self):
        done, noted, _ = self.call("kill -KILL $$", "kill -KILL $$")
        self.assertEqual((done.returncode, noted["differences"]), (-9, []))

    def test_status_is_left_to_the_moment(self):
        done, noted, _ = self.call("echo a", "echo b", "status")
        self.assertEqual((done.stdout, noted["why"]), (b"b\n", "status"))


class Telling(unittest.TestCase):
    def test_differences_are_counted_by_kind(self):
        noted = [{"call": ["godwit", "plan"], "differences": [["standard output", "-a | +b"]],
                  "results": {}},
                 {"call": ["godwit", "status"], "why": "status"},
                 {"call": ["godwit", "migrate"], "differences": [], "results": {"alike": 2}}]
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(builds.tell("joins", noted, True), 1)
        self.assertIn("joins: 2 calls compared, 1 differences; files alike: 2; "
                      "not compared status: 1", said.getvalue())
        self.assertIn("godwit plan\n      -a | +b", said.getvalue())


if __name__ == "__main__":
    unittest.main()
