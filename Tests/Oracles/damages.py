"""The kinds of damage that damage.py plants in a migrated menagerie, and what each is called."""
import os
import shutil

from damaging import (
    FISH, FLYER, Damage, beside, both, broken_leaf, cell, ddl, external, flip_hash, hashes,
    key_gone, key_set, longer, lost_null, lost_row, negative_zero, neighbours, old_cache, one_byte,
    patched, plist, schema, shorter, sql, stale_index, wal, wrong_free)
from damage_grounds import COMPOSED

PAIR = "rowid = (select min(rowid) from Z_2FRIENDS)"
HERD = "Z_PK = (select min(Z_PK) from ZHERD)"
DECOMPOSED = "cafe\u0301".encode()

CELLS = [
    cell("a letter too many", "ZNAME", "ZNAME || 'x'"),
    cell("a byte behind a NUL", "ZNAME", "cast(? as text)", row=0, values=(b"ab\0ce",)),
    cell("a text cut off at its NUL", "ZNAME", "'ab'", row=0),
    cell("composed letters decomposed", "ZNAME", "cast(? as text)", row=1, values=(DECOMPOSED,)),
    cell("another byte that is no UTF-8", "ZNAME", "cast(? as text)", row=2,
         values=(b"\xff\xfe\x81",)),
    cell("replacement characters", "ZNAME", "?", row=2, values=("\ufffd\ufffd\ufffd",)),
    cell("a text as bytes", "ZNAME", "cast(? as blob)", row=1, values=(COMPOSED,)),
    cell("a blank", "ZNOTE", "ifnull(ZNOTE, '') || ' '"),
    cell("an empty text for NULL", "ZLINK", "''"),
    cell("a number and one", "ZNUMBER", "ZNUMBER + 1"),
    cell("the last bit of a real", "ZNUMBER", "3.0000000000000004"),
    Damage("minus zero", negative_zero, "value", places=1),
    cell("a default that is gone", "ZLEVEL", "null"),
    cell("a default that is another", "ZLEVEL", "8"),
    cell("a number as a text", "ZLEVEL", "'seven'"),
    cell("a boolean", "ZFLAG", "0"),
    cell("a boolean that is NULL", "ZFLAG", "null"),
    cell("a microsecond", "ZBORN", "ZBORN + 0.000001"),
    cell("a decimal", "ZPRICE", "12.51"),
    cell("a byte of a blob", "ZBLOB", "x'00fe00'"),
    cell("a blob as a text", "ZBLOB", "cast(x'00ff00' as text)"),
    cell("a UUID", "ZTAG", "zeroblob(16)"),
    cell("an empty photo", "ZPHOTO", "x'01'", row=1),
    cell("an entity", "Z_ENT", str(FISH), "entityNumber"),
    cell("no entity", "Z_ENT", "null", "entityNumber"),
    cell("an unknown entity", "Z_ENT", "99", "entityNumber"),
    cell("a save", "Z_OPT", "Z_OPT + 41", "saveCount"),
    Damage(
        "a reference that is gone",
        sql("update ZPLACE set ZOWNER = null where Z_PK = (select min(Z_PK) from ZPLACE "
            "where ZOWNER is not null)"), "reference", also=("order",)),
    Damage("a reference to another object",
           sql("update ZPLACE set ZOWNER = (select max(Z_PK) from ZCREATURE where Z_PK <> ZOWNER "
               "and Z_ENT = (select Z_ENT from ZCREATURE where Z_PK = ZOWNER)) "
               "where Z_PK = (select min(Z_PK) from ZPLACE where ZOWNER is not null)"),
           "reference", also=("order",)),
    Damage("the entity of a reference",
           sql("update ZPLACE set Z2_OWNER = 7 - Z2_OWNER where Z_PK = "
               "(select min(Z_PK) from ZPLACE where ZOWNER is not null)"),
           "referenceEntity", places=1),
]

