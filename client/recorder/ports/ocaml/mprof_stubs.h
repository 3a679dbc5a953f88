/* The recorder (mprof_stubs.c) for the primitives of other publishers and of platforms. */
#ifndef MPROF_STUBS_H
#define MPROF_STUBS_H

#include <stdbool.h>

#include <caml/mlvalues.h>

struct mprof_recorder;

/*
 * Called in the middle of recording when the recorder has finished a packet: it allocates nothing in
 * OCaml's heap. NULL: nobody waits for that.
 */
extern void (*mprof_ocaml_kick)(void);

/* Return whether the running domain records into the ring at MEMORY. */
bool mprof_ocaml_records(const void *memory);

/* Return the recorder, or NULL if the running domain does not record. */
struct mprof_recorder *mprof_ocaml_recorder(void);

/* Call this after each event that was recorded with mprof_ocaml_recorder(). */
void mprof_ocaml_recorded(void);

/* The primitives of note_hiatus and note_resume (mProf.ml): unit -> unit. They record nothing if the domain does not. */
value mprof_ocaml_hiatus(value unit);
value mprof_ocaml_resume(value unit);

#endif
