/* Holds a status file up as a process does that was stopped where LMDB waits for it.
 *
 * usage: status_holders FILE write|readers
 *
 * `write` begins a write transaction, `readers` takes the lock under which readers enter
 * themselves. It says "held", and holds on until it is killed. */
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int begin(const char *path) {
  MDB_env *environment;
  MDB_txn *transaction;
  int code = mdb_env_create(&environment);
  if (!code) code = mdb_env_open(environment, path, MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOTLS, 0644);
  if (!code) code = mdb_txn_begin(environment, NULL, 0, &transaction);
  return code;
}

/* The lock follows the magic number and the format of the lock file. */
static int lock_readers(const char *path) {
  char name[4096];
  snprintf(name, sizeof name, "%s-lock", path);
  int file = open(name, O_RDWR | O_CLOEXEC);
  if (file < 0) return 1;
  char *start = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (start == MAP_FAILED) return 1;
  return pthread_mutex_lock((pthread_mutex_t *)(start + 8));
}

int main(int count, char **arguments) {
  if (count != 3) return 64;
  int code = strcmp(arguments[2], "write") ? lock_readers(arguments[1]) : begin(arguments[1]);
  if (code) return 1;
  puts("held");
  fflush(stdout);
  for (;;) pause();
}
