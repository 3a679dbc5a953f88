/*
 * Read a memory profile: a file or standard input, also compressed, or a recording of the daemon.
 * The input can be read more than once, because some questions need the whole profile first: to
 * list the objects that lived at the peak, the time of the peak must be known.
 */
#ifndef CTL_MEM_INPUT_H
#define CTL_MEM_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include <mprof/profile.h>

#include "ctl.h"
#include "unpack.h"

struct mem_consumer {
	/* If set, all events are added to this profile and event() is not called. Borrowed. */
	struct mprof_profile *profile;
	/*
	 * Take the next event. D is valid during the call, for the names and stacks of the event.
	 * Return 0, or -errno to stop reading; mem_input_run() stores the error in REFUSED.
	 */
	int (*event)(void *context, const struct mprof_mem *d, const struct mprof_mem_event *event);
	/*
	 * Take the next LEN unpacked bytes, before the events in them. Return as event(). May be
	 * NULL.
	 */
	int (*bytes)(void *context, const void *bytes, size_t len);
	void *context;
};

struct mem_input {
	struct hosts hosts; /* those of the command line; set it before mem_input_open() */
	const char *name;   /* for messages; borrowed */
	int fd;
	bool owned;	     /* mem_input_close() must close FD */
	bool again;	     /* FD can be set back to its start for another reading */
	bool reported;	     /* the damage was reported by an earlier reading */
	bool each;	     /* the caller uses all recordings of a stream that joins several */
	uint64_t bytes;	     /* unpacked size of the input */
	uint64_t file_bytes; /* size of the file; 0 if the input is no file */
	uint64_t damages;
	/*
	 * A stream can join several recordings one after the other. This is the number of the only
	 * one to read, from 1; 0 = all.
	 */
	uint64_t recording;
	int refused;  /* the -errno that a function of the consumer returned */
	bool foreign; /* the input is a file of another kind, which was reported */
	struct mprof_mem *decoder;
	const struct mem_consumer *consumer;
};

/*
 * Open the profile OPERAND. TWICE is true if it will be read more than once. Return an exit code.
 * The caller closes IN in any case.
 */
int mem_input_open(struct mem_input *in, const char *operand, bool twice);
void mem_input_close(struct mem_input *in);

/*
 * Parse TEXT, the value of the option --recording or NULL, as the number of a recording. Return an
 * exit code.
 */
int mem_input_recording(const char *text, uint64_t *recording);

/*
 * Read the profile once, from its start. With STACKS call stacks are decoded, too. Only the first
 * reading reports damage. Return an exit code, CTL_DAMAGED if damage was skipped. If IN->refused is
 * set, return CTL_FAILED without a message.
 */
int mem_input_run(struct mem_input *in, const struct mem_consumer *consumer, bool stacks);

#endif
