/*
 * The XenStore keys of a stream, which are read in one transaction. The test replaces
 * xen_read_begin, xen_read and xen_read_end; and xen_list, which nothing here calls.
 */
#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "keys.h"
#include "subtree.h"
#include "xen.h"

#define BEGUN 7u /* number of each transaction */

struct xen {
	/* Number of transactions that fail because of another writer, from the first on. */
	unsigned changed;
	unsigned begun, ended;
	int error;	  /* result of each read, if not 0 */
	const char *refs; /* value of ring-ref; a transaction that will fail reads "8,9" */
};

int xen_read_begin(struct xen *xen, uint32_t *t)
{
	xen->begun++;
	*t = BEGUN;
	return 0;
}

int xen_read_end(struct xen *xen, uint32_t t)
{
	CHECK_EQ_UINT(t, BEGUN);
	return ++xen->ended <= xen->changed ? -EAGAIN : 0;
}

int xen_read(struct xen *xen, uint32_t t, const char *path, char **value, size_t *len)
{
	CHECK_EQ_UINT(t, BEGUN);
	if (xen->error)
		return xen->error;
	if (strcmp(path, "/local/domain/5/data/mprof/ring-ref") != 0)
		return -ENOENT;
	*value = strdup(xen->begun <= xen->changed ? "8,9" : xen->refs);
	*len = strlen(*value);
	return 0;
}

int xen_list(struct xen *xen, uint32_t t, const char *path, char ***names, size_t *n)
{
	(void)xen, (void)t, (void)path, (void)names, (void)n;
	return -ENOSYS;
}

/* Values count only if the end of their transaction succeeds. Otherwise keys_read tries again. */
static void test_spoilt(void)
{
	struct xen xen = {.changed = 2, .refs = "10"};
	struct keys keys;

	CHECK_EQ_INT(keys_read(&keys, &xen, 5, 0), FAULT_NONE);
	if (CHECK_EQ_UINT(keys.n_refs, 1))
		CHECK_EQ_UINT(keys.refs[0], 10);
	CHECK_EQ_UINT(xen.begun, 3);
	keys_deinit(&keys);
	xen = (struct xen){.changed = 100, .refs = "10"};
	CHECK_EQ_INT(keys_read(&keys, &xen, 5, 0), FAULT_STORE);
	CHECK(!keys.published && !keys.refs);
	CHECK_EQ_UINT(xen.begun, xen.ended);
	keys_deinit(&keys);
}

/* If a read fails, keys_read ends the transaction and does not try again. */
static void test_refused(void)
{
	struct xen xen = {.error = -EACCES};
	struct keys keys;

	CHECK_EQ_INT(keys_read(&keys, &xen, 5, 0), FAULT_STORE);
	CHECK(xen.begun == 1 && xen.ended == 1);
	keys_deinit(&keys);
}

/* The keys are noted with their paths, as they were read. */
static void test_note(void)
{
	struct xen xen = {.refs = "10 11"};
	struct subtree subtree;
	struct keys keys;

	subtree_init(&subtree);
	CHECK_EQ_INT(keys_read(&keys, &xen, 5, 0), FAULT_GRAMMAR);
	CHECK_EQ_INT(keys_note(&keys, 0, &subtree), 0);
	CHECK_EQ_INT(keys_note(&keys, 3, &subtree), 0);
	CHECK_EQ_UINT(json_object_size(subtree.seen), 2);
	CHECK_EQ_STR(json_string_value(json_object_get(subtree.seen, "data/mprof/ring-ref")), "10 11");
	CHECK_EQ_STR(json_string_value(json_object_get(subtree.seen, "data/mprof/stream/3/ring-ref")), "10 11");
	keys_deinit(&keys);
	subtree_deinit(&subtree);
}

int main(void)
{
	CHECK_RUN(test_spoilt);
	CHECK_RUN(test_refused);
	CHECK_RUN(test_note);
	return check_done();
}
