#ifndef C_SYSTEM_SHIMS_H
#define C_SYSTEM_SHIMS_H
#include <sys/types.h>

/// Functions return the result of the call, or -errno: `errno` never crosses into Swift.

/// Ends this process with `signal` when its parent `parent` dies; -ESRCH if that already happened.
int csystem_die_with_parent(int signal, pid_t parent);

#endif