ROWS = [
    Damage("a row that is gone", sql(f"delete from ZHERD where {HERD}"), "rowMissing", places=1),
    Damage("a row too many", sql("insert into ZHERD (Z_PK, Z_ENT, Z_OPT) values (77777, 5, 1)"),
           "rowExtra", places=1),
    Damage("another key", sql(f"update ZHERD set Z_PK = 77777 where {HERD}"), "rowMissing",
           "rowExtra", places=2),
    Damage("an object of a new entity",
           sql("insert into ZAARDVARK (Z_PK, Z_ENT, Z_OPT) values (1, 1, 1)"), "rowExtra",
           places=1),
    Damage("an empty table", sql("delete from ZPLACE"), "rowMissing"),
    Damage("a row of the old store without an entity", lost_row, "rowLost", places=1),
    Damage("a row of the old store with NULL for its entity", lost_null, "rowLost", places=1),
    Damage("two in the other order", neighbours("ZCREATURE", "ZHERD", "Z_FOK_HERD"), "order"),
    Damage("two in the other order that is new", neighbours("ZPLACE", "ZOWNER", "Z_FOK_OWNER"),
           "order"),
    Damage("no place", sql("update ZCREATURE set Z_FOK_HERD = null where Z_PK = (select min(Z_PK) "
                           "from ZCREATURE where ZHERD is not null)"), "order", places=1),
    Damage("a pair that is gone", sql(f"delete from Z_2FRIENDS where {PAIR}"), "pairMissing",
           places=1),
    Damage("a pair too many", sql("insert into Z_2FRIENDS values (88888, 1)"), "pairExtra",
           places=1),
    Damage("another pair", sql(f"update Z_2FRIENDS set Z_2FRIENDS = 88888 where {PAIR}"),
           "pairMissing", "pairExtra", places=2),
    Damage("a pair turned around",
           sql("update Z_2FRIENDS set Z_2FRIENDS = Z_2FRIENDOF, Z_2FRIENDOF = Z_2FRIENDS "
               "where rowid = (select a.rowid from Z_2FRIENDS a where not exists (select 1 from "
               "Z_2FRIENDS b where b.Z_2FRIENDS = a.Z_2FRIENDOF and b.Z_2FRIENDOF = a.Z_2FRIENDS) "
               "limit 1)"), "pairMissing", "pairExtra", places=2),
    Damage("two pairs in the other order",
           neighbours("Z_2VISITS", "Z_2VISITORS", "Z_FOK_6VISITS"), "order"),
    Damage("two pairs in the other order of the inverse",
           neighbours("Z_2VISITS", "Z_6VISITS", "Z_FOK_2VISITORS"), "order"),
]

OWN = [
    Damage("a highest key one too low",
           sql("update Z_PRIMARYKEY set Z_MAX = Z_MAX - 1 where Z_NAME = 'Creature'"),
           "highestKey", places=1),
    Damage("a highest key one too high",
           sql("update Z_PRIMARYKEY set Z_MAX = Z_MAX + 1 where Z_NAME = 'Herd'"), "highestKey",
           places=1),
    Damage("a highest key of a subentity",
           sql("update Z_PRIMARYKEY set Z_MAX = 1 where Z_NAME = 'Fish'"), "highestKey", places=1),
    Damage("no row of an entity", sql("delete from Z_PRIMARYKEY where Z_NAME = 'Flyer'"),
           "entityRow", places=1),
    Damage("a row of no entity", sql("insert into Z_PRIMARYKEY values (16001, 'CHANGE', 0, 0)"),
           "entityRow", places=1),
    Damage("another name", sql("update Z_PRIMARYKEY set Z_NAME = 'Bird' where Z_NAME = 'Flyer'"),
           "entityRow", places=1),
    Damage("another parent", sql("update Z_PRIMARYKEY set Z_SUPER = 5 where Z_NAME = 'Flyer'"),
           "entityRow", places=1),
    Damage("a UUID of the store", sql("update Z_METADATA set Z_UUID = lower(Z_UUID)"), "uuid",
           places=1),
    Damage("a version of the metadata", sql("update Z_METADATA set Z_VERSION = 2"), "metadata",
           places=1),
    Damage("a key of the app that is gone", plist(lambda p: p.pop("appToken")), "metadataKey",
           places=1),
    Damage("a key of the app in other letters", key_set("appToken", "cafe\u0301"), "metadataKey",
           places=1),
    Damage("a key too many", key_set("appOther", 1), "metadataKey", places=1),
    Damage("the framework's version", key_set("NSPersistenceFrameworkVersion", 1), "metadataKey",
           places=1),
    Damage("a digest", key_set("NSStoreModelVersionHashesDigest", "AAAA"), "metadata", places=1),
    Damage("no digest", key_gone("NSStoreModelVersionHashesDigest"), "metadata", places=1),
    Damage("a checksum", key_set("NSStoreModelVersionChecksumKey", "AAAA"), "metadata", places=1),
    Damage("a version's identifier", key_set("NSStoreModelVersionIdentifiers", ["other"]),
           "metadata", places=1),
    Damage("the type of the store", key_set("NSStoreType", "XML"), "metadata", places=1),
    Damage("the vacuum level", key_set("_NSAutoVacuumLevel", "0"), "metadata", places=1),
    Damage("a bit of a hash", hashes(flip_hash), "versionHash", places=1),
    Damage("no hash of an entity", hashes(lambda h: h.pop("Fish")), "versionHash", places=1),
    Damage("a hash of no entity", hashes(lambda h: h.__setitem__("Bat", bytes(32))), "versionHash",
           places=1),
    Damage("metadata that are none", sql("update Z_METADATA set Z_PLIST = x'00'"), "metadata"),
    Damage("no metadata", sql("delete from Z_METADATA"), "metadata"),
    Damage("no model", sql("delete from Z_MODELCACHE"), "modelCache", places=1),
    Damage("a model cut off",
           sql("update Z_MODELCACHE set Z_CONTENT = substr(Z_CONTENT, 1, 200)"), "modelCache",
           places=1),
    Damage("two models", sql("insert into Z_MODELCACHE select * from Z_MODELCACHE"), "modelCache",
           places=1),
    Damage("the old model", old_cache, "modelCache"),
]

