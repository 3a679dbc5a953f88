/* The recorder (mprof_stubs.c) for the primitives of other publishers. */
#ifndef MPROF_STUBS_H
#define MPROF_STUBS_H

#include <stdbool.h>

/*
 * Called in the middle of recording when the recorder has finished a packet: it allocates nothing in
 * OCaml's heap. NULL: nobody waits for that.
 */
extern void (*mprof_ocaml_kick)(void);

/* Return whether the running domain records into the ring at MEMORY. */
bool mprof_ocaml_records(const void *memory);

#endif
