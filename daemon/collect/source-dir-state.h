/* What the files of the source `dir:` share: the directory, and each ring file in it. */
#ifndef COLLECT_SOURCE_DIR_STATE_H
#define COLLECT_SOURCE_DIR_STATE_H

#include "collector.h"
#include "log.h"

#define RING_FILE_RETRY_MIN (2 * NS_PER_MS) /* before an attach is tried again */

enum file_state { FILE_PENDING, FILE_LIVE, FILE_DRAIN, FILE_ENDING, FILE_REST };

struct ring_file {
	struct task task; /* first */
	struct source_dir *dir;
	struct ring_file *next;
	char *name; /* in the directory */
	int fd;
	dev_t dev;
	ino_t ino;
	struct memory_file memory;
	uint64_t bytes;	   /* its size at attach ... */
	uint64_t measured; /* ... and when it was last held against that */
	struct guest guest;
	struct stream stream;
	struct known_stream *known; /* what the archive has of it, until it is attached */
	enum file_state state;
	uint64_t retry;	    /* PENDING: the present interval */
	unsigned tries;	    /* PENDING: attaches that failed without a writer */
	uint64_t written;   /* ring.written when it last grew ... */
	uint64_t grew;	    /* ... and when that was */
	uint64_t ask_until; /* a writer closed it: until then each look asks who is left */
	bool orphan;	    /* not in the directory any more */
	bool unasked;	    /* whether a writer is left cannot be asked */
	bool refused;	    /* said so already */
	int64_t unfinished; /* DRAIN: the capture of this end that a kill came into; 0 = none */
	bool unlooked;	    /* REST: what the first look finds is what the archive has, as a capture's tail */
	bool seen;	    /* by the scan that is under way */
};

struct source_dir {
	struct source source; /* first */
	struct collector *collector;
	char *path;
	int fd, inotify;
	sd_event_source *events;
	struct task scan; /* see scan_run */
	struct task settle;
	uint64_t scanned;
	struct ring_file *files;
	size_t n_files, n_orphans;
	struct log_limit refusals;
	bool crowded; /* said that there are too many files */
};

/* ---- ring-file.c ---- */

/* A writer closed it, or may have. */
void ring_file_closed(struct ring_file *file, uint64_t now);
/* Make its next step at DUE (CLOCK_MONOTONIC ns). */
void ring_file_at(struct ring_file *file, uint64_t due);
/* The step that is due: the task's. */
void ring_file_run(struct task *task, uint64_t now);
/* Forget it: out of the directory's list and the schedule, and closed. */
void ring_file_free(struct ring_file *file);

#endif
