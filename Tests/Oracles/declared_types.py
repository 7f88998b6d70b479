#!/usr/bin/env python3
"""Stores whose keys and entity numbers lie in columns that are not declared INTEGER, as tools for
databases leave them: `migrate` reads them as the numbers that they stand for, all engines alike to
the byte, and `verify` as well, which finds what is spoiled afterwards. Entity numbers that are
texts, and join tables without row numbers, are refused with their place; rows of history with the
number of no entity go only if that is allowed, and in a clone too, where their table would stay;
and columns that no model knows of are named with the values that were left behind.

usage: declared_types.py --godwit P --corpus D [--scratch S]; the corpus is not read
"""
import json
import os
import re
import sqlite3

from joins import connect, key_columns, make_model
from run import Tool, parser, run_cases, vacuumed

ENGINES = ("sql", "pages", "clone")
DAMAGED, LOSSES = 65, 78


class Case:
    def __init__(self, tool, folder, history=False):
        self.tool, self.bundle = tool, os.path.join(folder, "Joins.xcdatamodeld")
        old = make_model(os.path.join(self.bundle, "1.xcdatamodel"))
        self.new = make_model(os.path.join(self.bundle, "2.xcdatamodel"), later=True)
        self.store = os.path.join(folder, "Old.sqlite")
        tool.run("generate", old.path, "--rows", 60, *(("--transactions", 4) if history else ()),
                 "--output", self.store)

    def call(self, command, *more):
        return self.tool.call(command, self.store, "--to", self.new.path, "--models", self.bundle,
                              *more)

    def verify(self, result):
        return self.tool.call("verify", self.store, result, "--models", self.bundle)


def rebuilt(store, table, change):
    """Makes a table anew by its changed statement, with its rows and indexes."""
    db = connect(store)
    [(statement,)] = db.execute("select sql from sqlite_master where name = ? and type = 'table'",
                                (table,))
    others = db.execute("select sql from sqlite_master where tbl_name = ? and type <> 'table' and "
                        "sql is not null", (table,)).fetchall()
    rows = db.execute(f'select * from "{table}"').fetchall()
    changed = change(statement)
    if changed == statement:
        raise ValueError(f"{statement} stays as it is")
    db.execute(f'drop table "{table}"')
    db.execute(changed)
    for row in rows:
        db.execute(f'insert into "{table}" values ({", ".join("?" * len(row))})', row)
    for (other,) in others:
        db.execute(other)
    db.close()


def declared(column, form):
    return lambda statement: re.sub(rf'(\b{column}"?) INTEGER', rf"\1 {form}", statement, count=1)


def join_keys(store, form):
    for table, columns in key_columns(store).items():
        for column in columns:
            rebuilt(store, table, declared(column, form))


PLANTED = {
    "pairs": lambda s, form: join_keys(s, form),
    "objects": lambda s, form: rebuilt(s, "ZPERSON", declared("Z_ENT", form)),
    "changes": lambda s, form: rebuilt(s, "ACHANGE", declared("ZENTITY", form)),
    "numbers of changes": lambda s, form: rebuilt(s, "ACHANGE", declared("Z_ENT", form)),
}
SPOILED = {
    "pairs": (None, "pairMissing"), "objects": ("ZPERSON", "rowMissing"),
    "changes": ("ACHANGE", "rowMissing"), "numbers of changes": ("ACHANGE", "rowMissing"),
}


def read_as_numbers(what, form):
    def check(tool, folder):
        history = "changes" in what
        case, out, copies = Case(tool, folder, history), [], set()
        PLANTED[what](case.store, form)
        for engine in ENGINES:
            result = os.path.join(folder, f"{engine}.sqlite")
            done = case.call("migrate", "--output", result, "--engine", engine)
            if done.returncode:
                out.append(f"{engine}: exit {done.returncode}: {done.stderr}")
                continue
            told = case.verify(result)
            if told.returncode:
                out.append(f"{engine}: verify ends with {told.returncode}: {told.stdout[:300]}")
            # A history tells when it was migrated.
            if not history:
                with open(vacuumed(result), "rb") as file:
                    copies.add(file.read())
        if len(copies) > 1:
            out.append("the engines make different stores")
        return out + (judged(case, result, *SPOILED[what]) if not out else [])
    return check


def judged(case, result, table, kind):
    """One row less is found, and it alone; of pairs in the first of their tables."""
    table = table or sorted(key_columns(result))[0]
    db = sqlite3.connect(result)
    db.execute("pragma journal_mode = delete")
    gone = db.execute(f"delete from {table} where rowid = (select max(rowid) from {table})")
    db.commit()
    db.close()
    told = case.verify(result)
    found = [line for line in told.stdout.splitlines() if line.startswith(kind)]
    if gone.rowcount == 1 and told.returncode == DAMAGED and len(found) == 1:
        return []
    return [f"a row less in {table}: verify ends with {told.returncode}: {told.stdout[:300]}"]


