#ifndef C_SYSTEM_SHIMS_H
#define C_SYSTEM_SHIMS_H
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Functions return the result of the call, or -errno: `errno` never crosses into Swift.
/// A call that the platform lacks returns -ENOTSUP.

struct csystem_status {
  int64_t size;
  int64_t modified_seconds;
  int64_t modified_nanoseconds;
  int64_t changed_seconds;
  int64_t changed_nanoseconds;
  uint64_t inode;
  uint64_t device;
  uint32_t mode;
  uint32_t owner;
  uint32_t group;
  uint32_t links;
};

/// Ends this process with `signal` when its parent `parent` dies; -ESRCH if that already happened.
int csystem_die_with_parent(int signal, pid_t parent);
/// Raises the soft limit of open descriptors to the hard one and tells it.
int csystem_raise_descriptor_limit(uint64_t *limit);
int csystem_ignore_signal(int signal);
/// 1 when the process was told to ignore the signal, such as by nohup; 0 when it was not.
int csystem_ignores_signal(int signal);

/// Runs another program in the place of this one; returns only where that is not possible.
int csystem_replace_process(const char *path, char *const arguments[]);
/// Lets a signal have its default effect, and sends it to this process.
int csystem_end_by_signal(int signal);
/// Stops this process, as Ctrl-Z does; returns once it goes on.
int csystem_stop_here(void);

int csystem_rename_no_replace(const char *from, const char *to);
int csystem_rename(const char *from, const char *to);
// Gives a file a second name; links are not followed.
int csystem_link(const char *from, const char *to);
/// Opens a new file in a folder that has no name, and goes with its last descriptor unless it gets
/// one; -ENOTSUP or another error where the file system has no such files.
int csystem_open_unnamed(const char *folder);
/// Gives such a file a name that nothing has; needs /proc.
int csystem_name(int descriptor, const char *path);
int csystem_unlink(const char *path);
int csystem_remove_directory(const char *path);
int csystem_make_directory(const char *path, mode_t mode);
int csystem_sync(int descriptor);
/// Makes two connected sockets, which programs that are started do not inherit.
int csystem_make_sockets(int ends[2]);
/// Sends bytes; if the other end is closed it fails with EPIPE and raises no signal.
int64_t csystem_send(int socket, const void *bytes, uint64_t count);
/// Tells the other end that no more is sent.
int csystem_end_sending(int socket);
/// Returns when all that was written to the descriptor's file system is on the disk.
int csystem_sync_file_system(int descriptor);
/// Begins to write a part of a file to the disk, and waits for nothing.
int csystem_begin_writeback(int descriptor, int64_t offset, int64_t count);

/// Opens a file for writing past the page cache; -EINVAL or -ENOTSUP where that is not possible.
int csystem_open_direct(const char *path);
/// Opens a file for reading by a path below an open folder, and follows no link on the way; waits
/// for nobody, such as the writer of a pipe.
int csystem_open_beneath(int folder, const char *path);
/// Reads a whole regular file that is opened so; how many bytes it has, -EFBIG where there is no
/// room for them and one more, -EINVAL where it is no regular file.
int64_t csystem_read_beneath(int folder, const char *path, void *bytes, size_t room);
/// Waits until a descriptor takes bytes: 1, or 0 when so many milliseconds are over.
int csystem_wait_writable(int descriptor, int milliseconds);
/// Gives a file blocks up to a size, which becomes its size if it is smaller.
int csystem_reserve(int descriptor, int64_t size);

/// Calls a function on so many threads, this one among them, or on as many as can be started; all
/// have ended when it returns.
void csystem_on_threads(int threads, void (*work)(void *), void *context);
/// Starts a thread that calls a function; its number, to wait for its end with. 0, or an `errno`.
int csystem_thread_start(void *(*work)(void *), void *context, uintptr_t *number);
void csystem_thread_join(uintptr_t number);

/// Asks for memory in large pages; a hint.
int csystem_prefer_large_pages(void *memory, size_t size);

