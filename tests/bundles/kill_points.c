/* Kills this process at a chosen one of the calls by which it changes files of a store.

   Preloaded, for DuckDB makes these calls itself. Calls are numbered from 1, those of all threads together;
   phase 0 is before a call, 1 within (of a write a part is done, in whole pages where it has several), 2 after. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { PAGE = 4096 };
static long calls, chosen;
static int chosen_phase;

void kill_at(long number, int phase) { chosen = number; chosen_phase = phase; }
long calls_made(void) { return calls; }

static int is_store(const char *path) { return strstr(path, ".duckdb") != 0; }

static int is_of_store(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_store(path);
}

static long next_call(void) { return __sync_add_and_fetch(&calls, 1); }
static int is_end(long number, int phase) { return number == chosen && phase == chosen_phase; }

static void end_if(long number, int phase) {
    if (!is_end(number, phase)) return;
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static size_t part_of(size_t length, long number) {
    size_t pages = length / PAGE;
    return pages > 1 ? PAGE * (1 + (size_t)number % (pages - 1)) : length / 2;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* A call that is done or not, within being before. */
#define WHOLE(type, name, parameters, is_ours, ...)      \
    type name parameters {                               \
        if (!(is_ours)) return REAL(name)(__VA_ARGS__);  \
        long number = next_call();                       \
        end_if(number, 0);                               \
        end_if(number, 1);                               \
        type result = REAL(name)(__VA_ARGS__);           \
        end_if(number, 2);                               \
        return result;                                   \
    }

WHOLE(int, fsync, (int file), is_of_store(file), file)
WHOLE(int, fdatasync, (int file), is_of_store(file), file)
WHOLE(int, ftruncate64, (int file, off64_t length), is_of_store(file), file, length)
WHOLE(int, ftruncate, (int file, off_t length), is_of_store(file), file, length)
WHOLE(int, unlink, (const char *path), is_store(path), path)
WHOLE(int, rename, (const char *from, const char *to), is_store(from), from, to)

ssize_t pwrite64(int file, const void *data, size_t length, off64_t place) {
    if (!is_of_store(file)) return REAL(pwrite64)(file, data, length, place);
    long number = next_call();
    end_if(number, 0);
    if (is_end(number, 1)) REAL(pwrite64)(file, data, part_of(length, number), place);
    end_if(number, 1);
    ssize_t result = REAL(pwrite64)(file, data, length, place);
    end_if(number, 2);
    return result;
}

ssize_t pwrite(int file, const void *data, size_t length, off_t place) {
    return pwrite64(file, data, length, place);
}

ssize_t write(int file, const void *data, size_t length) {
    if (!is_of_store(file)) return REAL(write)(file, data, length);
    long number = next_call();
    end_if(number, 0);
    if (is_end(number, 1)) REAL(write)(file, data, part_of(length, number));
    end_if(number, 1);
    ssize_t result = REAL(write)(file, data, length);
    end_if(number, 2);
    return result;
}
