#include "CSystemShims.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static int result(int code) { return code < 0 ? -errno : code; }

int csystem_copy_modified(const char *from, const char *to) {
  struct stat found;
  if (stat(from, &found) < 0) return -errno;
#ifdef __linux__
  struct timespec times[2] = {found.st_atim, found.st_mtim};
#else
  struct timespec times[2] = {found.st_atimespec, found.st_mtimespec};
#endif
  return result(utimensat(AT_FDCWD, to, times, 0));
}

int csystem_set_modified(const char *path, int64_t nanoseconds) {
  int64_t seconds = nanoseconds / 1000000000, rest = nanoseconds % 1000000000;
  if (rest < 0) {
    seconds -= 1;
    rest += 1000000000;
  }
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = seconds, .tv_nsec = rest}};
  return result(utimensat(AT_FDCWD, path, times, 0));
}
