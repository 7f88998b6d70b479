/* Preloaded into the tool: records in order, with all bytes, the calls by which it changes files
   below a folder, so that what a power cut would leave can be worked out.

   GODWIT_RECORD_IN  the folder
   GODWIT_RECORD_TO  the file of the record: for each call its name, its path, a second path, an
                     offset and the bytes, each with its length before it */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "next_calls.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static char *put(char *end, const void *bytes, uint64_t count) {
  memcpy(end, &count, sizeof count);
  memcpy(end + sizeof count, bytes, count);
  return end + sizeof count + count;
}

/* Appends an entry by one call, since several processes write to one record. */
static void record(const char *call, const char *path, const char *other, int64_t offset,
                   const void *bytes, size_t count) {
  const char *folder = getenv("GODWIT_RECORD_IN"), *to = getenv("GODWIT_RECORD_TO");
  if (!folder || !to || !path || strncmp(path, folder, strlen(folder))) return;
  if (!other) other = "";
  size_t size = 5 * sizeof(uint64_t) + strlen(call) + strlen(path) + strlen(other) +
                sizeof offset + count;
  char *entry = malloc(size), *end = entry;
  if (!entry) abort();
  end = put(end, call, strlen(call));
  end = put(end, path, strlen(path));
  end = put(end, other, strlen(other));
  end = put(end, &offset, sizeof offset);
  put(end, bytes ? bytes : "", bytes ? count : 0);
  pthread_mutex_lock(&mutex);
  int file = syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (syscall(SYS_write, file, entry, size) != (long)size) abort();
  syscall(SYS_close, file);
  pthread_mutex_unlock(&mutex);
  free(entry);
}

ssize_t write(int file, const void *bytes, size_t count) {
  NEXT(write);
  off_t at = file > 2 ? lseek(file, 0, SEEK_CUR) : -1;
  ssize_t done = next(file, bytes, count);
  if (done > 0 && at >= 0) record("write", path_of(file, path), NULL, at, bytes, (size_t)done);
  return done;
}
#define PWRITE(name, offset_t)                                                                \
  ssize_t name(int file, const void *bytes, size_t count, offset_t offset) {                  \
    NEXT(name);                                                                               \
    ssize_t done = next(file, bytes, count, offset);                                          \
    if (done > 0) record("write", path_of(file, path), NULL, offset, bytes, (size_t)done);    \
    return done;                                                                              \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define SYNC(name)                                                       \
  int name(int file) {                                                   \
    NEXT(name);                                                          \
    int done = next(file);                                               \
    if (done == 0) record("fsync", path_of(file, path), NULL, 0, "", 0); \
    return done;                                                         \
  }
SYNC(fsync)
SYNC(fdatasync)

#define SIZE(name, call, offset_t)                                           \
  int name(int file, offset_t size) {                                        \
    NEXT(name);                                                              \
    int done = next(file, size);                                             \
    if (done == 0) record(call, path_of(file, path), NULL, size, "", 0);     \
    return done;                                                             \
  }
SIZE(ftruncate, "size", off_t)
SIZE(ftruncate64, "size", off64_t)

#define ALLOCATE(name, offset_t)                                                      \
  int name(int file, int mode, offset_t offset, offset_t size) {                      \
    NEXT(name);                                                                       \
    int done = next(file, mode, offset, size);                                        \
    if (done == 0) record("grow", path_of(file, path), NULL, offset + size, "", 0);   \
    return done;                                                                      \
  }
ALLOCATE(fallocate, off_t)
ALLOCATE(fallocate64, off64_t)

int rename(const char *from, const char *to) {
  NEXT(rename);
  int done = next(from, to);
  if (done == 0) record("rename", from, to, 0, "", 0);
  return done;
}
int renameat2(int in, const char *from, int out, const char *to, unsigned flags) {
  NEXT(renameat2);
  int done = next(in, from, out, to, flags);
  if (done == 0) record("rename", from, to, 0, "", 0);
  return done;
}
int link(const char *from, const char *to) {
  NEXT(link);
  int done = next(from, to);
  if (done == 0) record("link", from, to, 0, "", 0);
  return done;
}
int linkat(int in, const char *from, int out, const char *to, int flags) {
  NEXT(linkat);
  int done = next(in, from, out, to, flags);
  if (done == 0) record("link", from, to, 0, "", 0);
  return done;
}
int unlink(const char *name) {
  NEXT(unlink);
  int done = next(name);
  if (done == 0) record("unlink", name, NULL, 0, "", 0);
  return done;
}
int mkdir(const char *name, mode_t mode) {
  NEXT(mkdir);
  int done = next(name, mode);
  if (done == 0) record("mkdir", name, NULL, 0, "", 0);
  return done;
}
int rmdir(const char *name) {
  NEXT(rmdir);
  int done = next(name);
  if (done == 0) record("rmdir", name, NULL, 0, "", 0);
  return done;
}

#define OPEN(name)                                                                \
  int name(const char *file, int flags, ...) {                                    \
    NEXT(name);                                                                   \
    mode_t mode = 0;                                                              \
    if (flags & (O_CREAT | O_TMPFILE)) {                                          \
      va_list rest;                                                               \
      va_start(rest, flags);                                                      \
      mode = va_arg(rest, mode_t);                                                \
      va_end(rest);                                                               \
    }                                                                             \
    int is_new = (flags & O_CREAT) && access(file, F_OK) != 0;                    \
    int done = ((int (*)(const char *, int, ...))next)(file, flags, mode);        \
    if (done >= 0 && is_new) record("create", file, NULL, 0, "", 0);              \
    if (done >= 0 && (flags & O_TRUNC)) record("size", file, NULL, 0, "", 0);     \
    return done;                                                                  \
  }
OPEN(open)
OPEN(open64)
