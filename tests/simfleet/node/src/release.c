/*
 * The kernel that this machine says it runs: uname(2) answers for the host, so its release is taken from /proc.
 * A host whose kernel has no modules has no /proc/modules to mount over: whoever opens it gets the machine's own list.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static void line_of(const char *path, char *field, size_t size)
{
    char text[256];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got;

    if (file < 0)
        return;
    got = read(file, text, sizeof(text) - 1);
    close(file);
    if (got <= 0)
        return;
    text[got] = 0;
    text[strcspn(text, "\n")] = 0;
    strncpy(field, text, size - 1);
    field[size - 1] = 0;
}

int uname(struct utsname *name)
{
    int result = syscall(SYS_uname, name);

    if (result == 0) {
        line_of("/proc/sys/kernel/osrelease", name->release, sizeof(name->release));
        line_of("/proc/sys/kernel/version", name->version, sizeof(name->version));
    }
    return result;
}

static const char *place_of(const char *path)
{
    if (path && strcmp(path, "/proc/modules") == 0 && syscall(SYS_access, path, F_OK) != 0)
        return "/run/hwctl/modules";
    return path;
}

static int open_mode(int flags, va_list rest)
{
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, int) : 0;
}

#define OPEN(name)                                                             \
    int name(const char *path, int flags, ...)                                 \
    {                                                                          \
        va_list rest;                                                          \
        int mode;                                                              \
                                                                               \
        va_start(rest, flags);                                                 \
        mode = open_mode(flags, rest);                                         \
        va_end(rest);                                                          \
        return syscall(SYS_openat, AT_FDCWD, place_of(path), flags, mode);     \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                           \
    int name(int folder, const char *path, int flags, ...)                     \
    {                                                                          \
        va_list rest;                                                          \
        int mode;                                                              \
                                                                               \
        va_start(rest, flags);                                                 \
        mode = open_mode(flags, rest);                                         \
        va_end(rest);                                                          \
        return syscall(SYS_openat, folder, place_of(path), flags, mode);       \
    }
OPENAT(openat)
OPENAT(openat64)

#define FOPEN(name)                                                            \
    FILE *name(const char *path, const char *mode)                             \
    {                                                                          \
        FILE *(*real)(const char *, const char *) = dlsym(RTLD_NEXT, #name);   \
        return real(place_of(path), mode);                                     \
    }
FOPEN(fopen)
FOPEN(fopen64)
