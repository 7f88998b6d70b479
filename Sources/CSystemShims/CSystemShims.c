#include "CSystemShims.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#else
#include <sys/mount.h>
#include <sys/param.h>
#include <sys/stdio.h>
#endif

static int result(int code) { return code < 0 ? -errno : code; }

int csystem_die_with_parent(int signal, pid_t parent) {
#ifdef __linux__
  if (prctl(PR_SET_PDEATHSIG, signal) < 0) return -errno;
#else
  (void)signal;
#endif
  return getppid() == parent ? 0 : -ESRCH;
}

int csystem_raise_descriptor_limit(uint64_t *limit) {
  struct rlimit limits;
  if (getrlimit(RLIMIT_NOFILE, &limits) < 0) return -errno;
  limits.rlim_cur = limits.rlim_max;
#ifndef __linux__
  // Darwin refuses an unlimited number of descriptors.
  if (limits.rlim_cur > OPEN_MAX) limits.rlim_cur = OPEN_MAX;
#endif
  *limit = limits.rlim_cur;
  return result(setrlimit(RLIMIT_NOFILE, &limits));
}

int csystem_ignore_signal(int number) {
  return signal(number, SIG_IGN) == SIG_ERR ? -errno : 0;
}

int csystem_ignores_signal(int number) {
  struct sigaction action;
  if (sigaction(number, NULL, &action) < 0) return -errno;
  return !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN;
}

int csystem_rename_no_replace(const char *from, const char *to) {
#ifdef __linux__
  return result(renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE));
#else
  return result(renamex_np(from, to, RENAME_EXCL));
#endif
}

int csystem_link(const char *from, const char *to) {
  return result(linkat(AT_FDCWD, from, AT_FDCWD, to, 0));
}

int csystem_open_unnamed(const char *folder) {
#ifdef __linux__
  return result(open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
#else
  (void)folder;
  return -ENOTSUP;
#endif
}

int csystem_name(int descriptor, const char *path) {
  char own[32];
  snprintf(own, sizeof own, "/proc/self/fd/%d", descriptor);
  return result(linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW));
}

int csystem_rename(const char *from, const char *to) { return result(rename(from, to)); }
int csystem_unlink(const char *path) { return result(unlink(path)); }
int csystem_remove_directory(const char *path) { return result(rmdir(path)); }
int csystem_make_directory(const char *path, mode_t mode) { return result(mkdir(path, mode)); }

int csystem_sync(int descriptor) {
#ifdef F_FULLFSYNC
  // fsync of Darwin leaves the data in the cache of the drive.
  if (fcntl(descriptor, F_FULLFSYNC) == 0) return 0;
#endif
  int code;
  do code = fsync(descriptor);
  while (code < 0 && errno == EINTR);
  return result(code);
}

int csystem_begin_writeback(int descriptor, int64_t offset, int64_t count) {
#ifdef SYNC_FILE_RANGE_WRITE
  return result(sync_file_range(descriptor, offset, count, SYNC_FILE_RANGE_WRITE));
#else
  (void)descriptor, (void)offset, (void)count;
  return -ENOTSUP;
#endif
}

int csystem_open_direct(const char *path) {
#ifdef O_DIRECT
  return result(open(path, O_RDWR | O_DIRECT | O_CLOEXEC));
#else
  (void)path;
  return -ENOTSUP;
#endif
}

// One component after the other, where the kernel cannot do it at once.
static int open_step_by_step(int folder, const char *path) {
  char name[NAME_MAX + 1];
  int at = dup(folder);
  while (at >= 0) {
    size_t length = strcspn(path, "/");
    int last = path[length] == 0;
    int next = -EINVAL;
    if (length > 0 && length <= NAME_MAX) {
      memcpy(name, path, length);
      name[length] = 0;
      int kind = last ? O_NONBLOCK : O_DIRECTORY;
      if (strcmp(name, "..") != 0)
        next = result(openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind));
    }
    close(at);
    if (last || next < 0) return next;
    at = next;
    path += length + 1;
  }
  return -errno;
}

