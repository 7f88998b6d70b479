// Watches a migration by its status file (docs/reference/status-file.md).
//
// cc -o watch watch.c -llmdb && ./watch New.sqlite.godwit/status.mdb
#include <lmdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const phases[] = {
    "?",         "surveying", "planning", "reading",   "migrating", "merging",
    "relinking", "indexing",  "verifying", "swapping", "done",      "failed"};

static void check(int code, const char *what) {
  if (code == 0) return;
  fprintf(stderr, "%s: %s\n", what, mdb_strerror(code));
  exit(74);
}

// Numbers of records are little-endian, wherever they stand.
static uint64_t number(const unsigned char *record, size_t offset, size_t size) {
  uint64_t value = 0;
  while (size-- > 0) value = value << 8 | record[offset + size];
  return value;
}

struct seen {
  uint64_t version, phase, rows, done, status;
  double fraction;
};

// Reads, copies, and lets go at once: a reader that waits within its transaction lets the file grow
// until it is full.
static struct seen look(MDB_env *environment) {
  MDB_txn *transaction;
  MDB_dbi run, part;
  check(mdb_txn_begin(environment, NULL, MDB_RDONLY, &transaction), "begin");
  check(mdb_dbi_open(transaction, "run", 0, &run), "run");
  check(mdb_dbi_open(transaction, "part", 0, &part), "part");
  MDB_val key = {3, "run"}, found;
  check(mdb_get(transaction, run, &key, &found), "the run");
  const unsigned char *record = found.mv_data;
  struct seen seen = {number(record, 0, 4), number(record, 4, 4), 0, 0, 0, 0};
  if (seen.version == 3 && found.mv_size == 512) {
    uint64_t bits = number(record, 464, 8);
    memcpy(&seen.fraction, &bits, sizeof bits);
    seen.rows = number(record, 88, 8);
    seen.status = number(record, 164, 4);
    uint32_t orders = (uint32_t)number(record, 152, 4);
    for (uint32_t order = 1; order <= orders; order++) {
      unsigned char bytes[4] = {order >> 24, order >> 16, order >> 8, order};
      key = (MDB_val){sizeof bytes, bytes};
      if (mdb_get(transaction, part, &key, &found) == 0 && found.mv_size == 384)
        seen.done += number(found.mv_data, 40, 8);
    }
  }
  mdb_txn_abort(transaction);
  return seen;
}

int main(int count, char **arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: watch STATUS-FILE\n");
    return 64;
  }
  MDB_env *environment;
  check(mdb_env_create(&environment), "create");
  check(mdb_env_set_maxdbs(environment, 8), "tables");
  check(mdb_env_open(environment, arguments[1], MDB_NOSUBDIR | MDB_RDONLY, 0), arguments[1]);
  char line[200] = "", before[200];
  for (;;) {
    struct seen seen = look(environment);
    if (seen.version != 3 || seen.phase < 1 || seen.phase > 11) {
      fprintf(stderr, "a status file that this program does not know\n");
      return 65;
    }
    strcpy(before, line);
    snprintf(line, sizeof line, "%s, %d%%, %llu of %llu rows", phases[seen.phase],
             seen.fraction > 0 ? (int)(seen.fraction * 100) : 0, (unsigned long long)seen.done,
             (unsigned long long)seen.rows);
    if (strcmp(before, line) != 0) puts(line), fflush(stdout);
    if (seen.phase == 10) return 0;
    if (seen.phase == 11) return seen.status ? (int)seen.status : 70;
    usleep(100000);
  }
}
