/* Space on the disk: free bytes, the reserve, and the lock by which readers hold back deletion. */
#ifndef ARCHIVE_SPACE_H
#define ARCHIVE_SPACE_H

#include <stdbool.h>
#include <stdint.h>

struct store;

/*
 * Return true if the files of this process have a size limit. A write past it fails as on a full
 * disk, if SIGXFSZ is ignored.
 */
bool space_is_limited(void);

/* Get the free bytes of the file system. Return 0 or -errno. */
int space_free(const struct store *s, uint64_t *bytes);
/*
 * After ARCHIVE_E_FULL: return whether there is space to go on. With less than twice the WAL's
 * limit the disk would be full again at once; an eighth of a small disk is enough.
 */
bool space_suffices(const struct store *s);
/* Give up the reserve file, so that deletion can run. Idempotent. Return 0 or -errno. */
int space_release_reserve(struct store *s);
/*
 * Make the reserve file again. Idempotent. Return 0, -errno, or ARCHIVE_E_FULL if there is no space
 * for it.
 */
int space_restore_reserve(struct store *s);
/*
 * Return unused pages to the file system, at most PAGES, and cut the WAL; with PAGES 0 only cut the
 * WAL. *MORE: there are more. Return -EINVAL if a transaction is open, else as database_error().
 */
int space_vacuum(struct store *s, unsigned pages, bool *more);
/*
 * Return unused pages until WANT bytes are free, as long as that helps: a reader can hold back for
 * a moment what was deleted. *HAS is what is free then. As space_vacuum().
 */
int space_give_back(struct store *s, uint64_t want, uint64_t *has);

/*
 * Delete some of the oldest content, in transactions of its own. *MORE: something is left to
 * delete. Return 0 or an error.
 */
typedef int space_delete(void *context, uint64_t want, bool *more);
/*
 * Call DELETE until WANT bytes are free, as long as that helps, at most STEPS times. *MORE as
 * DELETE said last. Return 0 or the first error.
 */
int space_delete_until(struct store *s, uint64_t want, unsigned steps, space_delete *delete, void *context, bool *more);
/*
 * After ARCHIVE_E_FULL: make space by all means. Deleting needs space for the write-ahead log,
 * which is the reserve's; the caller writes nothing else while the reserve is given up, because
 * that would take the space. Return true if the reserve is back and there is space for another try.
 */
bool space_make(struct store *s, uint64_t want, unsigned steps, space_delete *delete, void *context);
/*
 * Return true if there is no space, or the reserve is given up: the caller writes nothing before
 * space_make() returns true.
 */
bool space_is_full(const struct store *s);

/*
 * Readers and deletion. A body is served from the oldest packet on, and deletion starts there too:
 * a reader that has just begun would lose packets that it announced. So readers hold deletion back
 * until they are under way, and deletion waits for them as long as its caller likes.
 *
 * The hold is a lock on a file beside the archive: shared by readers, exclusive during deletion,
 * and released with the process that has it.
 */

/*
 * Reader: hold back deletion until the caller closes *FD. PATH is the lock file. Return 0,
 * ARCHIVE_E_BUSY while something is being deleted, or -errno if there is no lock file. Never waits.
 */
int hold_take(const char *path, int *fd);

/* Writer: make the lock file NAME in DIRECTORY and open it as *FD. Return 0 or -errno. */
int hold_open(int directory, const char *name, int *fd);
/*
 * Writer: take the lock. Return false if a reader holds it. New readers wait from then on.
 * Idempotent; true without a file (FD < 0).
 */
bool hold_begin(int fd);
/* Writer: release the lock. Idempotent. */
void hold_end(int fd);

#endif
