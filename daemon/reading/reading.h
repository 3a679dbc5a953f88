/*
 * The reader of one capture: a process of its own, without rights, that runs libmprof over the capture's
 * bytes. The bytes come from guests, and whatever they do to the reader ends with it.
 *
 * The reader gets its input from a file or a pipe, and writes one answer. Both ends are this program on one machine, so
 * numbers of the input have the machine's form.
 *
 *   input:   struct reading_head, then for each stream the number of its bytes (uint64_t) and the bytes, CTF
 *            packets in their order, each verified (mprof_tail_walk())
 *            The magic number says whether these are the ends of all streams of the capture.
 *   answer:  a reading (schema/reading.md)
 */
#ifndef READING_READING_H
#define READING_READING_H

#include <stdint.h>

#define READING_MAGIC	    0x6d70616eu
#define READING_MAGIC_CUT   0x6d707063u /* a stream, or what was behind these bytes of one, is missing */
#define READING_STREAMS_MAX 256u

struct reading_head {
	uint32_t magic;
	uint32_t streams; /* at most READING_STREAMS_MAX */
};

/*
 * Read the capture on descriptor IN, and write the answer to OUT. Return 0, or -errno if the answer could not
 * be written. Call it in a process that sandbox_enter() has locked.
 */
int reading_run(int in, int out);

#endif
