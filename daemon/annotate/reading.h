/*
 * The reader of one capture: a process of its own, without rights, that runs libmprof over the capture's
 * bytes. The bytes come from guests, and whatever they do to the reader ends with it.
 *
 * The reader gets its input as a file that is complete, and writes one answer. Both ends are this
 * program on one machine, so numbers have the machine's form.
 *
 *   input:   struct reading_head, then for each stream the number of its bytes (uint64_t) and the bytes, CTF
 *            packets in their order
 *   answer:  struct reading_answer, then its texts, one behind the other
 */
#ifndef ANNOTATE_READING_H
#define ANNOTATE_READING_H

#include <stdint.h>

#define READING_MAGIC	    0x6d70616eu
#define READING_STREAMS_MAX 256u
/* Bytes of the texts of an answer, as the hub takes them (fleet.annotate() in schema/fleet). */
#define READING_CAUSE_MAX    1023u
#define READING_SENTENCE_MAX 1024u
#define READING_LAST_MAX     4096u

struct reading_head {
	uint32_t magic;
	uint32_t streams; /* at most READING_STREAMS_MAX */
};

/* CAUSE is the text of struct mprof_cause; without a cause it has no bytes. With FAILED, SENTENCE says why. */
struct reading_answer {
	uint32_t magic;
	uint32_t failed;		/* 0 or 1 */
	uint32_t cause, sentence, last; /* bytes of the texts, without a NUL */
};

/*
 * Read the capture on descriptor IN, and write the answer to OUT. Return 0, or -errno if the answer could not
 * be written. Call it in a process that sandbox_enter() has locked.
 */
int reading_run(int in, int out);

#endif
