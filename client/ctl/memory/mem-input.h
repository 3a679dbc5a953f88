/*
 * A memory profile that a person names: a file or standard input, either compressed too, or a recording that the daemon has.  It can be gone through more than once, since some questions
 * (what lived at the peak?) need to know the whole before its parts.
 */
#ifndef CTL_MEM_INPUT_H
#define CTL_MEM_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include <mprof/profile.h>

#include "ctl.h"
#include "unpack.h"

struct mem_consumer {
	/* What all events are added to; then EVENT is not called.  Lent. */
	struct mprof_profile *profile;
	/* The next event, D lent for what belongs to it.  0, or a -errno that ends the reading and is handed through. */
	int (*event)(void *data, const struct mprof_mem *d, const struct mprof_mem_event *event);
	/* The next bytes, unpacked, before their events; as there.  NULL: they are not wanted. */
	int (*bytes)(void *data, const void *bytes, size_t len);
	void *data;
};

struct mem_input {
	const char *host; /* of recordings, as http_open(): set before it is opened */
	const char *name; /* for complaints; borrowed */
	int fd;
	bool owned;	     /* FD is ours to close */
	bool again;	     /* FD can be set back to its start */
	bool told;	     /* its damage was told */
	bool each;	     /* all recordings of it are used */
	uint64_t bytes;	     /* of the stream, unpacked */
	uint64_t file_bytes; /* of the file, 0 of what is none */
	uint64_t damages;
	uint64_t recording; /* of several that are joined: only this one, from 1; 0: all, one after the other */
	int refused;	    /* what the sink returned */
	struct mprof_mem *decoder;
	const struct mem_consumer *consumer;
};

/* Open what OPERAND names; TWICE: it will be gone through more than once.  Returns an exit code, having said why.  Close it in any case. */
int mem_input_open(struct mem_input *in, const char *operand, bool twice);
void mem_input_close(struct mem_input *in);

/* TEXT, an option's value or NULL, as the number of a recording.  Returns an exit code, having said why. */
int mem_input_recording(const char *text, uint64_t *recording);

/*
 * Go through it once; with STACKS those are decoded.  Returns an exit code, having said why: CTL_DAMAGED where damage was passed over, told
 * the first time; CTL_FAILED without a word where IN->refused says why.
 */
int mem_input_run(struct mem_input *in, const struct mem_consumer *consumer, bool stacks);

#endif
