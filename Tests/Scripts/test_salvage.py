"""The judge of salvages itself: a row that is dropped, changed or invented is found, and a loss
that was not told."""
import os
import shutil
import sqlite3
import sys
import tempfile
import unittest
from contextlib import contextmanager
from types import SimpleNamespace

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Oracles"))
from salvage_judge import Judge, decoded, excuse, rows_of_result  # noqa: E402
from sqlite_pages import Image  # noqa: E402
from test_mutants import AFTER, BEFORE, OLD  # noqa: E402

ROWS = 600


class TheJudgeOfSalvages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        old, cls.sound, cls.new = (
            os.path.join(cls.folder.name, n) for n in ("old", "sound", "new"))
        for path, words in ((old, BEFORE), (cls.sound, AFTER)):
            db = sqlite3.connect(path, isolation_level=None)
            db.executescript("pragma page_size = 4096; pragma auto_vacuum = 2;"
                             + OLD.format(**words) + "begin;")
            level = "7, " if words is AFTER else ""
            for key in range(3, ROWS):
                db.execute(f"insert into ZCREATURE values (?, ?, 1, ?, {level}?, ?, ?)",
                           (key, words["bird"], key % 7, f"name {key}" * 3,
                            bytes(9000) if key == 300 else b"", key / 4))
                db.execute("insert into Z_1FRIENDS values (?, ?)", (key, key + 1))
            db.execute("commit")
            db.close()
        with open(old, "rb") as file:
            data = bytearray(file.read())
        db = sqlite3.connect(old)
        roots = [("schema", 1)] + db.execute(
            "select name, rootpage from sqlite_schema where rootpage > 0").fetchall()
        db.close()
        image = Image(bytes(data), roots)
        leaf = sorted(p for p, owner in image.owner.items()
                      if owner == "ZCREATURE" and image.kind(p) == 13)[2]
        data[image.base(leaf):image.base(leaf) + 4096] = bytes(4096)
        cls.judge = Judge(image, bytes(data))
        cls.lost = sorted(set(cls.judge.before["ZCREATURE"]) - cls.judge.certain["ZCREATURE"])
        cls.all = os.path.join(cls.folder.name, "all")
        shutil.copyfile(cls.sound, cls.all)
        db = sqlite3.connect(cls.sound)
        db.execute("delete from ZCREATURE where Z_PK between ? and ?", (cls.lost[0], cls.lost[-1]))
        db.commit()
        db.close()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        shutil.copyfile(self.sound, self.new)

    def change(self, text):
        db = sqlite3.connect(self.new, isolation_level=None)
        db.executescript(text)
        db.close()

    def faults(self, first=None, last=None, told=True, engine="sql"):
        results, bad = rows_of_result(self.new)
        ranges = [{"first": first or self.lost[0], "last": last or self.lost[-1]}]
        tables = [{"table": "ZCREATURE", "ranges": ranges, "lostKeys": []}] if told else []
        return bad or self.judge.faults(results, {"tables": tables}, engine)

    def test_a_salvage_as_it_should_be(self):
        self.assertGreater(len(self.lost), 10)
        self.assertEqual(self.faults(), [])

    def test_objects_lose_pairs_whose_ends_are_lost(self):
        self.assertNotEqual(self.faults(engine="objects"), [])
        self.change("delete from Z_1FRIENDS where Z_1FRIENDOF not in (select Z_PK from ZCREATURE) "
                    "or Z_1FRIENDS not in (select Z_PK from ZCREATURE)")
        self.assertEqual(self.faults(engine="objects"), [])
        self.assertNotEqual(self.faults(), [])

    def test_a_dropped_row(self):
        for key in (1, self.lost[0] - 1, self.lost[-1] + 1, 300, ROWS - 1):
            with self.subTest(key=key):
                self.setUp()
                self.change(f"delete from ZCREATURE where Z_PK = {key}")
                self.assertIn("sound pages are missing", " ".join(self.faults()))
                self.assertIn("sound pages are missing", " ".join(self.faults(first=1, last=ROWS)))

    def test_a_dropped_pair(self):
        self.change("delete from Z_1FRIENDS where Z_1FRIENDOF = 77")
        self.assertIn("Z_1FRIENDS: 1 rows on sound pages are missing", " ".join(self.faults()))

    @contextmanager
    def changed(self, table, index, end):
        """Another damage: a record on the first leaf of a table has other bytes at its end."""
        image = self.judge.sound
        leaf = sorted(p for p, owner in image.owner.items()
                      if owner == table and image.kind(p) == 13)[0]
        cells, data = image.cells(leaf), bytearray(image.data)
        at = cells[index].record + cells[index].local
        data[at - len(end):at] = end
        judge, self.judge = self.judge, Judge(image, bytes(data))
        shutil.copyfile(self.all, self.new)
        try:
            yield [decoded(image, cell)[:2] for cell in cells]
        finally:
            self.judge = judge

    def pair_faults(self, lost=None, engine="sql"):
        results, bad = rows_of_result(self.new)
        keys = [{"first": lost, "last": lost}] if lost else []
        tables = [{"table": "Z_1FRIENDS", "ranges": [], "lostKeys": keys}]
        return bad or self.judge.faults(results, {"tables": tables}, engine)

    def test_a_changed_pair_excuses_no_other_one(self):
        with self.changed("Z_1FRIENDS", 5, b"\x46") as rows:
            (one, _), (third, _) = rows[5][1], rows[6][1]
            self.change(f"update Z_1FRIENDS set Z_1FRIENDS = 70 where Z_1FRIENDOF = {one}")
            self.assertEqual(self.pair_faults(), [])
            self.change(f"delete from Z_1FRIENDS where Z_1FRIENDOF = {third}")
            self.assertIn("Z_1FRIENDS: 1 missing rows are in no range", " ".join(
                self.pair_faults()))

    def test_of_two_rows_with_one_pair_one_is_told(self):
        with self.changed("Z_1FRIENDS", 5, bytes((9, 10))) as rows:
            self.assertEqual([row for _, row in rows if row[0] == 9], [[9, 10]])
            key = next(key for key, row in rows if row[0] == 9)
            self.change(f"delete from Z_1FRIENDS where Z_1FRIENDOF = {rows[5][1][0]}")
            self.assertEqual(self.pair_faults(lost=key), [])
            self.assertIn("in no range", " ".join(self.pair_faults()))
            self.assertIn("in no range", " ".join(self.pair_faults(lost=key + 1)))

    def test_objects_lose_a_pair_that_leads_nowhere_now(self):
        nowhere = ("delete from Z_1FRIENDS where Z_1FRIENDS not in (select Z_PK from ZCREATURE) or "
                   "Z_1FRIENDOF = {}")
        with self.changed("Z_1FRIENDS", 5, b"\x7f") as rows:
            self.change("delete from ZCREATURE where Z_PK = 127")
            self.change(nowhere.format(rows[5][1][0]))
            self.assertEqual([line for line in self.pair_faults(engine="objects")
                              if line.startswith("Z_1")], [])
            self.change(nowhere.format(rows[6][1][0]))
            self.assertIn("Z_1FRIENDS: 1", " ".join(self.pair_faults(engine="objects")))

    def test_the_number_of_an_unknown_entity_goes(self):
        with self.changed("ZPLACE", 0, b"\x0b"):
            self.change("update ZPLACE set Z1_OWNER = 11")
            self.assertIn("stand nowhere", " ".join(self.faults(told=False)))
            self.change("update ZPLACE set Z1_OWNER = null")
            self.assertEqual(self.faults(told=False), [])

    def test_a_refusal_for_an_unknown_model(self):
        said = SimpleNamespace(status=78, err="Old.sqlite was made with a model that is neither")
        self.assertNotEqual(excuse(self.judge, said), [])
        with self.changed("Z_METADATA", 0, b"\1"):
            self.assertEqual(excuse(self.judge, said), [])
            said.err = "salvaged.sqlite was made with a model that is neither"
            self.assertNotEqual(excuse(self.judge, said), [])

    def test_a_loss_that_was_not_told(self):
        for words in ({"told": False}, {"first": self.lost[0] + 1}, {"last": self.lost[-1] - 1}):
            self.assertIn("in no range that was told", " ".join(self.faults(**words)))

    def test_another_value(self):
        for text in ("ZNAME = 'other'", "ZNUMBER = 99", "ZPHOTO = x'01'", "ZSCORE = 0.125"):
            self.setUp()
            self.change(f"update ZCREATURE set {text} where Z_PK = 7")
            self.assertIn("have other values", " ".join(self.faults()))
            self.assertIn("have other values", " ".join(self.faults(engine="objects")))

    def test_an_invented_row(self):
        for key in (self.lost[3], 5000):
            self.setUp()
            self.change(f"insert into ZCREATURE select {key}, Z_ENT, Z_OPT, ZNUMBER, ZLEVEL, "
                        "ZNAME, ZPHOTO, ZSCORE from ZCREATURE where Z_PK = 7")
            self.assertIn("stand nowhere", " ".join(self.faults()))

    def test_an_unsound_result(self):
        self.change("pragma writable_schema = on; update sqlite_schema set rootpage = 2 "
                    "where name = 'I'")
        self.assertNotEqual(self.faults(), [])


if __name__ == "__main__":
    unittest.main()
