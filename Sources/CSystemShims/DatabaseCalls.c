#include "CSystemShims.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static _Thread_local int open_error = 0;

int csystem_database_open_error(void) { return open_error; }

void csystem_set_database_open_error(int error) { open_error = error; }

// SQLite reports EIO, ENXIO and ERANGE as SQLITE_CORRUPT (os_unix.c, unixRead). Any other error
// becomes SQLITE_IOERR_READ.
static ssize_t without_device_errors(ssize_t result) {
  if (result < 0 && (errno == EIO || errno == ENXIO || errno == ERANGE)) errno = ENODEV;
  return result;
}

static ssize_t read_for_database(int descriptor, void *bytes, size_t count) {
  return without_device_errors(read(descriptor, bytes, count));
}

static ssize_t pread_for_database(int descriptor, void *bytes, size_t count, off_t offset) {
  return without_device_errors(pread(descriptor, bytes, count, offset));
}

// If a file cannot be opened for writing, SQLite opens it for reading, except after EISDIR
// (os_unix.c, unixOpen). The failure of a device would then be reported as a read-only file.
static int open_for_database(const char *path, int flags, int mode) {
  int descriptor = open(path, flags, mode);
  if (descriptor >= 0) return descriptor;
  open_error = errno;
  int is_of_device = errno == EIO || errno == ENXIO || errno == ENODEV;
  if (is_of_device && (flags & O_ACCMODE) == O_RDWR) errno = EISDIR;
  return -1;
}

// SQLite looks at each part of a path before it opens the file.
static int lstat_for_database(const char *path, struct stat *status) {
  int result = lstat(path, status);
  if (result < 0 && errno != ENOENT) open_error = errno;
  return result;
}

csystem_database_call csystem_database_call_named(const char *name) {
  if (strcmp(name, "read") == 0) return (csystem_database_call)read_for_database;
  if (strcmp(name, "pread") == 0) return (csystem_database_call)pread_for_database;
  // With 64 bits it is the same function.
  if (strcmp(name, "pread64") == 0 && sizeof(off_t) == 8) {
    return (csystem_database_call)pread_for_database;
  }
  if (strcmp(name, "open") == 0) return (csystem_database_call)open_for_database;
  if (strcmp(name, "lstat") == 0) return (csystem_database_call)lstat_for_database;
  return NULL;
}
