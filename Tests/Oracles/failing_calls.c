/* Preloaded into the tool: counts the calls by which its processes change files below a folder, and
   lets one of them kill the process, fail or do half of its work.

   GODWIT_CALLS          the file with the counter, which all processes share
   GODWIT_CALLS_IN       the folder; calls on other files are not counted
   GODWIT_CALLS_OF       coordinator, worker or any
   GODWIT_CALLS_AT       the number of the call, from 1
   GODWIT_CALLS_DO       kill, short, the number of an error, or full: from there on no room is
                         left; visit: a command runs, and once it has ended the call is made
   GODWIT_CALLS_VISIT    that command
   GODWIT_CALLS_LOG      a file that gets a line for each call
   GODWIT_CALLS_WITHOUT  flags: renames with flags are not supported; links: nor are second names
   GODWIT_CALLS_KINDS    such as unlink,rmdir: only these calls are counted
   GODWIT_CALLS_BUT      calls on files whose path has this in it are not counted */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "next_calls.h"

enum { PASS, FAIL, SHORTEN };

static _Atomic long *counter;
static long at = -1;
static int error_number, is_kill, is_short, is_full, is_visit;
static int wanted = 3, role = 1, log_file = -1, is_set;
static int without_flags, without_links;
static const char *folder, *kinds, *but;

static int is_worker(void) {
  char line[4096];
  int file = syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY);
  long count = syscall(SYS_read, file, line, sizeof line - 1);
  syscall(SYS_close, file);
  if (count < 0) return 0;
  line[count] = 0;
  for (long start = 0; start < count; start += strlen(line + start) + 1)
    if (!strcmp(line + start, "godwit-worker")) return 1;
  return 0;
}

static void set_up(void) {
  if (is_set) return;
  is_set = 1;
  const char *without = getenv("GODWIT_CALLS_WITHOUT");
  without_flags = without && strstr(without, "flags");
  without_links = without && strstr(without, "links");
  const char *path = getenv("GODWIT_CALLS");
  if (!path) return;
  role = is_worker() ? 2 : 1;
  folder = getenv("GODWIT_CALLS_IN");
  kinds = getenv("GODWIT_CALLS_KINDS");
  but = getenv("GODWIT_CALLS_BUT");
  const char *of = getenv("GODWIT_CALLS_OF"), *act = getenv("GODWIT_CALLS_DO");
  if (of) wanted = !strcmp(of, "coordinator") ? 1 : !strcmp(of, "worker") ? 2 : 3;
  if (getenv("GODWIT_CALLS_AT")) at = atol(getenv("GODWIT_CALLS_AT"));
  if (act) {
    is_kill = !strcmp(act, "kill");
    is_short = !strcmp(act, "short");
    is_full = !strcmp(act, "full");
    is_visit = !strcmp(act, "visit");
    error_number = is_full ? ENOSPC : atoi(act);
  }
  const char *log = getenv("GODWIT_CALLS_LOG");
  if (log)
    log_file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  int file = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (syscall(SYS_ftruncate, file, 4096) < 0) return;
  void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  syscall(SYS_close, file);
  if (map != MAP_FAILED) counter = map;
}

static int is_kind(const char *call) {
  if (!kinds) return 1;
  size_t length = strlen(call);
  for (const char *found = kinds; (found = strstr(found, call)); found += length)
    if ((found == kinds || found[-1] == ',') && (found[length] == 0 || found[length] == ','))
      return 1;
  return 0;
}

/* What becomes of a call; `takes_room` of those that need space on the disk. */
static int reach(const char *call, const char *path, int takes_room) {
  set_up();
  if (!counter || !(wanted & role) || !is_kind(call)) return PASS;
  if (folder && (!path || strncmp(path, folder, strlen(folder)))) return PASS;
  if (but && path && strstr(path, but)) return PASS;
  long number = atomic_fetch_add(&counter[0], 1) + 1;
  if (log_file >= 0) {
    char line[5000];
    int length = snprintf(line, sizeof line, "%ld %s %s %s\n", number,
                          role == 1 ? "coordinator" : "worker", call, path ? path : "-");
    if (syscall(SYS_write, log_file, line, length) < 0) return PASS;
  }
  if (at < 0 || (is_full ? number < at || !takes_room : number != at)) return PASS;
  atomic_fetch_add(&counter[1], 1);
  if (is_kill) {
    syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    for (;;) syscall(SYS_pause);
  }
  if (is_short) return SHORTEN;
  if (is_visit) {
    if (system(getenv("GODWIT_CALLS_VISIT"))) abort();
    return PASS;
  }
  errno = error_number;
  return FAIL;
}

#define ON_FILE(name, call, room)                        \
  NEXT(name);                                            \
  int fate = reach(call, path_of(file, path), room);     \
  if (fate == FAIL) return -1

