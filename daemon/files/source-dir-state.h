/* Shared by the files of the source `dir:`: the directory, and each ring file in it. */
#ifndef FILES_SOURCE_DIR_STATE_H
#define FILES_SOURCE_DIR_STATE_H

#include <dirent.h>
#include <sys/queue.h>

#include "collector.h"
#include "log.h"

#define RING_FILE_RETRY_MIN (2 * NS_PER_MS) /* least interval between attempts to attach */

enum file_state { FILE_PENDING, FILE_LIVE, FILE_DRAIN, FILE_ENDING, FILE_REST };

struct ring_file {
	struct task task; /* first */
	struct source_dir *dir;
	LIST_ENTRY(ring_file) entry;	 /* in the list of all files */
	TAILQ_ENTRY(ring_file) departed; /* in the list of orphans */
	char *name;			 /* name in the directory */
	int fd;
	dev_t dev;
	ino_t ino;
	struct memory_file memory;
	uint64_t bytes;	   /* size at attach */
	uint64_t measured; /* when the size was last checked, CLOCK_MONOTONIC ns */
	struct guest guest;
	struct stream stream;
	struct resume_entry *resume; /* what the archive has of it; NULL once it is attached */
	enum file_state state;
	uint64_t retry;	      /* PENDING: present interval of attempts */
	unsigned tries;	      /* PENDING: failed attempts without a writer */
	uint64_t written;     /* bytes written when the ring last grew */
	uint64_t grew;	      /* when it last grew, CLOCK_MONOTONIC ns */
	uint64_t check_until; /* a writer closed it: until then each poll asks whether another has it open */
	bool orphan;	      /* no longer in the directory */
	bool lease_denied;    /* the system cannot tell whether a writer has it open */
	bool refused;	      /* the refusal was logged */
	int64_t unfinished;   /* DRAIN: capture of this end that a kill interrupted; 0 = none */
	bool unpolled;	      /* REST: the archive has the bytes that the first poll finds, as a capture's tail */
	uint64_t seen;	      /* number of the last scan that found it */
};

/* A name that an inotify event brought. Its file is looked up soon. */
struct changed_name {
	TAILQ_ENTRY(changed_name) entry;
	char name[];
};

struct source_dir {
	struct source source; /* first */
	struct collector *collector;
	char *path;
	char *shown; /* PATH for sentences: printable and short */
	int fd;	     /* directory that PATH names; -1 while absent */
	dev_t dev;   /* device of that directory */
	ino_t ino;
	int inotify;
	int watch, parent_watch; /* watch descriptors; -1 = none */
	sd_event_source *events;
	struct task compare, scan, lookup, settle;
	uint64_t compared; /* CLOCK_MONOTONIC ns of the last comparison of PATH with FD */

	LIST_HEAD(ring_files, ring_file) files;		 /* all files, orphans included */
	TAILQ_HEAD(ring_orphans, ring_file) orphans;	 /* oldest first */
	void *names;					 /* tsearch tree of the files that are no orphans, by name */
	TAILQ_HEAD(changed_names, changed_name) changed; /* names to be looked up */
	size_t n_files, n_orphans, n_changed;		 /* n_files without orphans */
	size_t left;					 /* files beyond the limit at the last scan */

	DIR *listing;	    /* of the running scan; NULL = none runs */
	uint64_t scans;	    /* scans begun */
	uint64_t scanned;   /* CLOCK_MONOTONIC ns when the last scan began */
	uint64_t scan_cost; /* ns spent on the running scan */
	size_t scan_left;   /* files beyond the limit found by the running scan */
	bool again, hasty;  /* another scan is wanted after this one; soon */

	uint64_t lookups, replacements; /* counted for the metrics */
	struct log_limit refusals, changes;
	char trouble[512]; /* why rings may not be found now; "" = nothing is wrong */
};

/* ---- source-dir-scan.c: what lies in the directory ---- */

/* Return the file that has NAME now, or NULL. */
struct ring_file *dir_file(const struct source_dir *dir, const char *name);
/* Look up NAME soon, because something happened to it. The name is copied. */
void dir_changed(struct source_dir *dir, const char *name);
/*
 * Read the whole directory: soon if HASTY, otherwise within about a second. Scans take a twentieth
 * of a core at most.
 */
void dir_scan(struct source_dir *dir, bool hasty);
/* Read the whole directory before this returns. */
void dir_scan_now(struct source_dir *dir, uint64_t now);
/* Make every file an orphan and end the scan: the directory is another one, or absent. */
void dir_orphan_all(struct source_dir *dir, uint64_t now);
/* For the tasks SCAN and LOOKUP. */
void dir_scan_run(struct task *task, uint64_t now);
void dir_lookup_run(struct task *task, uint64_t now);
/* Free the names that wait and close the listing. */
void dir_scan_deinit(struct source_dir *dir);

/* ---- source-dir-watch.c: which directory PATH names, and the events of inotify ---- */

/* Open and watch the directory that PATH names. Return 0 or -errno. */
int dir_enter(struct source_dir *dir);
/*
 * For the task COMPARE: compare PATH with the directory that is watched, and go to the new one if
 * they differ.
 */
void dir_compare_run(struct task *task, uint64_t now);
/* For sd_event: read the events of inotify. */
int dir_on_inotify(sd_event_source *source, int fd, uint32_t events, void *context);
/* Set what is wrong, and log it if it is new. "" = nothing is wrong. */
__attribute__((format(printf, 2, 3))) void dir_trouble(struct source_dir *dir, const char *format, ...);

/* ---- ring-file.c ---- */

/* Note that a writer closed the file, or may have. */
void ring_file_closed(struct ring_file *file, uint64_t now);
/* Take the file's next step at DUE (CLOCK_MONOTONIC ns). */
void ring_file_at(struct ring_file *file, uint64_t due);
/* Take the step that is due. For the file's task. */
void ring_file_run(struct task *task, uint64_t now);
/* Compare two names, given as pointers to them. For the tree of names. */
int ring_file_compare(const void *a, const void *b);
/* Close the file and forget it. */
void ring_file_free(struct ring_file *file);

#endif
