/*
 * Shared by the files of the source `dir:`. struct source_dir is the directory, struct ring_file a
 * file in it.
 */
#ifndef FILES_SOURCE_DIR_STATE_H
#define FILES_SOURCE_DIR_STATE_H

#include <dirent.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "collector.h"
#include "log.h"

#define DIR_FILES_MAX	    4096u	    /* files and directories that are watched */
#define LIVES_BURST	    128u	    /* lines of LIVES in LOG_LIMIT_INTERVAL_NS */
#define RING_FILE_RETRY_MIN (2 * NS_PER_MS) /* least time between attempts to attach, and the most */
#define RETRY_MAX	    NS_PER_S
#define REST_NS		    NS_PER_S	    /* time between polls after the end of the run */
#define MEASURE_NS	    NS_PER_S	    /* time between looks at a file's size */
#define ASK_NS		    (10 * NS_PER_S) /* after a close: time in which each poll asks for writers */
#define QUIET_NS	    (5 * NS_PER_S)  /* without new bytes: time between questions for writers */
#define SILENCE_NS	    (60 * NS_PER_S) /* without a lease: time without new bytes after which no writer is left */
#define PATIENCE_NS	    (10 * NS_PER_S) /* of a guest (guest_init()) */

/* Whether a process has a file open or mapped for writing. UNKNOWN: mprofd may not ask. */
enum writers { WRITERS_NONE, WRITERS_SOME, WRITERS_UNKNOWN };

enum file_state { FILE_PENDING, FILE_LIVE, FILE_DRAIN, FILE_ENDING, FILE_REST };

struct ring_file {
	struct task task; /* first member */
	struct source_dir *dir;
	LIST_ENTRY(ring_file) entry;	 /* in the list of all files */
	TAILQ_ENTRY(ring_file) departed; /* in the list of orphans */
	char *name;			 /* name in the directory */
	int fd;
	dev_t dev;
	ino_t ino;
	struct memory_file memory;
	uint64_t bytes;	   /* size at attach, in bytes */
	uint64_t measured; /* when the size was last checked, CLOCK_MONOTONIC ns */
	struct guest guest;
	struct stream stream;
	struct resume_entry *resume; /* the archive's record of the file's run; NULL = none */
	enum file_state state;
	uint64_t retry;	  /* PENDING: current time between attempts, ns */
	unsigned tries;	  /* PENDING: failed attempts during which there was no writer */
	uint64_t written; /* stream.ring.writer.written when the ring last grew */
	uint64_t grew;	  /* when it last grew, CLOCK_MONOTONIC ns */
	/*
	 * A writer closed the file: end of the time in which each poll asks whether there is
	 * another writer, CLOCK_MONOTONIC ns.
	 */
	uint64_t check_until;
	uint64_t asked;		 /* when it was last asked for writers, CLOCK_MONOTONIC ns */
	bool orphan;		 /* the directory no longer names this file, or it was left out for another one */
	bool known;		 /* at the start the archive had a run of it that was not over */
	struct timespec changed; /* st_ctim when it was last looked up: a program cannot set it to the future */
	bool lease_denied;	 /* no lease can be taken, so it is unknown whether a writer is left */
	bool refused;		 /* it was logged that the file is no ring */
	int64_t unfinished;	 /* DRAIN: capture of this end that mprofd had begun when it was killed; 0 = none */
	bool unpolled;		 /* REST: the first poll will find only bytes that the archive has already */
	uint64_t seen;		 /* number of the last scan that found it */
};

/* A name of which an inotify event reported a change. */
struct changed_name {
	TAILQ_ENTRY(changed_name) entry;
	char name[];
};

struct ring_set;

struct source_dir {
	struct source source; /* first member */
	struct collector *collector;
	char *path;
	char *shown; /* PATH for messages: printable, and cut to 256 bytes */
	int fd;	     /* the directory that PATH names; -1 = PATH names none */
	dev_t dev;   /* device of that directory */
	ino_t ino;
	int inotify;
	int watch, parent_watch; /* watch descriptors; -1 = none */
	sd_event_source *events;
	struct task compare, scan, lookup, settle;
	uint64_t compared; /* when PATH was last compared with FD, CLOCK_MONOTONIC ns */

	LIST_HEAD(ring_files, ring_file) files;		 /* all files, orphans included */
	TAILQ_HEAD(ring_orphans, ring_file) orphans;	 /* files that the directory no longer names, oldest first */
	LIST_HEAD(ring_sets, ring_set) sets;		 /* directories in it, orphans included */
	void *set_names;				 /* tree of the sets by name, without orphans */
	void *set_watches;				 /* tree of the sets by watch descriptor */
	void *names;					 /* tsearch tree of the files by name, without orphans */
	TAILQ_HEAD(changed_names, changed_name) changed; /* names to look up */
	/* N_FILES counts files without orphans, and sets and their files with orphans. */
	size_t n_files, n_orphans, n_changed;
	size_t left;	       /* number of files beyond the limit */
	struct timespec floor; /* a file that is beyond the limit and no newer cannot displace another one now */

