/* Merge several streams of one trace by their timestamps. */
#ifndef CTL_MERGE_H
#define CTL_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include <mprof/runtime.h>

#include "consumer.h"

#define MERGE_STREAMS_MAX CONSUMER_STREAMS_MAX

struct merge_stream;

struct merge {
	const struct consumer *consumer; /* borrowed */
	struct merge_stream *stream[MERGE_STREAMS_MAX];
	char *names[MERGE_STREAMS_MAX];
	unsigned int n;
	/*
	 * The guest of each stream: streams of one guest are rings of one program, and have the number of its
	 * first stream.
	 */
	uint32_t guest[MERGE_STREAMS_MAX];
	/* Files of packets are rings of one program. Set this before the first one is added. */
	bool one_guest;
	unsigned int packets; /* index of the first stream of packets of the present program plus 1; 0 = none yet */
	char *program;	      /* its name, which stands before those of its streams; owned; NULL = none */
	enum mprof_runtime_numbering numbering; /* of ring files of OCaml, as --runtime names it */
	uint64_t damages;
	/* For each stream, its size and its totals; valid after merge_run(). */
	uint64_t bytes[MERGE_STREAMS_MAX];
	struct mprof_totals totals[MERGE_STREAMS_MAX];
	uint64_t cut_bytes[MERGE_STREAMS_MAX]; /* for each stream, bytes that the daemon cut; set by the caller */
};

/*
 * Add a stream called NAME, or NAME and a number if another stream has that name. Its bytes are in the regular file FD. The merge takes
 * the ownership of FD, also on failure. Return 0, -errno, or -E2BIG if there are too many streams.
 */
int merge_add(struct merge *m, const char *name, int fd);
void merge_deinit(struct merge *m);
/* The streams that are added from now on are those of another program, called NAME. Return 0 or -ENOMEM. */
int merge_begin_program(struct merge *m, const char *name);

/*
 * Pass all events to CONSUMER, the oldest first. The events of one stream keep their order. Return
 * 0, -errno of reading, -ENOMEM, or the consumer's error.
 */
int merge_run(struct merge *m);

/*
 * Add each stream of the directory PATH, in the order of the file names. A directory without CTF
 * metadata is one of rings (schema/directory.md): they are rings of one program. Each ring file of OCaml
 * is another program. A directory without a stream is no error. Return 0 or -errno.
 */
int merge_add_directory(struct merge *m, const char *path);

/*
 * Add the streams of each directory in the directory PATH, in the order of their names: each is a program. Return as
 * merge_add_directory().
 */
int merge_add_tree(struct merge *m, const char *path);

/*
 * Return true if PATH, a file in an archive, may be a stream: the file is neither hidden nor
 * `metadata`.
 */
bool directory_wants(const char *path);

/*
 * Add the file FD as a stream called NAME if its first bytes are a packet, and as a stream for each ring
 * if it is a ring file of OCaml; otherwise close FD.
 * Return as merge_add(), or CTL_FAILED: a sentence said that the file has a large hole.
 */
int merge_add_file(struct merge *m, const char *name, int fd);

#endif
