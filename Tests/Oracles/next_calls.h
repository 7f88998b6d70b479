/* What libraries of recorded and failing calls share: the path of an open file, and the next
 * library's function of a name. */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *path_of(int file, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  long length = syscall(SYS_readlink, link, path, 4095);
  if (length < 0) return NULL;
  path[length] = 0;
  return path;
}

#define NEXT(name)               \
  static __typeof__(&name) next; \
  char path[4096];               \
  (void)path;                    \
  if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