	DIR *listing;	    /* directory stream of the current scan; NULL = no scan */
	uint64_t scans;	    /* number of scans begun */
	uint64_t scanned;   /* when the last scan began, CLOCK_MONOTONIC ns */
	uint64_t scan_cost; /* ns spent on the current or last scan */
	size_t scan_left;   /* files beyond the limit that the current scan has found */
	bool again, hasty;  /* another scan must follow the current one; HASTY: soon */

	uint64_t lookups, replacements; /* counted for the metrics */
	struct log_limit refusals, changes;
	struct log_limit lives; /* lines that a run or a ring begins or ends: programs write and rename files at will */
	char note[512];		/* as dir_left_words() */
	char trouble[512];	/* reason why mprofd may miss rings now; "" = no problem */
};

/* ---- source-dir-scan.c: the files in the directory ---- */

/* Return the file that is called NAME now, or NULL. */
struct ring_file *dir_file(const struct source_dir *dir, const char *name);
/* Note that an event named NAME, so that the file is looked up soon. NAME is copied. */
void dir_changed(struct source_dir *dir, const char *name);
/* Return whether another file or directory may be watched. */
bool dir_has_room(const struct source_dir *dir);
/*
 * Return whether there is room for a file that changed at CHANGED, or can be made: without room, the file that
 * changed longest ago and that no program writes to is left out, if it is older. KNOWN: the archive has a run of
 * the new file that is not over, so it comes before all that have none.
 */
bool dir_make_room(struct source_dir *dir, const struct timespec *changed, bool known, uint64_t now);
/* Write a sentence that says how many files are left out to SENTENCE (SIZE bytes); "" = none. */
void dir_left_words(const struct source_dir *dir, char *sentence, size_t size);
/* Return whether a file called NAME is looked at: it is neither hidden nor the metadata of a CTF directory. */
bool dir_name_counts(const char *name);
/*
 * The file NAME could not be opened. If that may change without an inotify event, scan the
 * directory later. A change of permissions causes an event.
 */
void dir_unreadable(struct source_dir *dir, const char *name, int error);
/*
 * Schedule a scan of the directory: in 50 ms or more if HASTY, otherwise in a second or more. Scans
 * take at most a twentieth of a core.
 */
void dir_scan(struct source_dir *dir, bool hasty);
/* Scan the directory before this function returns. */
void dir_scan_now(struct source_dir *dir, uint64_t now);
/*
 * Make all files orphans and stop the current scan, because PATH names another directory or none.
 */
void dir_orphan_all(struct source_dir *dir, uint64_t now);
/* Run the tasks SCAN and LOOKUP. */
void dir_scan_run(struct task *task, uint64_t now);
void dir_lookup_run(struct task *task, uint64_t now);
/* Free the names to look up, and close the directory stream. */
void dir_scan_deinit(struct source_dir *dir);

/* ---- source-dir-watch.c: which directory PATH names, and the events of inotify ---- */

/* Open and watch the directory that PATH names. Return 0 or -errno. */
int dir_enter(struct source_dir *dir);
/*
 * Run the task COMPARE: compare PATH with the open directory, and change to another directory if
 * PATH names one.
 */
void dir_compare_run(struct task *task, uint64_t now);
/* Read and handle the events of inotify. sd_event calls it. */
int dir_on_inotify(sd_event_source *source, int fd, uint32_t events, void *context);
/* Set the problem that keeps rings from being found, and log it if it is new. "" = no problem. */
__attribute__((format(printf, 2, 3))) void dir_trouble(struct source_dir *dir, const char *format, ...);

/* ---- ring-file.c ---- */

/* Note that a writer has closed the file, or may have. */
void ring_file_closed(struct ring_file *file, uint64_t now);
/* Run the file's task at DUE (CLOCK_MONOTONIC ns). */
void ring_file_at(struct ring_file *file, uint64_t due);
/* Run the file's task: take one step in the file's state. */
void ring_file_run(struct task *task, uint64_t now);
/* Compare two names, given as pointers to char *. For the tree NAMES. */
int ring_file_compare(const void *a, const void *b);
/*
 * ---- ring-file.c, for set-ring.c too ----
 */

/* Return whether a process has the file FD open for writing, or mapped for writing. */
enum writers ring_file_writers(int fd);
/*
 * Return whether to ask for writers though no close was reported: a ring grew last at GREW, and was last asked for writers at ASKED.
 * inotify does not report that a writer has closed the file if it had opened it by another name.
 */
bool ring_file_is_quiet(uint64_t grew, uint64_t asked, uint64_t now);
/*
 * Open the file NAME in the directory DIRECTORY for reading. Return the descriptor, or -1 with
 * errno.
 */
int ring_file_open(int directory, const char *name);
/*
 * Write the key of a run to KEY (SIZE bytes): NAME, and inode number and time of birth of the file
 * or directory FD. Return 0 or -errno.
 */
int ring_file_key(int fd, const char *name, char *key, size_t size);
/*
 * Return whether the archive has the capture of the end of a ring, and its file, which ST
 * describes, was not written since. RESUME may be NULL.
 */
bool ring_file_rests(const struct archive_resume *resume, const struct stat *st);
/*
 * A guest is called NAME. If there is also a ring file with this name and the ending `.ctf`, rename
 * the guest of that file to its full name.
 */
void ring_file_claim_name(const struct source_dir *dir, const char *name);
/* Close FILE, remove it from its directory's lists and free it. */
void ring_file_free(struct ring_file *file);

#endif