int csystem_open_beneath(int folder, const char *path) {
#if defined(__linux__) && defined(SYS_openat2)
  struct open_how how = {
      .flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC,
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
  long descriptor = syscall(SYS_openat2, folder, path, &how, sizeof how);
  if (descriptor >= 0) return (int)descriptor;
  // Old kernels lack the call, and some containers forbid it.
  if (errno != ENOSYS && errno != EPERM && errno != EINVAL) return -errno;
#endif
  return open_step_by_step(folder, path);
}

static int64_t read_whole(int file, char *bytes, size_t room) {
  struct stat found;
  if (fstat(file, &found) < 0) return -errno;
  if (!S_ISREG(found.st_mode)) return -EINVAL;
  size_t count = 0;
  while (count < room) {
    ssize_t more = read(file, bytes + count, room - count);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return -errno;
    count += (size_t)more;
    // There was room for more than was left, so this is the end; it is asked for again where the
    // file has another length than it had.
    if (more == 0 || (count < room && count == (size_t)found.st_size)) return (int64_t)count;
  }
  return -EFBIG;
}

int64_t csystem_read_beneath(int folder, const char *path, void *bytes, size_t room) {
  int file = csystem_open_beneath(folder, path);
  if (file < 0) return file;
  int64_t count = read_whole(file, bytes, room);
  close(file);
  return count;
}

int csystem_wait_writable(int descriptor, int milliseconds) {
  struct pollfd wanted = {.fd = descriptor, .events = POLLOUT};
  return result(poll(&wanted, 1, milliseconds));
}

int csystem_reserve(int descriptor, int64_t size) {
#ifdef __linux__
  return result(fallocate(descriptor, 0, 0, size));
#else
  (void)descriptor, (void)size;
  return -ENOTSUP;
#endif
}

int csystem_prefer_large_pages(void *memory, size_t size) {
#ifdef MADV_HUGEPAGE
  return result(madvise(memory, size, MADV_HUGEPAGE));
#else
  (void)memory, (void)size;
  return -ENOTSUP;
#endif
}

int csystem_map_scratch(const char *folder, size_t size, void **memory) {
  char name[PATH_MAX];
  if (snprintf(name, sizeof name, "%s/scratch-XXXXXX", folder) >= (int)sizeof name)
    return -ENAMETOOLONG;
  int file = mkstemp(name);
  if (file < 0) return -errno;
  unlink(name);
  // A page without a block would end the process when it is touched.
  int code = posix_fallocate(file, 0, (off_t)size);
  void *map = MAP_FAILED;
  if (code == 0) {
    map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) code = errno;
  }
  close(file);
  if (code == 0) *memory = map;
  return -code;
}

int csystem_unmap(void *memory, size_t size) { return result(munmap(memory, size)); }

int csystem_sync_file_system(int descriptor) {
#ifdef __linux__
  return result(syncfs(descriptor));
#else
  (void)descriptor;
  return -ENOTSUP;
#endif
}

int csystem_shares_blocks(int from, const char *folder) {
#ifdef __linux__
  int file = csystem_open_unnamed(folder);
  if (file < 0) return 0;
  // A multiple of the blocks of every file system; less than that is only allowed at the end.
  struct file_clone_range range = {.src_fd = from, .src_length = 1 << 16};
  int shares = ioctl(file, FICLONERANGE, &range) == 0;
  close(file);
  return shares;
#else
  (void)from, (void)folder;
  return 0;
#endif
}

int csystem_clone(int from, int to) {
#ifdef __linux__
  return result(ioctl(to, FICLONE, from));
#else
  (void)from, (void)to;
  return -ENOTSUP;
#endif
}

ssize_t csystem_copy_range(int from, int to, size_t count) {
#ifdef __linux__
  ssize_t copied = copy_file_range(from, NULL, to, NULL, count, 0);
  return copied < 0 ? -errno : copied;
#else
  (void)from, (void)to, (void)count;
  return -ENOTSUP;
#endif
}

