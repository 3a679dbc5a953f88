/*
 * A domain's XenStore subtree, which is read in steps while it changes, and the context of a
 * capture that is made of it.
 *
 * The test replaces xen_read and xen_list: the store is a short list of paths, or a generated tree
 * that is too large.
 */
#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "cleanup.h"
#include "subtree.h"
#include "xen.h"

struct node {
	const char *path, *value; /* VALUE is NULL if the node may not be read */
};

struct xen {
	const struct node *nodes; /* list of paths with all parents; an empty entry ends it */
	const char *prefix;
	/*
	 * Generated tree: WIDTH children per node, whose names are similar; values of BYTES bytes.
	 */
	unsigned width, bytes;
	unsigned questions;
	/* Number of calls after which the subtree does not exist any more; 0: never. */
	unsigned gone_after;
	int error; /* result of each call, if not 0 */
};

static int store_fails(struct xen *xen)
{
	xen->questions++;
	if (xen->gone_after && xen->questions > xen->gone_after)
		return -ENOENT;
	return xen->error;
}

/* Return the part of PATH behind the domain's path, or NULL if PATH is elsewhere. */
static const char *below(const struct xen *xen, const char *path)
{
	size_t len = strlen(xen->prefix);

	if (strncmp(path, xen->prefix, len) != 0)
		return NULL;
	return path[len] == '/' ? path + len + 1 : path[len] ? NULL : "";
}

int xen_read(struct xen *xen, uint32_t t, const char *path, char **value, size_t *len)
{
	const char *rest = below(xen, path);
	int r = store_fails(xen);

	CHECK_EQ_UINT(t, 0);
	if (r || !CHECK(rest))
		return r ? r : -ENOENT;
	if (xen->width) {
		*len = xen->bytes;
		*value = calloc(1, *len + 1);
		memset(*value, 'v', *len);
		return 0;
	}
	for (const struct node *n = xen->nodes; n->path; n++) {
		if (strcmp(n->path, rest) != 0)
			continue;
		if (!n->value)
			return -EACCES;
		*value = strdup(n->value);
		*len = strlen(n->value);
		return 0;
	}
	return -ENOENT;
}

static bool is_child(const char *path, const char *parent)
{
	size_t len = strlen(parent);

	if (len && (strncmp(path, parent, len) != 0 || path[len] != '/'))
		return false;
	path += len ? len + 1 : 0;
	return *path && !strchr(path, '/');
}

/* Return one block with the pointers and then the names, as libxenstore does. */
int xen_list(struct xen *xen, uint32_t t, const char *path, char ***names, size_t *n)
{
	const char *rest = below(xen, path);
	struct list {
		char *name[600];
		char text[600][16];
	} *list;
	int r = store_fails(xen);

	CHECK_EQ_UINT(t, 0);
	if (r || !CHECK(rest))
		return r ? r : -ENOENT;
	list = calloc(1, sizeof(*list));
	*n = 0;
	for (unsigned i = 0; i < xen->width; i++)
		snprintf(list->text[(*n)++], 16, "n%u", i);
	for (const struct node *node = xen->nodes; node && node->path; node++)
		if (is_child(node->path, rest))
			snprintf(list->text[(*n)++], 16, "%s", node->path + strlen(rest) + (*rest != '\0'));
	for (size_t i = 0; i < *n; i++)
		list->name[i] = list->text[i];
	*names = list->name;
	return 0;
}

static const struct node few[] = {
	{"name", "web"},	   {"data", ""},     {"data/mprof", ""},       {"data/mprof/ring-ref", "8"},
	{"data/od\x1b", "\xff\n"}, {"secret", NULL}, {"secret/inner", "read"}, {NULL, NULL},
};

static const char *seen(const struct subtree *subtree, const char *path)
{
	return json_string_value(json_object_get(subtree->seen, path));
}