#define ON_PATH(name, call, path_, room)       \
  NEXT(name);                                  \
  if (reach(call, path_, room) == FAIL) return -1

ssize_t write(int file, const void *bytes, size_t count) {
  if (file <= 2) return syscall(SYS_write, file, bytes, count);
  ON_FILE(write, "write", 1);
  return next(file, bytes, fate == SHORTEN && count > 1 ? count / 2 : count);
}
ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
  ON_FILE(pwrite, "pwrite", 1);
  return next(file, bytes, fate == SHORTEN && count > 1 ? count / 2 : count, offset);
}
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
  ON_FILE(pwrite64, "pwrite", 1);
  return next(file, bytes, fate == SHORTEN && count > 1 ? count / 2 : count, offset);
}
ssize_t writev(int file, const struct iovec *parts, int count) {
  ON_FILE(writev, "writev", 1);
  return next(file, parts, count);
}
ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset) {
  ON_FILE(pwritev, "pwritev", 1);
  return next(file, parts, count, offset);
}
ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t offset) {
  ON_FILE(pwritev64, "pwritev", 1);
  return next(file, parts, count, offset);
}
ssize_t copy_file_range(int from, off64_t *start, int file, off64_t *end, size_t count,
                        unsigned flags) {
  ON_FILE(copy_file_range, "copy_file_range", 1);
  return next(from, start, file, end, fate == SHORTEN && count > 1 ? 4096 : count, flags);
}
int fsync(int file) { ON_FILE(fsync, "fsync", 1); return next(file); }
int fdatasync(int file) { ON_FILE(fdatasync, "fdatasync", 1); return next(file); }
int syncfs(int file) { ON_FILE(syncfs, "syncfs", 1); return next(file); }
int ftruncate(int file, off_t size) { ON_FILE(ftruncate, "ftruncate", 1); return next(file, size); }
int ftruncate64(int file, off64_t size) {
  ON_FILE(ftruncate64, "ftruncate", 1);
  return next(file, size);
}
int fallocate(int file, int mode, off_t offset, off_t size) {
  ON_FILE(fallocate, "fallocate", 1);
  return next(file, mode, offset, size);
}
int fallocate64(int file, int mode, off64_t offset, off64_t size) {
  ON_FILE(fallocate64, "fallocate", 1);
  return next(file, mode, offset, size);
}
int fchmod(int file, mode_t mode) { ON_FILE(fchmod, "fchmod", 0); return next(file, mode); }
int fchown(int file, uid_t owner, gid_t group) {
  ON_FILE(fchown, "fchown", 0);
  return next(file, owner, group);
}
int rename(const char *from, const char *to) {
  ON_PATH(rename, "rename", to, 1);
  return next(from, to);
}
int renameat2(int in, const char *from, int out, const char *to, unsigned flags) {
  ON_PATH(renameat2, "renameat2", to, 1);
  if (without_flags && flags) {
    errno = EINVAL;
    return -1;
  }
  return next(in, from, out, to, flags);
}
int link(const char *from, const char *to) {
  ON_PATH(link, "link", to, 1);
  if (without_links) {
    errno = EPERM;
    return -1;
  }
  return next(from, to);
}
int linkat(int in, const char *from, int out, const char *to, int flags) {
  ON_PATH(linkat, "link", to, 1);
  if (without_links) {
    errno = EPERM;
    return -1;
  }
  return next(in, from, out, to, flags);
}
int unlink(const char *name) { ON_PATH(unlink, "unlink", name, 0); return next(name); }
int rmdir(const char *name) { ON_PATH(rmdir, "rmdir", name, 0); return next(name); }
int mkdir(const char *name, mode_t mode) {
  ON_PATH(mkdir, "mkdir", name, 1);
  return next(name, mode);
}
int chmod(const char *name, mode_t mode) {
  ON_PATH(chmod, "chmod", name, 0);
  return next(name, mode);
}
int chown(const char *name, uid_t owner, gid_t group) {
  ON_PATH(chown, "chown", name, 0);
  return next(name, owner, group);
}

static int opening(const char *name, int flags, mode_t mode, int (*next)(const char *, int, ...)) {
  if ((flags & (O_CREAT | O_TRUNC)) && reach("open", name, flags & O_CREAT ? 1 : 0) == FAIL)
    return -1;
  return next(name, flags, mode);
}
#define OPEN(name)                                              \
  int name(const char *file, int flags, ...) {                  \
    NEXT(name);                                                 \
    mode_t mode = 0;                                            \
    if (flags & (O_CREAT | O_TMPFILE)) {                        \
      va_list rest;                                             \
      va_start(rest, flags);                                    \
      mode = va_arg(rest, mode_t);                              \
      va_end(rest);                                             \
    }                                                           \
    return opening(file, flags, mode, (int (*)(const char *, int, ...))next); \
  }
OPEN(open)
OPEN(open64)