SCHEMA = [
    Damage("an index that is gone", ddl("drop index ZCREATURE_ZHERD_INDEX"), "indexMissing",
           places=1),
    Damage("a unique index that is gone", ddl("drop index Z_Place_UNIQUE_label"), "indexMissing",
           places=1),
    Damage("the index of a join table that is gone", ddl("drop index Z_2FRIENDS_Z_2FRIENDS_INDEX"),
           "indexMissing", places=1),
    Damage("an index too many", ddl("create index other on ZPLACE (ZLABEL)"), "indexExtra",
           places=1),
    Damage("an index on another column", both(
        ddl("drop index ZCREATURE_ZHERD_INDEX"),
        ddl("create index ZCREATURE_ZHERD_INDEX on ZCREATURE (ZFLAG)")), "indexForm", places=1),
    Damage("an index in the other direction", both(
        ddl("drop index Z_Creature_byName"),
        ddl("create index Z_Creature_byName on ZCREATURE (ZNAME collate binary asc)")),
        "indexForm", places=1),
    Damage("an index that is not unique", both(
        ddl("drop index Z_Place_UNIQUE_label"),
        ddl("create index Z_Place_UNIQUE_label on ZPLACE (ZLABEL collate binary asc)")),
        "indexForm", places=1),
    Damage("an index of some rows", both(
        ddl("drop index ZPLACE_ZOWNER_INDEX"),
        ddl("create index ZPLACE_ZOWNER_INDEX on ZPLACE (ZOWNER) where ZOWNER > 1")), "indexForm",
        places=1),
    Damage("an index with another collation", both(
        ddl("drop index Z_Creature_byName"),
        ddl("create index Z_Creature_byName on ZCREATURE (ZNAME collate nocase desc)")),
        "indexForm", places=1),
    Damage("an entry of an index", stale_index(
        "ZCREATURE", "Z_Creature_byName", "ZNAME", f"Z_ENT = {FLYER} and ZNAME is not null"),
        "indexEntry"),
    Damage("an entry of a unique index", stale_index(
        "ZPLACE", "Z_Place_UNIQUE_label", "ZLABEL", "ZLABEL is not null"), "indexEntry"),
    Damage("a trigger", ddl("create trigger t after insert on ZHERD begin select 1; end"),
           "trigger", places=1),
    Damage("a view", ddl("create view v as select * from ZHERD"), "view", places=1),
    Damage("a table too many", ddl("create table other (a)"), "tableExtra", places=1),
    Damage("a table that is gone", ddl("drop table ZAARDVARK"), "tableMissing", places=1),
    Damage("a join table that is gone", ddl("drop table Z_2VISITS"), "tableMissing",
           "indexMissing", places=2),
    Damage("a column too many", ddl("alter table ZHERD add column ZOTHER VARCHAR"), "columnExtra",
           places=1),
    Damage("a column that is gone", ddl("alter table ZCREATURE drop column ZWEIGHT"),
           "columnMissing", places=1),
    Damage("a column of another type", schema((
        "update sqlite_schema set sql = replace(sql, 'ZNOTE VARCHAR', 'ZNOTE TEXT') "
        "where name = 'ZCREATURE'", ())), "columnType", places=1),
    Damage("a column with a condition", schema((
        "update sqlite_schema set sql = replace(sql, 'ZNAME VARCHAR', 'ZNAME VARCHAR DEFAULT 1') "
        "where name = 'ZHERD'", ())), "tableForm", places=1),
]

FILE = [
    Damage("a leaf that is none", broken_leaf, "page", also=("indexEntry", "rowMissing")),
    Damage("a cell beyond its page", wrong_free, "page", also=("indexEntry", "rowMissing")),
    Damage("a page too many", longer, "header", places=1),
    Damage("half of the file", shorter, "page", also=("indexEntry",)),
    Damage("no header", patched(0, b"nothing"), "page"),
    Damage("vacuum that is not incremental", patched(64, bytes(4)), "header", places=1),
    Damage("the user's version", patched(60, b"\0\0\0\5"), "header", places=1),
    Damage("the application's id", patched(68, b"\0\0\0\5"), "header", places=1),
    Damage("a write-ahead log", wal, "journalMode", places=1),
    Damage("a log left over", beside("-wal"), "leftover", places=1),
    Damage("a journal left over", beside("-journal"), "leftover", places=1),
    Damage("an external file that is gone", external(os.remove), "externalFileMissing", places=1),
    Damage("a byte of an external file", external(one_byte), "externalFile", places=1),
    Damage("half of an external file", external(lambda p: os.truncate(p, 128000)), "externalFile",
           places=1),
    Damage("a longer external file", external(lambda p: open(p, "ab").write(b"x")), "externalFile",
           places=1),
    Damage("no external files", lambda new, old: shutil.rmtree(
        os.path.join(os.path.dirname(new), ".New_SUPPORT")), "externalFileMissing"),
]

DAMAGES = CELLS + ROWS + OWN + SCHEMA + FILE