static void walk(struct subtree *subtree, struct xen *xen, unsigned nodes)
{
	unsigned steps = 0;
	int r;

	CHECK_EQ_INT(subtree_begin(subtree, 12), 0);
	while ((r = subtree_step(subtree, xen, nodes)) == 1)
		if (!CHECK(++steps < 2000))
			return;
	CHECK_EQ_INT(r, 0);
}

static void test_few(void)
{
	for (unsigned nodes = 1; nodes < 4; nodes++) {
		struct xen xen = {.nodes = few, .prefix = "/local/domain/12"};
		struct subtree subtree;

		subtree_init(&subtree);
		CHECK_EQ_INT(subtree_step(&subtree, &xen, 5), 0);
		walk(&subtree, &xen, nodes);
		CHECK(subtree.complete);
		CHECK_EQ_UINT(json_object_size(subtree.seen), 6);
		CHECK_EQ_STR(seen(&subtree, "name"), "web");
		CHECK_EQ_STR(seen(&subtree, "data"), "");
		CHECK_EQ_STR(seen(&subtree, "data/mprof/ring-ref"), "8");
		CHECK_EQ_STR(seen(&subtree, "data/od\\x1b"), "\\xff\\x0a");
		CHECK_EQ_STR(seen(&subtree, "secret/inner"), "read");
		subtree_deinit(&subtree);
	}
}

/*
 * The walk reads the guest's data first. If the walk is begun again, the results of the earlier
 * walk stay until the new one has more.
 */
static void test_begun_again(void)
{
	struct xen xen = {.nodes = few, .prefix = "/local/domain/12"};
	struct subtree subtree;

	subtree_init(&subtree);
	CHECK_EQ_INT(subtree_begin(&subtree, 12), 0);
	CHECK_EQ_INT(subtree_step(&subtree, &xen, 5), 1);
	CHECK(!subtree.seen);
	CHECK_EQ_INT(subtree_begin(&subtree, 12), 0);
	CHECK_EQ_STR(seen(&subtree, "data/mprof/ring-ref"), "8");
	CHECK(!subtree.complete);
	xen.gone_after = xen.questions + 1;
	while (subtree_step(&subtree, &xen, 1) == 1)
		;
	CHECK_EQ_STR(seen(&subtree, "data/mprof/ring-ref"), "8");
	CHECK(!subtree.complete);
	subtree_deinit(&subtree);
}

/* No step makes many more calls than its limit. */
static void test_steps(void)
{
	struct xen xen = {.width = 3, .prefix = "/local/domain/12"};
	struct subtree subtree;
	int r = 1;

	subtree_init(&subtree);
	CHECK_EQ_INT(subtree_begin(&subtree, 12), 0);
	while (r == 1) {
		unsigned before = xen.questions;

		r = subtree_step(&subtree, &xen, 4);
		CHECK(xen.questions <= before + 8);
	}
	CHECK_EQ_INT(r, 0);
	subtree_deinit(&subtree);
}

static size_t total(const struct subtree *subtree)
{
	const char *key;
	size_t bytes = 0;
	json_t *value;

	json_object_foreach(subtree->seen, key, value) bytes += strlen(key) + json_string_length(value);
	return bytes;
}

static void test_bounds(void)
{
	static const struct {
		unsigned width, bytes;
	} large[] = {{1, 3}, {2, 0}, {600, 4096}, {600, 2}, {20, 1000}};

	for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
		struct xen xen = {.width = large[i].width, .bytes = large[i].bytes, .prefix = "/local/domain/12"};
		struct subtree subtree;

		subtree_init(&subtree);
		walk(&subtree, &xen, 50);
		CHECK(!subtree.complete);
		CHECK(json_object_size(subtree.seen) > 5 && json_object_size(subtree.seen) < SUBTREE_NODES);
		CHECK(total(&subtree) <= SUBTREE_BYTES);
		CHECK(xen.questions <= 2 * SUBTREE_NODES);
		subtree_deinit(&subtree);
	}
}

