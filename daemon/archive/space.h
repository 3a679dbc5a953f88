/* Space on the disk: free bytes, the reserve file, and the lock by which readers delay deletion. */
#ifndef ARCHIVE_SPACE_H
#define ARCHIVE_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

/*
 * Return whether this process has a limit of file sizes (RLIMIT_FSIZE). If SIGXFSZ is ignored, a
 * write beyond it fails as on a full disk.
 */
bool space_is_limited(void);

/* Set *BYTES to the free bytes of the file system. Return 0 or -errno. */
int space_free(const struct store *s, uint64_t *bytes);
/*
 * Return whether the file system has no more than WANT bytes in all, which are those that are to stay free: whatever is
 * archived is then deleted soon. Write a sentence that says so to SENTENCE (SIZE bytes). If the file system does not
 * say its size, return false.
 */
bool space_is_small(const struct store *s, uint64_t want, char *sentence, size_t size);
/*
 * After ARCHIVE_E_FULL: return whether there is enough space to go on, which is twice the limit of
 * the write-ahead log, or an eighth of a small disk. With less the disk would be full again at
 * once.
 */
bool space_suffices(const struct store *s);
/* Delete the reserve file if it exists, so that deletion can run. Return 0 or -errno. */
int space_release_reserve(struct store *s);
/*
 * Create the reserve file if it does not exist. Return 0, -errno, or ARCHIVE_E_FULL if there is no
 * space for it.
 */
int space_restore_reserve(struct store *s);
/*
 * Return unused pages of about BYTES at most to the file system, and truncate the write-ahead log. BYTES 0:
 * only truncate. *MORE: there are more unused pages. Return -EINVAL if a transaction is open, else
 * as database_error().
 */
int space_vacuum(struct store *s, uint64_t bytes, bool *more);
/*
 * Truncate the write-ahead log, and wait some milliseconds for readers. Return whether a reader's transaction prevents that: until
 * it ends, deletion wins no space, since the file cannot get shorter and the log grows. An empty log is left alone, and behind a reader
 * not every call tries again (wal_is_held()). No transaction may be open.
 */
bool space_is_held(struct store *s);
/*
 * Return unused pages to the file system until WANT bytes are free or no pages can be returned: a
 * reader's transaction may delay that for a moment. *HAS is the number of free bytes then. Return
 * as space_vacuum().
 */
int space_give_back(struct store *s, uint64_t want, uint64_t *has);

/*
 * Delete some of the oldest content, in a transaction of its own. *MORE: something is left to
 * delete. Return 0 or an error.
 */
typedef int space_delete(void *context, uint64_t want, bool *more);
/*
 * Call DELETE until WANT bytes are free, it has nothing more to delete, or STEPS calls were made.
 * *MORE is the value of the last call. Return 0 or the first error.
 */
int space_delete_until(struct store *s, uint64_t want, unsigned steps, space_delete *delete, void *context, bool *more);
/*
 * After ARCHIVE_E_FULL: make space. Deletion needs space for the write-ahead log, so the reserve
 * file is deleted; until it exists again, the caller must write nothing else, which would take that
 * space. Return true if the reserve file exists again and there is space for a transaction. WANT,
 * STEPS and DELETE as in space_delete_until().
 */
bool space_make(struct store *s, uint64_t want, unsigned steps, space_delete *delete, void *context);
/*
 * Return whether the disk is full, or the reserve file is deleted: the caller then writes nothing
 * before space_make() returns true.
 */
bool space_is_full(const struct store *s);

/*
 * Readers and deletion.
 *
 * An answer is served from the oldest packet on, and deletion begins there, too. So a deletion
 * could take packets that a reader has just announced in its headers. Therefore a reader delays
 * deletion until it has passed the oldest packets, and the caller of a deletion waits for readers
 * as long as it chooses.
 *
 * Both use a lock on a file beside the archive: readers take it shared, deletion exclusively. The
 * kernel releases the lock of a process that ends.
 */

/*
 * For a reader: delay deletion until the caller closes *FD. PATH is the lock file. Return 0,
 * ARCHIVE_E_BUSY while a deletion is running, or -errno if there is no lock file. Never waits.
 */
int hold_take(const char *path, int *fd);

/* For the writer: create the lock file NAME in DIRECTORY and open it as *FD. Return 0 or -errno. */
int hold_open(int directory, const char *name, int *fd);
/*
 * For the writer: take the lock, unless it is taken already. Return false if a reader holds it;
 * else hold_take() returns ARCHIVE_E_BUSY until hold_end(). If FD is negative (no lock file),
 * return true.
 */
bool hold_begin(int fd);
/* For the writer: release the lock if it is taken. */
void hold_end(int fd);

#endif
