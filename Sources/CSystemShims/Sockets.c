#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "CSystemShims.h"

int csystem_make_sockets(int ends[2]) {
#ifdef SOCK_CLOEXEC
  return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0 ? -errno : 0;
#else
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0) return -errno;
  int on = 1;
  for (int end = 0; end < 2; end++) {
    fcntl(ends[end], F_SETFD, FD_CLOEXEC);
    setsockopt(ends[end], SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
  }
  return 0;
#endif
}

int64_t csystem_send(int socket, const void *bytes, uint64_t count) {
  ssize_t sent;
#ifdef MSG_NOSIGNAL
  do sent = send(socket, bytes, count, MSG_NOSIGNAL);
#else
  do sent = send(socket, bytes, count, 0);
#endif
  while (sent < 0 && errno == EINTR);
  return sent < 0 ? -errno : sent;
}

int csystem_end_sending(int socket) { return shutdown(socket, SHUT_WR) < 0 ? -errno : 0; }
