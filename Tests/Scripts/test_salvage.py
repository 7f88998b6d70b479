"""The judge of salvages itself: a row that is dropped, changed or invented is found, and a loss
that was not told."""
import os
import shutil
import sqlite3
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Oracles"))
from salvage_judge import Judge, decoded, rows_of_result  # noqa: E402
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

    def test_a_changed_pair_excuses_no_other_one(self):
        image = self.judge.sound
        leaf = sorted(p for p, owner in image.owner.items()
                      if owner == "Z_1FRIENDS" and image.kind(p) == 13)[0]
        cells = image.cells(leaf)
        (key, (one, other), _), at = decoded(image, cells[5]), cells[5]
        data = bytearray(image.data)
        data[at.record + at.local - 1] ^= 64
        judge, self.judge = self.judge, Judge(image, bytes(data))
        try:
            self.assertIn(key, self.judge.before["Z_1FRIENDS"])
            changed = decoded(Image(bytes(data), image.roots), cells[5])[1][1]
            self.assertNotEqual(changed, other)
            shutil.copyfile(self.all, self.new)
            self.change(f"update Z_1FRIENDS set Z_1FRIENDS = {changed} where Z_1FRIENDOF = {one}")
            self.assertEqual(self.faults(told=False), [])
            third = decoded(image, cells[6])[1][0]
            self.change(f"delete from Z_1FRIENDS where Z_1FRIENDOF = {third}")
            self.assertIn("Z_1FRIENDS: 1 missing rows are in no range", " ".join(
                self.faults(told=False)))
        finally:
            self.judge = judge

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