static int fill(int code, const struct stat *from, struct csystem_status *status) {
  if (code < 0) return -errno;
  status->size = from->st_size;
#ifdef __linux__
  status->modified_seconds = from->st_mtim.tv_sec;
  status->modified_nanoseconds = from->st_mtim.tv_nsec;
  status->changed_seconds = from->st_ctim.tv_sec;
  status->changed_nanoseconds = from->st_ctim.tv_nsec;
#else
  status->modified_seconds = from->st_mtimespec.tv_sec;
  status->modified_nanoseconds = from->st_mtimespec.tv_nsec;
  status->changed_seconds = from->st_ctimespec.tv_sec;
  status->changed_nanoseconds = from->st_ctimespec.tv_nsec;
#endif
  status->inode = from->st_ino;
  status->device = (uint64_t)from->st_dev;
  status->mode = from->st_mode;
  status->owner = from->st_uid;
  status->group = from->st_gid;
  status->links = (uint32_t)from->st_nlink;
  return 0;
}

int csystem_resolve(const char *path, char *resolved) {
  return realpath(path, resolved) == NULL ? -errno : 0;
}

int csystem_path_status(const char *path, int follow, struct csystem_status *status) {
  struct stat found;
  return fill(follow ? stat(path, &found) : lstat(path, &found), &found, status);
}

int csystem_entry_status(int folder, const char *name, struct csystem_status *status) {
  struct stat found;
  return fill(fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW), &found, status);
}

int csystem_descriptor_status(int descriptor, struct csystem_status *status) {
  struct stat found;
  return fill(fstat(descriptor, &found), &found, status);
}

int csystem_is_readable_and_writable(const char *path) {
  return access(path, R_OK | W_OK) == 0;
}

int csystem_copy_attributes(const char *from, const char *to) {
#ifdef __linux__
  char names[1 << 16], value[1 << 16];
  ssize_t length = listxattr(from, names, sizeof names);
  if (length < 0) return errno == ENOTSUP ? 0 : -errno;
  int first = 0;
  for (const char *name = names; name < names + length; name += strlen(name) + 1) {
    ssize_t size = getxattr(from, name, value, sizeof value);
    if (size >= 0 && setxattr(to, name, value, (size_t)size, 0) == 0) continue;
    if (first == 0) first = -errno;
  }
  return first;
#else
  (void)from, (void)to;
  return -ENOTSUP;
#endif
}

int csystem_set_mode(const char *path, mode_t mode) { return result(chmod(path, mode)); }

int csystem_set_owner(const char *path, uid_t owner, gid_t group) {
  return result(chown(path, owner, group));
}

int csystem_lock(int descriptor) { return result(flock(descriptor, LOCK_EX | LOCK_NB)); }

int csystem_lock_region(int descriptor, int exclusive, off_t start, off_t length) {
  struct flock region = {.l_type = exclusive ? F_WRLCK : F_RDLCK,
                         .l_whence = SEEK_SET,
                         .l_start = start,
                         .l_len = length};
#ifdef F_OFD_SETLK
  return result(fcntl(descriptor, F_OFD_SETLK, &region));
#else
  return result(fcntl(descriptor, F_SETLK, &region));
#endif
}

int csystem_is_only_opening(int descriptor) {
#ifdef F_SETLEASE
  // An opening during the lease sends a signal; SIGURG is ignored by default.
  return fcntl(descriptor, F_SETSIG, SIGURG) == 0 &&
         fcntl(descriptor, F_SETLEASE, F_WRLCK) == 0 && fcntl(descriptor, F_SETLEASE, F_UNLCK) == 0;
#else
  return (void)descriptor, 0;
#endif
}

int csystem_lock_description(int descriptor) {
#ifdef F_OFD_SETLK
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  int code = result(fcntl(descriptor, F_OFD_SETLK, &lock));
  return code == -EACCES ? -EWOULDBLOCK : code;
#else
  (void)descriptor;
  return -ENOTSUP;
#endif
}

