"""The judge of mutants itself: whatever is lost or changed is found."""
import os
import sqlite3
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Oracles"))
from mutants import lost  # noqa: E402
from sqlite_pages import Image, WAYS, damaged  # noqa: E402
import random  # noqa: E402

OLD = """
create table Z_METADATA (Z_VERSION integer primary key, Z_UUID varchar, Z_PLIST blob);
insert into Z_METADATA values (1, 'U', x'00');
create table ZCREATURE (Z_PK integer primary key, Z_ENT integer, Z_OPT integer, {count} integer,
  {level}ZNAME varchar, ZPHOTO blob, ZSCORE float);
insert into ZCREATURE values (1, {bird}, 1, 5, {seven}'a', x'01', 0.5);
insert into ZCREATURE values (2, {fish}, 1, null, {seven}null, null, 2);
create index I on ZCREATURE (ZNAME);
create table ZHERD (Z_PK integer primary key, Z_ENT integer, ZNAME varchar);
create table ZPLACE (Z_PK integer primary key, Z_ENT integer, ZOWNER integer, Z1_OWNER integer);
insert into ZPLACE values (1, 5, 1, {bird});
create table Z_1FRIENDS (Z_1FRIENDOF integer, Z_1FRIENDS integer, primary key (1, 2));
insert into Z_1FRIENDS values (1, 2);
create table Z_1VISITS (Z_1VISITORS integer, Z_5VISITS integer);
""".replace("primary key (1, 2)", "primary key (Z_1FRIENDOF, Z_1FRIENDS)")
BEFORE = {"count": "ZCOUNT", "level": "", "bird": 2, "fish": 3, "seven": ""}
AFTER = {"count": "ZNUMBER", "level": "ZLEVEL integer, ", "bird": 3, "fish": 2, "seven": "7, "}

CHANGES = [
    "delete from ZCREATURE where Z_PK = 1", "update ZCREATURE set ZNAME = 'b' where Z_PK = 1",
    "update ZCREATURE set ZNAME = cast('a' as blob) where Z_PK = 1",
    "update ZCREATURE set ZSCORE = 0.25 where Z_PK = 1", "update ZCREATURE set Z_ENT = 2",
    "update ZCREATURE set ZLEVEL = null", "update ZCREATURE set Z_PK = 9 where Z_PK = 2",
    "insert into ZHERD values (1, 4, 'x')", "drop table ZHERD", "update ZPLACE set Z1_OWNER = null",
    "delete from Z_1FRIENDS", "insert into Z_1FRIENDS values (1, 3)",
    "insert into Z_1FRIENDS values (null, 2)", "update Z_METADATA set Z_UUID = 'V'"]


class TheJudgeOfMutants(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.old, self.new = (os.path.join(self.folder.name, n) for n in ("old", "new"))
        for path, words in ((self.old, BEFORE), (self.new, AFTER)):
            db = sqlite3.connect(path)
            db.executescript(OLD.format(**words))
            db.close()

    def tearDown(self):
        self.folder.cleanup()

    def change(self, path, text):
        db = sqlite3.connect(path, isolation_level=None)
        db.executescript(text)
        db.close()

    def test_nothing_is_lost_of_a_sound_pair(self):
        self.assertEqual(lost(self.old, self.new), [])

    def test_every_change_of_the_result_is_found(self):
        with open(self.new, "rb") as file:
            sound = file.read()
        for text in CHANGES:
            with open(self.new, "wb") as file:
                file.write(sound)
            self.change(self.new, text)
            self.assertTrue(lost(self.old, self.new), text)

    def test_a_table_that_the_source_lacks_is_found(self):
        self.change(self.old, "drop table ZHERD")
        self.assertTrue(lost(self.old, self.new))

    def test_an_index_without_a_row_is_found(self):
        self.change(self.new, "pragma writable_schema = on; update sqlite_schema set rootpage = "
                    "(select rootpage from sqlite_schema where name = 'ZHERD') where name = 'I'")
        self.assertTrue(lost(self.old, self.new))

    def test_every_way_to_damage_pages_damages_some(self):
        with open(self.old, "rb") as file:
            data = file.read()
        db = sqlite3.connect(self.old)
        roots = [("schema", 1)] + db.execute("select name, rootpage from sqlite_schema").fetchall()
        db.close()
        image, done = Image(data, roots), set()
        for seed in range(3000):
            mutant, what = damaged(random.Random(seed), image)
            if mutant != data:
                done.add(what.split(" is ")[0].split(" of page")[0])
        self.assertGreater(len(done), len(set(WAYS)) // 2)


if __name__ == "__main__":
    unittest.main()
