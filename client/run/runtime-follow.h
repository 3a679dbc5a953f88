/*
 * The file in which an OCaml 5 program records its runtime events: it is followed while the program
 * runs, and read to its end when the program has gone. schema/runtime-events.md describes it.
 */
#ifndef RUN_RUNTIME_H
#define RUN_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct domain_rings;
struct runtime;

/*
 * Follow the file at PATH, an absolute path as the process PID of USER sees it, which the process has
 * not made yet: a file that is there now was left by another process, and is not followed. If PATH
 * lies in the directory OWN, which may be NULL, it is the keeper's, and the file is removed at the
 * end. The events go to RINGS, which is copied; its place is valid until runtime_end(). If there are no
 * rings, nothing is read. Return NULL without memory, or if the directory of PATH cannot be opened.
 */
struct runtime *runtime_new(pid_t pid, uid_t user, const char *path, const char *own, const struct domain_rings *rings);
/* Record what the program has written since the last step. */
void runtime_step(struct runtime *r);
/* Return the time until the next step, ms; INT_MAX if no step is needed. */
int runtime_wait(const struct runtime *r);
/* Return the number of events and of damaged places that are in no ring. */
uint64_t runtime_dropped(const struct runtime *r);
/* The program has gone: record the rest, end the rings, remove the file, and free R, which may be NULL. */
void runtime_end(struct runtime *r);

#endif
