/*
 * How a tracer (mprof/tracer.h) gets the memory of its rings, and shows it to a reader.
 *
 * A publisher is four functions. mprof/publisher.h has one for files, mprof/publisher-xen.h one for
 * Linux guests of Xen; a program for a platform of its own supplies its own. A tracer calls share() and
 * say() in the thread that needs a ring, which may be in a signal handler: they use no malloc and no
 * lock. For each ring the order is share(), say(), any number of kick(), withdraw().
 */
#ifndef MPROF_PUBLISHER_H
#define MPROF_PUBLISHER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPROF_PUBLISHER_RINGS_MAX 64u
#define MPROF_PUBLISHER_NAME_SIZE 8u /* bytes of the name of a ring, NUL included */

/* Store the name of ring INDEX (below MPROF_PUBLISHER_RINGS_MAX), as the tracer gives it to say(). */
static inline void mprof_publisher_name(char name[MPROF_PUBLISHER_NAME_SIZE], unsigned index)
{
	static const char zero[MPROF_PUBLISHER_NAME_SIZE] = "ring-00";

	for (unsigned i = 0; i < MPROF_PUBLISHER_NAME_SIZE; i++)
		name[i] = zero[i];
	name[5] = (char)('0' + index / 10);
	name[6] = (char)('0' + index % 10);
}

struct mprof_publisher {
	/*
	 * Make memory for ring INDEX (below MPROF_PUBLISHER_RINGS_MAX) of BYTES bytes, zeroed and
	 * aligned to 8 bytes, which a child of fork() does not inherit. Return 0, with the memory in
	 * *MEMORY, or -errno. The memory is the publisher's, and valid until withdraw() returns.
	 */
	int (*share)(void *context, unsigned index, size_t bytes, void **memory);
	/*
	 * Ring INDEX is initialised: let readers find it, by a key or a name, now or soon. NAME is its
	 * name for people, valid during the call. Return 0 or -errno; the tracer then calls withdraw().
	 */
	int (*say)(void *context, unsigned index, const char *name);
	/* Ring INDEX has finished a packet. NULL: no reader waits for that. Called while recording. */
	void (*kick)(void *context, unsigned index);
	/* Nobody writes to ring INDEX any more: take back what say() and share() did. */
	void (*withdraw)(void *context, unsigned index);
	/*
	 * The process is a child of fork(): forget the rings without a trace for the parent's
	 * readers, and be ready to share rings of this process. Return 0 or -errno: the tracer is off.
	 */
	int (*forked)(void *context);
	void *context; /* first argument of all functions; valid until mprof_tracer_stop() returns */
};

/*
 * The publisher of ring files: each ring is a file in the directory DIRECTORY/NAME.PID/, which
 * `mprofd --source dir:DIRECTORY` takes for one guest (schema/directory.md). The caller owns the
 * struct, which keeps its address until mprof_publisher_files_close().
 */
struct mprof_publisher_files {
	int parent;	 /* descriptor of DIRECTORY */
	int directory;	 /* descriptor of NAME.PID; -1 = none */
	char name[64];	 /* NAME */
	char folder[80]; /* NAME.PID */
	struct {
		void *memory;
		size_t bytes;
	} ring[MPROF_PUBLISHER_RINGS_MAX];
};

/*
 * Open DIRECTORY, which exists, make NAME.PID in it, and fill *P with functions that use F. NAME has
 * 1 to 63 bytes and no slash, and does not begin with a dot. An existing directory of that name is used
 * again: it is of an earlier process with the same number. Return 0 or -errno.
 *
 * withdraw() unmaps a ring and leaves its file. mprof_publisher_files_close() removes the directory
 * with all its files if REMOVE is not 0, as a program does that ends in order: mprofd then takes the
 * rings as they are at that moment.
 */
int mprof_publisher_files_open(struct mprof_publisher_files *f, struct mprof_publisher *p, const char *directory,
			       const char *name);
void mprof_publisher_files_close(struct mprof_publisher_files *f, int remove);

#ifdef __cplusplus
}
#endif

#endif