def refused(what, words):
    def check(tool, folder):
        case, out = Case(tool, folder), []
        what(case.store)
        before = open(case.store, "rb").read()
        result = os.path.join(folder, "New.sqlite")
        for command, more in (("plan", ()), ("check", ()),
                              *(("migrate", ("--output", result, "--engine", e))
                                for e in ENGINES)):
            done = case.call(command, *more)
            said = done.stdout + done.stderr
            if done.returncode != DAMAGED or not re.search(words, said) or "SQLite" in said:
                out.append(f"{command} {more[2:]}: exit {done.returncode}: {said[:400]}")
        if os.path.exists(result) or open(case.store, "rb").read() != before:
            out.append("something was written")
        return out
    return check


def without_row_numbers(store):
    table = sorted(key_columns(store))[0]
    rebuilt(store, table, lambda statement: statement + " WITHOUT ROWID")


def strays_of_history(large):
    """A store so large that its rows are not looked at beforehand, or one that is small."""
    def check(tool, folder):
        case, out = Case(tool, folder, history=True), []
        db = connect(case.store)
        for table, number in (("ATRANSACTION", 78), ("ATRANSACTIONSTRING", None)):
            db.execute(f"update {table} set Z_ENT = ? where Z_PK = (select max(Z_PK) from {table})",
                       (number,))
        if large:
            db.execute("update ZPERSON set ZNAME = hex(zeroblob(3000000)) where Z_PK < 3")
        db.close()
        for engine in ENGINES:
            result = os.path.join(folder, f"{engine}.sqlite")
            more = ("--output", result, "--engine", engine)
            done = case.call("migrate", *more)
            if done.returncode != LOSSES or "history: 2 rows dropped" not in done.stderr:
                out.append(f"{engine}: exit {done.returncode}: {done.stderr[:300]}")
            done = case.call("migrate", *more, "--allow-loss", "history")
            if done.returncode or "history: 2 rows dropped" not in done.stderr:
                out.append(f"{engine}, allowed: exit {done.returncode}: {done.stderr[:300]}")
                continue
            told = case.verify(result)
            lines = sorted(line.split(" ")[1] for line in told.stdout.splitlines()
                           if line.startswith("rowMissing"))
            if told.returncode != DAMAGED or lines != ["ATRANSACTION", "ATRANSACTIONSTRING"]:
                out.append(f"{engine}: verify ends with {told.returncode}: {told.stdout[:300]}")
        told = case.call("plan")
        if told.returncode != LOSSES or "history: 2 rows dropped" not in told.stdout:
            out.append(f"plan: exit {told.returncode}: {told.stdout[:300]}")
        return out
    return check


def columns_of_no_model(tool, folder):
    case, out = Case(tool, folder), []
    db = connect(case.store)
    db.execute("alter table ZPERSON add column ZOWN")
    db.execute("alter table ZROOM add column ZNONE")
    count = db.execute("update ZPERSON set ZOWN = 'mine' where Z_PK % 3 = 1").rowcount
    db.close()
    note = f"column ZPERSON.ZOWN is not part of the model: {count} values left out."
    report = os.path.join(folder, "report.json")
    for engine in ENGINES:
        done = case.call("migrate", "--output", os.path.join(folder, f"{engine}.sqlite"),
                         "--engine", engine, "--extra-tables", "drop", "--report", report)
        with open(report, encoding="utf-8") as file:
            told = json.load(file).get("extraColumns")
        if done.returncode or note not in done.stderr or "ZNONE" in done.stderr:
            out.append(f"{engine}: exit {done.returncode}: {done.stderr[:300]}")
        if told != [{"name": "ZPERSON.ZOWN", "values": count}]:
            out.append(f"{engine}: the report has {told}")
    return out


def main():
    options = parser(__doc__).parse_args()
    tool = Tool(options.godwit)
    cases = [(f"{what} in {form}", read_as_numbers(what, form))
             for what in PLANTED for form in ("VARCHAR", "FLOAT", "BLOB", "TIMESTAMP")
             if form != "VARCHAR" or what in ("pairs", "changes")]
    cases += [("entity numbers that are texts",
               refused(lambda s: PLANTED["objects"](s, "VARCHAR"), r"as texts \(ZPERSON\)")),
              ("a join table without row numbers",
               refused(without_row_numbers, r"WITHOUT ROWID.*\(Z_1PEOPLE\)"))]
    cases += [(f"history of another number{', large' if large else ''}", strays_of_history(large))
              for large in (False, True)]
    cases.append(("columns of no model", columns_of_no_model))
    run_cases(options, [(n, lambda folder, c=c: c(tool, folder)) for n, c in cases],
              "declared types")


if __name__ == "__main__":
    main()