/// Has all threads allocate from one heap; a hint.
void csystem_share_heap(void);

/// Maps a new file without a name in a folder, all of whose blocks are there.
int csystem_map_scratch(const char *folder, size_t size, void **memory);
int csystem_unmap(void *memory, size_t size);

/// Whether a file in the folder could share the first blocks of `from`, which has 64 KiB or more; 1
/// or 0. What is made to find out has no name, and goes again.
int csystem_shares_blocks(int from, const char *folder);
/// Makes `to` share the blocks of `from`.
int csystem_clone(int from, int to);
/// Copies inside the kernel from and to the current offsets; 0 at the end of the file.
ssize_t csystem_copy_range(int from, int to, size_t count);

/// Writes the path without links, `.` and `..` into a buffer of PATH_MAX bytes.
int csystem_resolve(const char *path, char *resolved);

/// Whether this user may read and write a file that is there; 1 or 0.
int csystem_is_readable_and_writable(const char *path);

int csystem_path_status(const char *path, int follow, struct csystem_status *status);
/// That of what has a name in an open folder; no link is followed.
int csystem_entry_status(int folder, const char *name, struct csystem_status *status);
int csystem_descriptor_status(int descriptor, struct csystem_status *status);
/// Copies the times of the last change and the last access.
int csystem_copy_modified(const char *from, const char *to);
/// Sets the time of the last change, in nanoseconds since 1970.
int csystem_set_modified(const char *path, int64_t nanoseconds);
/// Copies the extended attributes, access lists among them; -errno of the first that cannot be.
int csystem_copy_attributes(const char *from, const char *to);
int csystem_set_mode(const char *path, mode_t mode);
/// -1 keeps an owner or a group.
int csystem_set_owner(const char *path, uid_t owner, gid_t group);

/// Takes the exclusive lock of the open file without waiting: -EWOULDBLOCK when it is held.
int csystem_lock(int descriptor);
/// The same by a lock of the open file description over the whole file.
int csystem_lock_description(int descriptor);

/// Takes a shared or exclusive lock of a run of bytes, which closing another descriptor of the file
/// does not release where the system has such locks; -EAGAIN or -EACCES when it is held.
int csystem_lock_region(int descriptor, int exclusive, off_t start, off_t length);
/// 1 when no other descriptor of the file is open, 0 when one is or the system does not tell. The
/// descriptor has to be open for writing.
int csystem_is_only_opening(int descriptor);

int csystem_free_space(const char *path, uint64_t *bytes);
/// 1 when a file below `path` is kept by another machine or by a program, 0 when by this kernel.
int csystem_is_network_file_system(const char *path);

/// A pipe that no child process inherits, and whose end for writing never waits.
int csystem_message_pipe(int *reading, int *writing);
/// The columns and rows of the terminal, 0 when it does not tell; -ENOTTY when it is none.
int csystem_terminal_size(int descriptor, int *columns, int *rows);

/// 0 when nobody can read any more what is written to a pipe or a terminal, 1 otherwise.
int csystem_is_open(int descriptor);

/// The commit that the build was made of, "" when nobody has told it.
const char *csystem_commit(void);

int csystem_open_directory(const char *path, void **directory);
/// 1 and a name valid until the next call, 0 at the end.
int csystem_next_name(void *directory, const char **name);
void csystem_close_directory(void *directory);
/// The sizes of all files of a folder together, without those below.
int64_t csystem_bytes_in(const char *path);


/// A function of SQLite's table of system calls.
typedef void (*csystem_database_call)(void);
/// The function that SQLite is to call instead of the system's function of this name; NULL for a
/// name that stays as it is.
///
/// Reads report a failed device by an error that SQLite does not take for damage of the database,
/// and `open` and `lstat` keep their errors for `csystem_database_open_error`.
csystem_database_call csystem_database_call_named(const char *name);
/// The error of the last file that a database could not open in this thread; 0 for none.
int csystem_database_open_error(void);
/// Sets that error.
void csystem_set_database_open_error(int error);

#endif
