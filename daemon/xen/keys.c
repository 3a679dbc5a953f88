/*
 * XenStore's transactions are optimistic: only at its end does a transaction say whether all values
 * that were read existed at one moment. A guest that keeps writing can make each attempt fail, so
 * there are only a few attempts. Each write of the guest causes another read anyway.
 */
#include "keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <mprof/ring.h>

#include "xen.h"

#define TRIES	  3
#define PAGES_MAX (MPROF_RING_BYTES_MAX / XEN_PAGE_BYTES)

struct texts {
	char *refs, *directory, *port, *label;
	size_t refs_len, directory_len, port_len, label_len;
};

static void texts_deinit(struct texts *t)
{
	free(t->refs);
	free(t->directory);
	free(t->port);
	free(t->label);
	*t = (struct texts){0};
}

void keys_path(char *path, size_t size, uint32_t domid, uint32_t number)
{
	if (number)
		snprintf(path, size, "/local/domain/%u/data/mprof/stream/%u", domid, number);
	else
		snprintf(path, size, "/local/domain/%u/data/mprof", domid);
}

/* Read the value of BASE/KEY. *TEXT is NULL if the key is absent. Return 0 or -errno. */
static int value_read(struct xen *xen, uint32_t t, const char *base, const char *key, char **text, size_t *len)
{
	char path[128];
	int r;

	snprintf(path, sizeof(path), "%s/%s", base, key);
	r = xen_read(xen, t, path, text, len);
	return r == -ENOENT ? 0 : r;
}

static int texts_read(struct texts *texts, struct xen *xen, uint32_t domid, uint32_t number)
{
	char base[96];
	uint32_t t;
	int r, end;

	keys_path(base, sizeof(base), domid, number);
	r = xen_read_begin(xen, &t);
	if (r)
		return r;
	r = value_read(xen, t, base, "ring-ref", &texts->refs, &texts->refs_len);
	if (r == 0)
		r = value_read(xen, t, base, "directory-ref", &texts->directory, &texts->directory_len);
	if (r == 0 && (texts->refs || texts->directory))
		r = value_read(xen, t, base, "event-channel", &texts->port, &texts->port_len);
	if (r == 0 && number && (texts->refs || texts->directory))
		r = value_read(xen, t, base, "name", &texts->label, &texts->label_len);
	end = xen_read_end(xen, t);
	return r ? r : end;
}

static enum fault refs_take(struct keys *keys, const struct texts *t)
{
	size_t room = t->refs_len / 2 + 1;
	enum fault fault;

	if (room > PAGES_MAX)
		room = PAGES_MAX;
	keys->refs = calloc(room, sizeof(*keys->refs));
	if (!keys->refs)
		return FAULT_STORE;
	fault = value_refs(t->refs, t->refs_len, keys->refs, room, &keys->n_refs);
	return fault == FAULT_NONE && keys->n_refs == 0 ? FAULT_GRAMMAR : fault;
}

static enum fault keys_take(struct keys *keys, const struct texts *t)
{
	enum fault fault = FAULT_NONE;
	size_t room = 4 * VALUE_LABEL_MAX + 1;

	keys->published = t->refs || t->directory;
	if (t->refs && t->directory)
		return FAULT_BOTH;
	if (t->refs)
		fault = refs_take(keys, t);
	else if (t->directory && !value_number(t->directory, t->directory_len, 0, UINT32_MAX, &keys->directory))
		fault = FAULT_GRAMMAR;
	else if (t->directory && keys->directory < VALUE_REF_MIN)
		fault = FAULT_REFERENCE;
	if (fault)
		return fault;
	keys->bad_port = t->port && !value_number(t->port, t->port_len, 1, VALUE_PORT_MAX, &keys->port);
	if (!t->label)
		return FAULT_NONE;
	keys->label = malloc(room);
	if (!keys->label)
		return FAULT_STORE;
	return value_label(t->label, t->label_len, keys->label, room) ? FAULT_NONE : FAULT_GRAMMAR;
}

enum fault keys_read(struct keys *keys, struct xen *xen, uint32_t domid, uint32_t number)
{
	struct texts texts = {0};
	enum fault fault;
	int r = -EAGAIN;

	*keys = (struct keys){0};
	for (int i = 0; i < TRIES && r == -EAGAIN; i++) {
		texts_deinit(&texts);
		r = texts_read(&texts, xen, domid, number);
	}
	fault = r ? FAULT_STORE : keys_take(keys, &texts);
	texts_deinit(&texts);
	return fault;
}

void keys_deinit(struct keys *keys)
{
	free(keys->refs);
	free(keys->label);
	*keys = (struct keys){0};
}
