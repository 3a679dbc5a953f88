/*
 * Shared by the files of a ring set: a directory in the ring directory, which is one guest with a
 * ring for each of its files (schema/directory.md).
 */
#ifndef FILES_RING_SET_H
#define FILES_RING_SET_H

#include <sys/inotify.h>

#include "source-dir-state.h"

#define SET_RINGS_MAX 64u

/* A file of the set. */
struct set_ring {
	struct task task; /* first member */
	struct ring_set *set;
	LIST_ENTRY(set_ring) entry;
	char *name;
	int fd;
	dev_t dev;
	ino_t ino;
	struct memory_file memory;
	struct stream stream;
	uint64_t bytes;	      /* size at attach, in bytes */
	uint64_t measured;    /* when the size was last checked, CLOCK_MONOTONIC ns */
	uint64_t retry;	      /* not attached: current time between attempts, ns */
	uint64_t written;     /* stream.ring.writer.written when the ring last grew */
	uint64_t grew;	      /* when it last grew, CLOCK_MONOTONIC ns */
	uint64_t check_until; /* end of the time in which each poll asks for writers, CLOCK_MONOTONIC ns */
	uint64_t asked;	      /* when it was last asked for writers, CLOCK_MONOTONIC ns */
	uint64_t seen;	      /* number of the last listing of the set that found the file */
	bool lease_denied;    /* no lease can be taken, so it is unknown whether a writer is left */
	bool closed;	      /* no writer is left */
	bool rests;	      /* the archive had the ring's end when the ring was attached */
	bool unpolled;	      /* the set rests, and the first poll will find only bytes that the archive has */
	bool withdrawn;	      /* the set no longer names this file */
	bool capture_begun;   /* withdrawn: its capture is being taken */
	bool spent;	      /* the ring stayed with a run that has ended; attach it again if it has a writer */
	bool refused;	      /* it was counted that the file is no ring */
};

enum set_state { SET_OPEN, SET_ENDING, SET_REST };

struct ring_set {
	struct task task; /* first member: list the directory */
	struct source_dir *dir;
	LIST_ENTRY(ring_set) entry;
	char *name;
	int fd;
	int watch; /* watch descriptor; -1 = none */
	dev_t dev;
	ino_t ino;
	struct guest guest;
	int64_t resumed;    /* run of the archive that the guest continues; 0 = none */
	int64_t unfinished; /* capture of this end that mprofd had begun when it was killed; 0 = none */
	enum set_state state;
	LIST_HEAD(set_rings, set_ring) rings;
	size_t n_rings;
	uint32_t next_number;  /* number of the next stream of the run */
	uint64_t listings;     /* number of listings begun */
	uint64_t closed;       /* when no ring was found to have a writer, CLOCK_MONOTONIC ns; 0 = some has */
	uint64_t listed;       /* when the last one began, CLOCK_MONOTONIC ns */
	uint64_t listing_cost; /* ns spent on the last listing */
	uint64_t seen;	       /* number of the last scan of the ring directory that found the set */
	bool orphan;	       /* the ring directory no longer names this set */
	bool left;	       /* files beyond the limit were left alone */
};

/* ---- ring-set.c: the directory, its run, and which files it has ---- */

/*
 * Add the directory NAME that ST describes, and schedule its first listing at NOW. A failure is
 * logged. Return false if there is no room for it.
 */
bool ring_set_add(struct source_dir *dir, const char *name, const struct stat *st, uint64_t now);
/* Return the set that is called NAME now, or NULL. */
struct ring_set *ring_set_find(const struct source_dir *dir, const char *name);
/* Return the set that has the watch descriptor WATCH, or NULL. */
struct ring_set *ring_set_watched(const struct source_dir *dir, int watch);
/* Note that the ring directory no longer names SET: its run ends, and then it is freed. */
void ring_set_orphan(struct ring_set *set, uint64_t now);
void ring_set_free(struct ring_set *set);
/* Handle an inotify event of SET. */
void ring_set_event(struct ring_set *set, const struct inotify_event *event);
/* Events were lost: list the files of SET again, and ask for the writers of each. */
void ring_set_recheck(struct ring_set *set, uint64_t now);
/* Compare the watch descriptors of two sets. For the tree of sets by watch. */
int ring_set_compare(const void *a, const void *b);

/* ---- for set-ring.c ---- */

/* List the files of SET again soon, because there is room for another one. */
void ring_set_list_soon(struct ring_set *set);

/*
 * Make the guest of SET ready for another ring. If its run has ended, detach the rings of that run,
 * and begin another one. Return 0 or -errno.
 */
int ring_set_guest(struct ring_set *set);
/* A ring of SET has changed: end the run if no ring of the set has a writer, or if it was removed. */
void ring_set_check(struct ring_set *set, uint64_t now);
/* A ring of SET has contributed to the capture of its end: end the run if all have. */
void ring_set_ending(struct ring_set *set, uint64_t now);
/* A ring of a set that rests was written: its run continues. */
void ring_set_wake(struct ring_set *set);

/* ---- set-ring.c: one ring of the set ---- */

/* Add the file NAME that ST describes. Return false if it cannot be opened. */
bool set_ring_add(struct ring_set *set, const char *name, const struct stat *st, uint64_t now);
void set_ring_free(struct set_ring *ring);
void set_ring_at(struct set_ring *ring, uint64_t due);
/* Note that a writer has closed the file, or may have. */
void set_ring_closed(struct set_ring *ring, uint64_t now);
/* The set no longer names the file. */
void set_ring_withdraw(struct set_ring *ring, uint64_t now);

#endif
