/*
 * Read a domain's XenStore subtree, and build the context of a capture.
 *
 * The walk is depth first, with a stack of the paths that must still be read. A path is on the
 * stack once, and the nodes that were read and those that wait are together at most SUBTREE_NODES.
 * So the memory of a walk is bounded, whatever the guest writes meanwhile.
 *
 * A node that is removed during the walk is left out. If the toolstack removes the whole subtree
 * during the walk, the result of the previous walk is kept, because it is more complete; walk_end()
 * checks for that.
 */
#include "subtree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "json-whole.h"
#include "printable.h"
#include "xen.h"

struct walk {
	uint32_t domid;
	json_t *found;		      /* the nodes read so far: path -> value */
	char *waiting[SUBTREE_NODES]; /* relative paths; "" is the subtree's root */
	size_t n_waiting;
	size_t n_read;
	size_t bytes;  /* bytes of paths and values in FOUND */
	bool complete; /* no limit has left out a node */
	bool gone;     /* a node was listed by its parent and absent when read */
};

static struct walk *walk_free(struct walk *walk)
{
	if (!walk)
		return NULL;
	while (walk->n_waiting)
		free(walk->waiting[--walk->n_waiting]);
	json_decref(walk->found);
	free(walk);
	return NULL;
}
CLEANUP_DEFINE(struct walk, walk_free)

void subtree_init(struct subtree *subtree)
{
	*subtree = (struct subtree){0};
}

void subtree_deinit(struct subtree *subtree)
{
	walk_free(subtree->walk);
	json_decref(subtree->seen);
	subtree_init(subtree);
}

/* ---- nodes that are kept --------------------------------------------------------------------- */

/* Return whether FOUND may have a node PATH, or another value of it, if it has BYTES bytes with its path. */
static bool has_room(json_t *found, const char *path, size_t bytes)
{
	const char *key;
	json_t *value;
	size_t nodes = 1;

	json_object_foreach(found, key, value)
	{
		if (strcmp(key, path) == 0)
			continue;
		bytes += strlen(key) + json_string_length(value);
		nodes++;
	}
	return nodes <= SUBTREE_NODES && bytes <= SUBTREE_BYTES;
}

int subtree_note(struct subtree *subtree, const char *path, const char *value, size_t len)
{
	CLEANUP(freep) char *key = text_printable(path);
	CLEANUP(freep) char *text = text_printable_bytes(value, len, false);

	if (!key || !text)
		return -ENOMEM;
	if (!subtree->seen)
		subtree->seen = json_object();
	if (!subtree->seen)
		return -ENOMEM;
	if (!has_room(subtree->seen, key, strlen(key) + strlen(text))) {
		json_object_del(subtree->seen, key);
		subtree->complete = false;
		return 0;
	}
	return json_object_set_new(subtree->seen, key, json_string(text)) ? -ENOMEM : 0;
}

/* Keep what a walk has read that did not end, with those nodes of SEEN that it lacks. */
static int keep_part(struct subtree *subtree)
{
	struct walk *walk = subtree->walk;
	const char *key;
	json_t *value;

	json_object_foreach(subtree->seen, key, value)
	{
		size_t bytes = strlen(key) + json_string_length(value);

		if (json_object_get(walk->found, key) || bytes > SUBTREE_BYTES - walk->bytes ||
		    json_object_size(walk->found) >= SUBTREE_NODES)
			continue;
		walk->bytes += bytes;
		if (json_object_set(walk->found, key, value))
			return -ENOMEM;
	}
	json_decref(subtree->seen);
	subtree->seen = json_object_size(walk->found) ? json_incref(walk->found) : NULL;
	subtree->complete = false;
	return 0;
}

/* ---- the beginning of a walk ----------------------------------------------------------------- */

int subtree_begin(struct subtree *subtree, uint32_t domid)
{
	CLEANUP(walk_freep) struct walk *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return -ENOMEM;
	walk->domid = domid;
	walk->complete = true;
	walk->found = json_object();
	walk->waiting[0] = strdup("");
	if (!walk->waiting[0])
		return -ENOMEM;
	walk->n_waiting = 1;
	if (!walk->found)
		return -ENOMEM;
	/* If no walk has ended yet, the nodes of this one are better than none. */
	if (subtree->walk && !subtree->walked && keep_part(subtree))
		return -ENOMEM;
	walk_free(subtree->walk);
	subtree->walk = TAKE_PTR(walk);
	return 0;
}

/* ---- one node -------------------------------------------------------------------------------- */

/* Write the absolute path of PATH to TO (XEN_PATH_MAX bytes). Return false if it is too long. */
static bool path_whole(const struct walk *walk, const char *path, char *to)
{
	int n = snprintf(to, XEN_PATH_MAX, "/local/domain/%u%s%s", walk->domid, *path ? "/" : "", path);

	return n > 0 && (size_t)n < XEN_PATH_MAX;
}

