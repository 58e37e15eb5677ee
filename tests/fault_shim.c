/* Makes the N-th change of the file system below a directory fail, whoever makes it: Python, Arrow or C++.
 *
 * For LD_PRELOAD on Linux. Unarmed it only passes calls on. fault_arm() says where, at which call, and how. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum mode { ONCE, FOR_EVER, SHORT, SHORT_THEN_FOR_EVER };
enum verdict { GO_ON, FAIL, CUT };

static char directory[PATH_MAX];
static size_t directory_length;
static atomic_long calls, faults;
static atomic_int armed;
static long failing_call;
static int failing_errno, failing_mode;

/* Counts calls below `below` from now on; the `at`-th, from 1, fails with `error`.
 *
 * Mode ONCE: it alone. FOR_EVER: all from it on, but for removals where the disk is full. SHORT: the first write from
 * it on writes half of what it should, without an error. SHORT_THEN_FOR_EVER: so, and all later calls fail. */
void fault_arm(const char *below, long at, int error, int mode) {
    directory_length = strlen(below);
    memcpy(directory, below, directory_length + 1);
    failing_call = at;
    failing_errno = error;
    failing_mode = mode;
    atomic_store(&calls, 0);
    atomic_store(&faults, 0);
    atomic_store(&armed, 1);
}

/* Calls that were counted, and those of them that failed or were cut short. */
long fault_calls(void) { return atomic_load(&calls); }
long fault_faults(void) { return atomic_load(&faults); }

static int below_directory(const char *path) {
    return strncmp(path, directory, directory_length) == 0 && path[directory_length] == '/';
}

static int descriptor_path(int handle, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return 1;
}

static int concerns_descriptor(int handle) {
    if (!atomic_load(&armed)) return 0;
    char path[PATH_MAX];
    int kept = errno;
    int concerned = descriptor_path(handle, path) && below_directory(path);
    errno = kept;
    return concerned;
}

static int concerns_path(int base, const char *path) {
    if (!atomic_load(&armed) || path == NULL) return 0;
    if (path[0] == '/') return below_directory(path);
    char found[PATH_MAX];
    int kept = errno;
    int known = base == AT_FDCWD ? getcwd(found, sizeof found) != NULL : descriptor_path(base, found);
    strncat(found, "/", known ? sizeof found - strlen(found) - 1 : 0);
    errno = kept;
    return known && below_directory(found);
}

/* What becomes of a call that concerns the directory; sets errno where it is to fail. */
static enum verdict judge(int writes, int removes) {
    long number = atomic_fetch_add(&calls, 1) + 1;
    int shortens = failing_mode == SHORT || failing_mode == SHORT_THEN_FOR_EVER;
    if (number < failing_call || (removes && failing_errno == ENOSPC && number > failing_call)) return GO_ON;
    if (shortens && atomic_load(&faults) == 0) {
        if (!writes) return GO_ON;
        atomic_fetch_add(&faults, 1);
        return CUT;
    }
    if (failing_mode == SHORT || (failing_mode == ONCE && number > failing_call)) return GO_ON;
    atomic_fetch_add(&faults, 1);
    errno = failing_errno;
    return FAIL;
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define GUARDED(concerned, removes) \
    if ((concerned) && judge(0, removes) == FAIL) return -1

/* Writes: `size` becomes half where the call is to be cut short. */
#define GUARDED_WRITE(concerned, size) \
    if (concerned) { \
        enum verdict verdict = judge(1, 0); \
        if (verdict == FAIL) return -1; \
        if (verdict == CUT && (size) > 1) (size) /= 2; \
    }

ssize_t write(int handle, const void *data, size_t size) {
    REAL(write);
    GUARDED_WRITE(concerns_descriptor(handle), size)
    return real(handle, data, size);
}

ssize_t pwrite(int handle, const void *data, size_t size, off_t offset) {
    REAL(pwrite);
    GUARDED_WRITE(concerns_descriptor(handle), size)
    return real(handle, data, size, offset);
}

ssize_t pwrite64(int handle, const void *data, size_t size, off64_t offset) {
    REAL(pwrite64);
    GUARDED_WRITE(concerns_descriptor(handle), size)
    return real(handle, data, size, offset);
}

ssize_t writev(int handle, const struct iovec *pieces, int count) {
    REAL(writev);
    GUARDED_WRITE(concerns_descriptor(handle), count)
    return real(handle, pieces, count);
}

ssize_t sendfile(int to, int from, off_t *offset, size_t size) {
    REAL(sendfile);
    GUARDED_WRITE(concerns_descriptor(to), size)
    return real(to, from, offset, size);
}

ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *offset, size_t size, unsigned flags) {
    REAL(copy_file_range);
    GUARDED_WRITE(concerns_descriptor(to), size)
    return real(from, at, to, offset, size, flags);
}

