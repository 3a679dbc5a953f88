/* Names for the addresses of a process: functions and lines, variables, files. */
#ifndef RUN_SYMBOLS_H
#define RUN_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct stack_copy;

/*
 * The modules of the process PID, read from its memory map. Return NULL without memory. The caller
 * frees the result. Files with debug information are read when an address needs them, also after
 * the process has gone; nothing is downloaded.
 */
struct symbols *symbols_new(pid_t pid);
/* Free S, which may be NULL. Return NULL. */
struct symbols *symbols_free(struct symbols *s);

/*
 * Write to TEXT (SIZE bytes) which code is at ADDRESS: `transfer() at bank.c:34`, as far as it is
 * known, or the file and an offset, or the address. If the compiler has put functions of the language's
 * library there into one of the program, it is the latter. Return whether the code is the program's own: no
 * library of a language, no interpreter, and none of mprof-run.
 */
bool symbols_code(struct symbols *s, uint64_t address, char *text, size_t size);
/*
 * Follow the stack COPY from the function of its registers to its callers, and write to TEXT (SIZE bytes)
 * the first code that is the program's own, as symbols_code() does. Return false if there is none, or if
 * the stack cannot be followed so far.
 */
bool symbols_caller(struct symbols *s, const struct stack_copy *copy, char *text, size_t size);
/*
 * Follow the stack COPY as symbols_caller() does. Write to CALLS, which has room for MOST, an address in each of its calls,
 * innermost first. Return their number, 0 if the stack cannot be followed.
 */
uint32_t symbols_calls(struct symbols *s, const struct stack_copy *copy, uint64_t *calls, uint32_t most);
/*
 * Return whether the code at ADDRESS is the C library's, and write to NAME (SIZE bytes) its function without leading
 * underscores and version; empty if it is unknown.
 */
bool symbols_library(struct symbols *s, uint64_t address, char *name, size_t size);
/* Return the minor version of the process's glibc, which is 2.36 for 36; 0 if it has none, or an unknown one. */
uint32_t symbols_glibc(struct symbols *s);

/*
 * Write to TEXT (SIZE bytes) the name of the variable that holds ADDRESS, or of the file and an
 * offset. Return false if ADDRESS is in no file: on the heap or a stack.
 */
bool symbols_data(struct symbols *s, uint64_t address, char *text, size_t size);

/*
 * Write the file `.modules` in the directory FD, a line for each module: first address, end, build id in hexadecimal or -, file. Return 0 or
 * -errno; there is no file then.
 */
int symbols_list(struct symbols *s, int fd);

#endif