/* Levels that are too deep are left out. */
static void test_depth(void)
{
	struct xen xen = {.width = 1, .prefix = "/local/domain/12"};
	struct subtree subtree;

	subtree_init(&subtree);
	walk(&subtree, &xen, 50);
	CHECK_EQ_UINT(json_object_size(subtree.seen), SUBTREE_DEPTH);
	subtree_deinit(&subtree);
}

static void test_gone(void)
{
	for (unsigned after = 1; after < 12; after++) {
		struct xen xen = {.nodes = few, .prefix = "/local/domain/12"};
		struct subtree subtree;

		subtree_init(&subtree);
		walk(&subtree, &xen, 50);
		xen.gone_after = xen.questions + after;
		walk(&subtree, &xen, 50);
		CHECK_EQ_UINT(json_object_size(subtree.seen), 6);
		CHECK(subtree.complete);
		subtree_deinit(&subtree);
		/*
		 * The subtree disappears during the first walk: the result is the part that was
		 * read, and not complete.
		 */
		xen.questions = 0;
		xen.gone_after = after;
		walk(&subtree, &xen, 50);
		CHECK(!subtree.complete && json_object_size(subtree.seen) < 6);
		CHECK_EQ_INT(subtree.seen != NULL, after > 1);
		subtree_deinit(&subtree);
	}
}

/* Notes stay while no walk has ended, beside what an interrupted walk has read. A walk that ends replaces them. */
static void test_noted(void)
{
	struct xen xen = {.nodes = few, .prefix = "/local/domain/12"};
	struct subtree subtree;

	subtree_init(&subtree);
	CHECK_EQ_INT(subtree_note(&subtree, "data/mprof/ring-ref", "9", 1), 0);
	CHECK_EQ_INT(subtree_note(&subtree, "data/mprof/stream/1/n\x1b", "\xff", 1), 0);
	CHECK_EQ_STR(seen(&subtree, "data/mprof/ring-ref"), "9");
	CHECK(!subtree.complete);
	/* The guest is gone before a walk finds anything. */
	xen.gone_after = 1;
	xen.questions = 1;
	walk(&subtree, &xen, 5);
	CHECK_EQ_STR(seen(&subtree, "data/mprof/ring-ref"), "9");
	/* A walk reads the key, and is interrupted. */
	xen.gone_after = 0;
	CHECK_EQ_INT(subtree_begin(&subtree, 12), 0);
	CHECK_EQ_INT(subtree_step(&subtree, &xen, 5), 1);
	CHECK_EQ_INT(subtree_begin(&subtree, 12), 0);
	CHECK_EQ_STR(seen(&subtree, "data/mprof/ring-ref"), "8");
	CHECK_EQ_STR(seen(&subtree, "data/mprof/stream/1/n\\x1b"), "\\xff");
	CHECK(!subtree.complete);
	/* A walk ends. */
	walk(&subtree, &xen, 5);
	CHECK(subtree.complete && !seen(&subtree, "data/mprof/stream/1/n\\x1b"));
	CHECK_EQ_INT(subtree_note(&subtree, "data/mprof/ring-ref", "10", 2), 0);
	CHECK_EQ_STR(seen(&subtree, "data/mprof/ring-ref"), "10");
	CHECK(subtree.complete);
	subtree_deinit(&subtree);
}

/* Notes have the limits of a walk, also together with what interrupted walks have read. */
static void test_noted_bounds(void)
{
	struct xen xen = {.width = 600, .bytes = 200, .prefix = "/local/domain/12"};
	struct subtree subtree;
	char path[32], value[4096];

	memset(value, '\xff', sizeof(value));
	subtree_init(&subtree);
	for (unsigned i = 0; i < 600; i++) {
		snprintf(path, sizeof(path), "data/mprof/stream/%u", i);
		CHECK_EQ_INT(subtree_note(&subtree, path, value, i % 100), 0);
	}
	CHECK(total(&subtree) <= SUBTREE_BYTES && json_object_size(subtree.seen) <= SUBTREE_NODES);
	/* A value that has become too long is not kept as it was. */
	CHECK(seen(&subtree, "data/mprof/stream/0"));
	for (unsigned i = 0; i < 40; i++) {
		snprintf(path, sizeof(path), "data/mprof/stream/%u", i);
		CHECK_EQ_INT(subtree_note(&subtree, path, value, sizeof(value)), 0);
	}
	CHECK(!seen(&subtree, "data/mprof/stream/39"));
	CHECK_EQ_INT(subtree_begin(&subtree, 12), 0);
	CHECK_EQ_INT(subtree_step(&subtree, &xen, 100), 1);
	CHECK_EQ_INT(subtree_begin(&subtree, 12), 0);
	CHECK(total(&subtree) <= SUBTREE_BYTES && json_object_size(subtree.seen) <= SUBTREE_NODES);
	CHECK(json_object_size(subtree.seen) > 90);
	subtree_deinit(&subtree);
}