int csystem_free_space(const char *path, uint64_t *bytes) {
  struct statvfs found;
  if (statvfs(path, &found) < 0) return -errno;
  if (__builtin_mul_overflow((uint64_t)found.f_bavail, (uint64_t)found.f_frsize, bytes))
    *bytes = UINT64_MAX;
  return 0;
}

int csystem_is_network_file_system(const char *path) {
  struct statfs found;
  if (statfs(path, &found) < 0) return -errno;
#ifdef __linux__
  // statfs(2) lists the numbers; not all headers do.
  switch ((uint32_t)found.f_type) {
    case 0x00006969:  // nfs
    case 0x0000517B:  // smb
    case 0xFE534D42:  // smb2
    case 0xFF534D42:  // cifs
    case 0x65735546:  // fuse
    case 0x01021997:  // 9p
    case 0x00C36400:  // ceph
    case 0x5346414F:  // afs
    case 0x6B414653:  // kafs
    case 0x73757245:  // coda
    case 0x0BD00BD0:  // lustre
    case 0x47504653:  // gpfs
    case 0x7461636F:  // ocfs2
    case 0x01161970:  // gfs2
      return 1;
    default:
      return 0;
  }
#else
  return found.f_flags & MNT_LOCAL ? 0 : 1;
#endif
}

int csystem_message_pipe(int *reading, int *writing) {
  int ends[2];
#ifdef __linux__
  if (pipe2(ends, O_CLOEXEC) != 0) return -errno;
#else
  if (pipe(ends) != 0) return -errno;
  for (int i = 0; i < 2; i++) fcntl(ends[i], F_SETFD, FD_CLOEXEC);
#endif
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  *reading = ends[0];
  *writing = ends[1];
  return 0;
}

int csystem_terminal_size(int descriptor, int *columns, int *rows) {
  *columns = *rows = 0;
  if (!isatty(descriptor)) return -ENOTTY;
  struct winsize size;
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0) {
    *columns = size.ws_col;
    *rows = size.ws_row;
  }
  return 0;
}

int csystem_is_open(int descriptor) {
  struct pollfd poll_ = {.fd = descriptor, .events = 0};
  if (poll(&poll_, 1, 0) < 0) return 1;
  return (poll_.revents & (POLLERR | POLLHUP | POLLNVAL)) == 0;
}

int csystem_replace_process(const char *path, char *const arguments[]) {
  // The new program begins with the mask of this thread, and those of a pool block all signals.
  sigset_t none;
  sigemptyset(&none);
  int code = pthread_sigmask(SIG_SETMASK, &none, NULL);
  return code != 0 ? -code : result(execv(path, arguments));
}

int csystem_end_by_signal(int number) {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  if (signal(number, SIG_DFL) == SIG_ERR) return -errno;
  // To this thread, where nobody else can take it.
  int code = pthread_sigmask(SIG_UNBLOCK, &only, NULL);
  return code != 0 ? -code : result(raise(number));
}

// Sent to this thread: sent to the process, another one may take it while this one goes on.
int csystem_stop_here(void) { return result(raise(SIGSTOP)); }

int csystem_open_directory(const char *path, void **directory) {
  *directory = opendir(path);
  return *directory ? 0 : -errno;
}

int csystem_next_name(void *directory, const char **name) {
  errno = 0;
  struct dirent *entry = readdir(directory);
  if (!entry) return -errno;
  *name = entry->d_name;
  return 1;
}

void csystem_close_directory(void *directory) { closedir(directory); }

int64_t csystem_bytes_in(const char *path) {
  DIR *directory = opendir(path);
  if (!directory) return -errno;
  int64_t sum = 0;
  struct stat found;
  for (struct dirent *entry; (entry = readdir(directory));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (fstatat(dirfd(directory), entry->d_name, &found, 0) == 0) sum += found.st_size;
  }
  closedir(directory);
  return sum;
}

#ifndef GODWIT_COMMIT
#define GODWIT_COMMIT ""
#endif

const char *csystem_commit(void) { return GODWIT_COMMIT; }
