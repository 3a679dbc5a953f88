/*
 * Read a memory profile: a file or standard input, also compressed, or a recording of the daemon.
 * It can be read more than once, since some questions (what lived at the peak?) need the whole
 * before its parts.
 */
#ifndef CTL_MEM_INPUT_H
#define CTL_MEM_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include <mprof/profile.h>

#include "ctl.h"
#include "unpack.h"

struct mem_consumer {
	/* Adds all events to this profile instead of calling event(). Lent. */
	struct mprof_profile *profile;
	/*
	 * Take the next event. D is lent for its parts. Return 0, or -errno to stop reading; the
	 * reader returns that error.
	 */
	int (*event)(void *context, const struct mprof_mem *d, const struct mprof_mem_event *event);
	/* Take the next unpacked bytes, before their events. Return as event(). May be NULL. */
	int (*bytes)(void *context, const void *bytes, size_t len);
	void *context;
};

struct mem_input {
	const char *host; /* for recordings, as in http_open(); set it before opening */
	const char *name; /* for messages; borrowed */
	int fd;
	bool owned;	     /* FD must be closed */
	bool again;	     /* FD can be set back to its start */
	bool reported;	     /* its damage was reported */
	bool each;	     /* the caller uses all recordings */
	uint64_t bytes;	     /* unpacked size of the stream */
	uint64_t file_bytes; /* size of the file; 0 if it is no file */
	uint64_t damages;
	/*
	 * Number of the only recording to read, from 1; 0 = all that are joined, one after the
	 * other.
	 */
	uint64_t recording;
	int refused; /* the error that the consumer returned */
	struct mprof_mem *decoder;
	const struct mem_consumer *consumer;
};

/*
 * Open the profile OPERAND. TWICE: it will be read more than once. Return an exit code. The caller
 * closes IN in any case.
 */
int mem_input_open(struct mem_input *in, const char *operand, bool twice);
void mem_input_close(struct mem_input *in);

/* Parse the number of a recording in TEXT, an option's value or NULL. Return an exit code. */
int mem_input_recording(const char *text, uint64_t *recording);

/*
 * Read the profile once. STACKS: decode stacks, too. Return an exit code, CTL_DAMAGED if damage was
 * skipped; only the first reading reports damage. If IN->refused is set, return CTL_FAILED without
 * a message.
 */
int mem_input_run(struct mem_input *in, const struct mem_consumer *consumer, bool stacks);

#endif