int fsync(int handle) {
    REAL(fsync);
    GUARDED(concerns_descriptor(handle), 0);
    return real(handle);
}

int fdatasync(int handle) {
    REAL(fdatasync);
    GUARDED(concerns_descriptor(handle), 0);
    return real(handle);
}

int ftruncate(int handle, off_t size) {
    REAL(ftruncate);
    GUARDED(concerns_descriptor(handle), 0);
    return real(handle, size);
}

int ftruncate64(int handle, off64_t size) {
    REAL(ftruncate64);
    GUARDED(concerns_descriptor(handle), 0);
    return real(handle, size);
}

int truncate(const char *path, off_t size) {
    REAL(truncate);
    GUARDED(concerns_path(AT_FDCWD, path), 0);
    return real(path, size);
}

/* Network file systems tell of a full disk only here. The descriptor is gone all the same. */
int close(int handle) {
    REAL(close);
    int flags = atomic_load(&armed) ? fcntl(handle, F_GETFL) : -1;
    int written = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && concerns_descriptor(handle);
    int closed = real(handle);
    GUARDED(written, 1);
    return closed;
}

#define OPEN(name, base, ...) \
    REAL(name); \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    } \
    GUARDED((flags & (O_CREAT | O_TRUNC)) && concerns_path(base, path), 0); \
    return real(__VA_ARGS__, mode)

int open(const char *path, int flags, ...) { OPEN(open, AT_FDCWD, path, flags); }
int open64(const char *path, int flags, ...) { OPEN(open64, AT_FDCWD, path, flags); }
int openat(int base, const char *path, int flags, ...) { OPEN(openat, base, base, path, flags); }
int openat64(int base, const char *path, int flags, ...) { OPEN(openat64, base, base, path, flags); }

FILE *fopen(const char *path, const char *how) {
    REAL(fopen);
    if (how[0] != 'r' && concerns_path(AT_FDCWD, path) && judge(0, 0) == FAIL) return NULL;
    return real(path, how);
}

FILE *fopen64(const char *path, const char *how) {
    REAL(fopen64);
    if (how[0] != 'r' && concerns_path(AT_FDCWD, path) && judge(0, 0) == FAIL) return NULL;
    return real(path, how);
}

int rename(const char *from, const char *to) {
    REAL(rename);
    GUARDED(concerns_path(AT_FDCWD, to), 0);
    return real(from, to);
}

int renameat(int from_base, const char *from, int base, const char *to) {
    REAL(renameat);
    GUARDED(concerns_path(base, to), 0);
    return real(from_base, from, base, to);
}

int renameat2(int from_base, const char *from, int base, const char *to, unsigned flags) {
    REAL(renameat2);
    GUARDED(concerns_path(base, to), 0);
    return real(from_base, from, base, to, flags);
}

int link(const char *from, const char *to) {
    REAL(link);
    GUARDED(concerns_path(AT_FDCWD, to), 0);
    return real(from, to);
}

int linkat(int from_base, const char *from, int base, const char *to, int flags) {
    REAL(linkat);
    GUARDED(concerns_path(base, to), 0);
    return real(from_base, from, base, to, flags);
}

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    GUARDED(concerns_path(AT_FDCWD, path), 0);
    return real(path, mode);
}

int mkdirat(int base, const char *path, mode_t mode) {
    REAL(mkdirat);
    GUARDED(concerns_path(base, path), 0);
    return real(base, path, mode);
}

int unlink(const char *path) {
    REAL(unlink);
    GUARDED(concerns_path(AT_FDCWD, path), 1);
    return real(path);
}

int unlinkat(int base, const char *path, int flags) {
    REAL(unlinkat);
    GUARDED(concerns_path(base, path), 1);
    return real(base, path, flags);
}

int rmdir(const char *path) {
    REAL(rmdir);
    GUARDED(concerns_path(AT_FDCWD, path), 1);
    return real(path);
}
