#include "CSystemShims.h"

#include <errno.h>
#include <sys/prctl.h>
#include <unistd.h>

int csystem_die_with_parent(int signal, pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, signal) < 0) return -errno;
  return getppid() == parent ? 0 : -ESRCH;
}
