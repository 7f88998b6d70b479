"""Plants results that lack rows, which `scripts/bench cliffs` refuses; runs some workloads."""
import contextlib
import io
import json
import os
import pathlib
import shutil
import sqlite3
import stat
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "Tests" / "Benchmarks"))
import by_hand  # noqa: E402
import cliffs  # noqa: E402
from measuring import Failed, Run  # noqa: E402

OLD = """
    CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_MAX INTEGER);
    CREATE TABLE ZBOOK (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZTITLE VARCHAR);
    CREATE TABLE ZKEPT (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZAMOUNT FLOAT);
    INSERT INTO Z_PRIMARYKEY VALUES (1, 'Book', 3), (2, 'Kept', 2);
    INSERT INTO ZBOOK VALUES (1, 1, 'one'), (2, 1, 'two'), (3, 1, NULL);
    INSERT INTO ZKEPT VALUES (1, 2, 0.5), (2, 2, 1e300);
"""
NEW = """
    CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_MAX INTEGER);
    CREATE TABLE ZBOOK (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZMORE INTEGER, ZTITLE VARCHAR);
    CREATE TABLE ZKEPT (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZAMOUNT FLOAT);
    INSERT INTO Z_PRIMARYKEY VALUES (1, 'Book', 3), (2, 'Kept', 2);
    INSERT INTO ZBOOK VALUES (1, 1, 7, 'one'), (2, 1, 7, 'two'), (3, 1, 7, NULL);
    INSERT INTO ZKEPT VALUES (1, 2, 0.5), (2, 2, 1e300);
    CREATE INDEX BYTITLE ON ZBOOK (ZTITLE);
"""


class Results(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def store(self, name, *sql):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        with contextlib.closing(sqlite3.connect(path)) as db:
            for text in sql:
                db.executescript(text)
        return str(path)

    def run_of(self, name, *sql):
        self.store(f"{name}/out.sqlite", *sql)
        return Run(name, [], folder=str(self.folder / name))

    def judged(self, *sql, loose=False):
        runs = [self.run_of("ours", NEW, *sql), self.run_of("SQL", NEW)]
        runs[0].loose = loose
        return cliffs.judge(runs)

    def test_the_same_rows_are_accepted(self):
        self.judged()
        self.judged("DROP TABLE ZKEPT", "ALTER TABLE ZBOOK DROP COLUMN ZMORE", loose=True)

    def test_rows_that_lack_are_refused(self):
        with self.assertRaisesRegex(Failed, "ZBOOK has 2 rows instead of 3"):
            self.judged("DELETE FROM ZBOOK WHERE Z_PK = 2")

    def test_other_values_are_refused(self):
        for change in ("UPDATE ZKEPT SET ZAMOUNT = 1.5 WHERE Z_PK = 1",
                       "UPDATE ZBOOK SET ZTITLE = 'longer' WHERE Z_PK = 1",
                       "UPDATE ZBOOK SET ZMORE = NULL WHERE Z_PK = 1"):
            with self.subTest(change), self.assertRaisesRegex(Failed, "instead of"):
                self.judged(change)

    def test_indexes_that_lack_and_stores_that_lack_are_refused(self):
        with self.assertRaisesRegex(Failed, "BYTITLE"):
            self.judged("DROP INDEX BYTITLE")
        runs = [self.run_of("ours", NEW), self.run_of("SQL", NEW)]
        self.store("SQL/more.sqlite", NEW)
        with self.assertRaisesRegex(Failed, "1 stores, SQL 2"):
            cliffs.judge(runs)

    def test_sql_is_derived_from_a_result(self):
        old, new = self.store("old.sqlite", OLD), self.store("new.sqlite", NEW)
        script = by_hand.Script(old, new).text()
        self.assertIn('SELECT * FROM src."ZKEPT"', script)
        (self.folder / "script.sql").write_text(script)
        (self.folder / "made").mkdir()
        more = "UPDATE Z_PRIMARYKEY SET Z_MAX = 9 WHERE Z_ENT = 1"
        stores = [(old, new), (self.store("2.sqlite", OLD, more), self.store("2n", NEW, more))]
        by_hand.main(str(self.folder / "script.sql"), str(self.folder / "made"),
                     *(store for store, _ in stores))
        for store, expected in stores:
            made = str(self.folder / "made" / os.path.basename(store))
            self.assertIsNone(by_hand.difference(by_hand.contents(expected),
                                                 by_hand.contents(made)))

    def test_what_nobody_says_is_an_error(self):
        old = self.store("old.sqlite", OLD)
        new = self.store("new.sqlite", NEW, "UPDATE ZBOOK SET ZMORE = Z_PK")
        with self.assertRaisesRegex(ValueError, "what becomes of ZBOOK.ZMORE"):
            by_hand.Script(old, new).text()
        computed = by_hand.Script(old, new, computed={"ZBOOK.ZMORE": "Z_PK"}, kept={"ZBOOK": "1"})
        self.assertIn("Z_PK", computed.text())


def tool():
    """A build of the tool, if there is one; a release build first."""
    found = [os.environ.get("GODWIT_TOOL", "")] + [
        str(ROOT / ".build" / build / "godwit") for build in ("release", "debug")]
    return next((path for path in found if os.access(path, os.X_OK)), None)


@unittest.skipUnless(tool() and shutil.which("sqlite3"), "needs a build of godwit and sqlite3")
class Workloads(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def cliffs(self, names, path):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = cliffs.main(["--scale", "0.0005", "--rounds", "1", "--only", names, "--godwit",
                                  path, "--work", str(self.folder / "work"), "--history",
                                  str(self.folder / "history")])
        return status, said.getvalue(), [json.loads(path.read_text()) for path in
                                         (self.folder / "history").glob("*.json")]

    def test_three_workloads_make_a_table_and_a_history(self):
        status, said, histories = self.cliffs("index-date,order-to-many,wal-plan", tool())
        self.assertEqual(status, 0, said)
        self.assertEqual(said.count("| `"), 3, said)
        rows = histories[0]["rows"]
        self.assertEqual([row["against"] for row in rows], ["SQL", "SQL", "without"])
        self.assertTrue(all(row["times"] > 0 and row["seconds"] for row in rows))
        self.assertEqual(list((self.folder / "work").iterdir()), [])

    def test_a_tool_that_loses_rows_is_refused(self):
        """Between the tool and the benchmark stands one that deletes a row of each result."""
        path = self.folder / "losing"
        path.write_text(f"""#!{sys.executable}
import sqlite3, subprocess, sys
status = subprocess.run([{tool()!r}, *sys.argv[1:]]).returncode
if "migrate" in sys.argv:
    path = sys.argv[sys.argv.index("--output") + 1]
    if "/ours/" in path:
        db = sqlite3.connect(path)
        db.execute("DELETE FROM ZTHING WHERE Z_PK = 7")
        db.commit()
sys.exit(status)
""")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        status, said, histories = self.cliffs("index-date", str(path))
        self.assertEqual((status, histories), (1, []), said)
        self.assertIn("ZTHING has 1499 rows instead of 1500", said)

    def test_a_tool_that_fails_is_told(self):
        path = self.folder / "failing"
        path.write_text("#!/bin/sh\necho no such store; exit 65\n")
        path.chmod(0o755)
        status, said, _ = self.cliffs("index-date", str(path))
        self.assertEqual(status, 1)
        self.assertIn("generate ended with 65: no such store", said)


if __name__ == "__main__":
    unittest.main()
