/* Names for the addresses of a process: functions and lines, variables, files. */
#ifndef RUN_SYMBOLS_H
#define RUN_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

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
 * known, or the file and an offset, or the address.
 */
void symbols_code(struct symbols *s, uint64_t address, char *text, size_t size);
/*
 * Write to TEXT (SIZE bytes) the name of the variable that holds ADDRESS, or of the file and an
 * offset. Return false if ADDRESS is in no file: on the heap or a stack.
 */
bool symbols_data(struct symbols *s, uint64_t address, char *text, size_t size);

/* Write a line for each module to F: first address, end, build id in hexadecimal or -, file. */
void symbols_list(struct symbols *s, FILE *f);

#endif