static void test_lost(void)
{
	struct xen xen = {.nodes = few, .prefix = "/local/domain/12"};
	struct subtree subtree;

	subtree_init(&subtree);
	CHECK_EQ_INT(subtree_begin(&subtree, 12), 0);
	CHECK_EQ_INT(subtree_step(&subtree, &xen, 2), 1);
	xen.error = -EPIPE;
	CHECK_EQ_INT(subtree_step(&subtree, &xen, 2), -EPIPE);
	/* Begin another walk before this one is complete, and free the subtree then. */
	CHECK_EQ_INT(subtree_begin(&subtree, 13), 0);
	subtree_deinit(&subtree);
}

static void check_context(const struct context *context, const char *want)
{
	CLEANUP(freep) char *text = context_json(context);

	CHECK_EQ_STR(text, want);
}

static void test_context(void)
{
	static const struct node two[] = {{"name", "we\"b"}, {"vm", "/vm/\xe2\x82\xac"}, {NULL, NULL}};
	static const char log[] = "line\r\n\x1b[0m\0\xc3\xa9\\\r";
	struct xen xen = {.nodes = two, .prefix = "/local/domain/12"};
	struct subtree subtree;
	struct context context = {.reason = "crash", .subtree = &subtree, .console_complete = true};

	subtree_init(&subtree);
	check_context(&context, "{\"reason\":\"crash\",\"xenstore\":null,\"xenstore_complete\":false,\"console\":null,"
				"\"console_complete\":false}");
	context.subtree = NULL;
	check_context(&context, "{\"reason\":\"crash\",\"xenstore\":null,\"xenstore_complete\":false,\"console\":null,"
				"\"console_complete\":false}");
	walk(&subtree, &xen, 9);
	context.subtree = &subtree;
	context.reason = "unknown";
	context.console = log;
	context.console_len = sizeof(log) - 1;
	/* The subtree still exists after the first call of context_json. */
	for (int i = 0; i < 2; i++)
		check_context(
			&context,
			"{\"reason\":\"unknown\",\"xenstore\":{\"name\":\"we\\\"b\",\"vm\":\"/vm/\xe2\x82\xac\"},"
			"\"xenstore_complete\":true,\"console\":\"line\\r\\n\\\\x1b[0m\\\\x00\xc3\xa9\\\\\\\\\\\\x0d\","
			"\"console_complete\":true}");
	context.console_len = 0;
	context.console_complete = subtree.complete = false;
	check_context(&context,
		      "{\"reason\":\"unknown\",\"xenstore\":{\"name\":\"we\\\"b\",\"vm\":\"/vm/\xe2\x82\xac\"},"
		      "\"xenstore_complete\":false,\"console\":\"\",\"console_complete\":false}");
	subtree_deinit(&subtree);
}

int main(void)
{
	CHECK_RUN(test_few);
	CHECK_RUN(test_begun_again);
	CHECK_RUN(test_steps);
	CHECK_RUN(test_bounds);
	CHECK_RUN(test_depth);
	CHECK_RUN(test_gone);
	CHECK_RUN(test_noted);
	CHECK_RUN(test_noted_bounds);
	CHECK_RUN(test_lost);
	CHECK_RUN(test_context);
	return check_done();
}
