#!/usr/bin/env python3
"""Watches a migration by its status file, with nothing but liblmdb (docs/reference/status-file.md).

usage: watch.py New.sqlite.godwit/status.mdb [SECONDS]

It looks every tenth of a second, or as often as SECONDS says.
"""
import ctypes
import ctypes.util
import struct
import sys
import time

NO_FOLDER, READ_ONLY = 0x4000, 0x20000
PHASES = ("surveying", "planning", "reading", "migrating", "merging", "relinking", "indexing",
          "verifying", "swapping", "done", "failed")


class Value(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("data", ctypes.c_void_p)]


class StatusFile:
    def __init__(self, path):
        self.lmdb = ctypes.CDLL(ctypes.util.find_library("lmdb") or "liblmdb.so.0")
        self.environment = ctypes.c_void_p()
        self.call("mdb_env_create", ctypes.byref(self.environment))
        self.call("mdb_env_set_maxdbs", self.environment, ctypes.c_uint(8))
        self.call("mdb_env_open", self.environment, path.encode(), NO_FOLDER | READ_ONLY, 0)
        self.tables = {}

    def call(self, name, *arguments):
        code = getattr(self.lmdb, name)(*arguments)
        if code:
            self.lmdb.mdb_strerror.restype = ctypes.c_char_p
            raise OSError(f"{name}: {self.lmdb.mdb_strerror(code).decode()}")

    def read(self):
        """The record of the run and those of its work orders: of one moment, and copied."""
        transaction = ctypes.c_void_p()
        self.call("mdb_txn_begin", self.environment, None, READ_ONLY, ctypes.byref(transaction))
        try:
            run = self.get(transaction, b"run", b"run")
            numbers = range(1, struct.unpack_from("<I", run, 152)[0] + 1)
            return run, [self.get(transaction, b"part", struct.pack(">I", n)) for n in numbers]
        finally:
            # A reader that waits within its transaction lets the file grow until it is full.
            self.lmdb.mdb_txn_abort(transaction)

    def get(self, transaction, table, key):
        number = ctypes.c_uint()
        self.call("mdb_dbi_open", transaction, table, 0, ctypes.byref(number))
        keyed = Value(len(key), ctypes.cast(ctypes.c_char_p(key), ctypes.c_void_p))
        found = Value()
        self.call("mdb_get", transaction, number, ctypes.byref(keyed), ctypes.byref(found))
        return ctypes.string_at(found.data, found.size)


def main():
    status, pause = StatusFile(sys.argv[1]), float((sys.argv[2:] or ["0.1"])[0])
    before = None
    while True:
        run, parts = status.read()
        version, phase = struct.unpack_from("<II", run, 0)
        if version != 3:
            sys.exit(f"the status file has version {version}, and this program knows 3")
        done = sum(struct.unpack_from("<Q", part, 40)[0] for part in parts)
        rows, fraction = struct.unpack_from("<Q", run, 88)[0], struct.unpack_from("<d", run, 464)[0]
        line = f"{PHASES[phase - 1]}, {max(fraction, 0):.0%}, {done} of {rows} rows"
        if line != before:
            print(line, flush=True)
            before = line
        if phase >= 10:
            sys.exit(0 if phase == 10 else struct.unpack_from("<i", run, 164)[0] or 70)
        time.sleep(pause)


if __name__ == "__main__":
    main()