static unsigned path_depth(const char *path)
{
	unsigned depth = *path != '\0';

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

/*
 * Note what ERROR, the failure to read a node, means for the walk. Return 0 if the walk goes on, or
 * ERROR if the connection is lost.
 */
static int node_error(struct walk *walk, int error)
{
	if (error == -EPIPE)
		return error;
	if (error == -ENOENT)
		walk->gone = true;
	else if (error != -EACCES)
		walk->complete = false;
	return 0;
}

static int value_add(struct walk *walk, const char *path, const char *value, size_t len)
{
	CLEANUP(freep) char *key = text_printable(path);
	CLEANUP(freep) char *text = text_printable_bytes(value, len, false);
	size_t bytes;

	if (!key || !text)
		return -ENOMEM;
	bytes = strlen(key) + strlen(text);
	if (bytes > SUBTREE_BYTES - walk->bytes) {
		walk->complete = false;
		return 0;
	}
	walk->bytes += bytes;
	return json_object_set_new(walk->found, key, json_string(text)) ? -ENOMEM : 0;
}

static int value_read(struct walk *walk, struct xen *xen, const char *path, const char *whole)
{
	CLEANUP(freep) char *value = NULL;
	size_t len;
	int r = xen_read(xen, 0, whole, &value, &len);

	return r ? node_error(walk, r) : value_add(walk, path, value, len);
}

/*
 * Move PATH to the top of the stack. The rings' nodes are read first, because a dead domain's other
 * nodes may be removed before they are read.
 */
static void first(struct walk *walk, const char *path)
{
	size_t last = walk->n_waiting - 1;
	char *other;

	for (size_t i = 0; i + 1 < walk->n_waiting; i++)
		if (strcmp(walk->waiting[i], path) == 0) {
			other = walk->waiting[i];
			walk->waiting[i] = walk->waiting[last];
			walk->waiting[last] = other;
		}
}

static int children_push(struct walk *walk, const char *path, char **names, size_t n)
{
	if (n && path_depth(path) >= SUBTREE_DEPTH) {
		walk->complete = false;
		return 0;
	}
	while (n--) {
		if (walk->n_read + walk->n_waiting >= SUBTREE_NODES) {
			walk->complete = false;
			return 0;
		}
		if (asprintf(&walk->waiting[walk->n_waiting], "%s%s%s", path, *path ? "/" : "", names[n]) < 0)
			return -ENOMEM;
		walk->n_waiting++;
	}
	if (!*path)
		first(walk, "data");
	if (strcmp(path, "data") == 0)
		first(walk, "data/mprof");
	return 0;
}

static int node_read(struct walk *walk, struct xen *xen)
{
	CLEANUP(freep) char *path = walk->waiting[--walk->n_waiting];
	CLEANUP(freep) char **names = NULL;
	char whole[XEN_PATH_MAX];
	size_t n;
	int r;

	walk->n_read++;
	if (!path_whole(walk, path, whole)) {
		walk->complete = false;
		return 0;
	}
	r = *path ? value_read(walk, xen, path, whole) : 0;
	if (r)
		return r;
	r = xen_list(xen, 0, whole, &names, &n);
	return r ? node_error(walk, r) : children_push(walk, path, names, n);
}

/* ---- the end of a walk ----------------------------------------------------------------------- */

/* Return 1 if the subtree's root still exists, 0 if not, or -EPIPE. */
static int root_there(const struct walk *walk, struct xen *xen)
{
	CLEANUP(freep) char **names = NULL;
	char whole[XEN_PATH_MAX];
	size_t n;
	int r;

	path_whole(walk, "", whole);
	r = xen_list(xen, 0, whole, &names, &n);
	return r == -EPIPE ? r : r == 0;
}

static int walk_end(struct subtree *subtree, struct xen *xen)
{
	struct walk *walk = subtree->walk;
	int there = walk->gone ? root_there(walk, xen) : 1;

	if (there < 0)
		return there;
	if (there) {
		json_decref(subtree->seen);
		subtree->seen = json_incref(walk->found);
		subtree->complete = walk->complete;
		subtree->walked = true;
	} else if (!subtree->walked && keep_part(subtree)) {
		return -ENOMEM;
	}
	subtree->walk = walk_free(walk);
	return 0;
}

int subtree_step(struct subtree *subtree, struct xen *xen, unsigned nodes)
{
	struct walk *walk = subtree->walk;

	if (!walk)
		return 0;
	for (; nodes && walk->n_waiting; nodes--) {
		int r = node_read(walk, xen);

		if (r)
			return r;
	}
	return walk->n_waiting ? 1 : walk_end(subtree, xen);
}

/* ---- the context of a capture ---------------------------------------------------------------- */

/*
 * Return the context's member for the console. Members have the names and meanings that
 * schema/http/openapi.yaml gives for a capture's context; mprofd-http adds some more.
 */
static json_t *console_json(const struct context *context)
{
	CLEANUP(freep) char *text = NULL;

	if (!context->console)
		return json_null();
	text = text_printable_bytes(context->console, context->console_len, true);
	return text ? json_string(text) : NULL;
}

char *context_json(const struct context *context)
{
	const struct subtree *subtree = context->subtree;
	bool seen = subtree && subtree->seen;
	json_t *json;
	char *text;

	json = json_pack("{s:s, s:o, s:b, s:o, s:b}", "reason", context->reason, "xenstore",
			 seen ? json_incref(subtree->seen) : json_null(), "xenstore_complete",
			 seen && subtree->complete, "console", console_json(context), "console_complete",
			 context->console && context->console_complete);
	if (!json)
		return NULL;
	text = json_whole_text(json, JSON_COMPACT);
	json_decref(json);
	return text;
}
