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

#include "subtree.h"
#include "xen.h"

#define TRIES	  3
#define PAGES_MAX (MPROF_RING_BYTES_MAX / XEN_PAGE_BYTES)

static const char *const names[KEYS_TEXTS] = {"ring-ref", "directory-ref", "event-channel", "name"};

static void texts_free(struct key_text *texts)
{
	for (unsigned i = 0; i < KEYS_TEXTS; i++) {
		free(texts[i].value);
		texts[i] = (struct key_text){0};
	}
}

/* Write the path of stream NUMBER's keys, relative to the domain's path, to PATH (SIZE bytes). */
static void keys_base(char *path, size_t size, uint32_t number)
{
	if (number)
		snprintf(path, size, "data/mprof/stream/%u", number);
	else
		snprintf(path, size, "data/mprof");
}

void keys_path(char *path, size_t size, uint32_t domid, uint32_t number)
{
	char base[64];

	keys_base(base, sizeof(base), number);
	snprintf(path, size, "/local/domain/%u/%s", domid, base);
}

/* Read key I below BASE. Its value is NULL if the key is absent. Return 0 or -errno. */
static int text_read(struct key_text *texts, struct xen *xen, uint32_t t, const char *base, unsigned i)
{
	char path[128];
	int r;

	snprintf(path, sizeof(path), "%s/%s", base, names[i]);
	r = xen_read(xen, t, path, &texts[i].value, &texts[i].len);
	return r == -ENOENT ? 0 : r;
}

static int texts_read(struct key_text *texts, struct xen *xen, uint32_t domid, uint32_t number)
{
	char base[96];
	uint32_t t;
	int r, end;
	bool published;

	keys_path(base, sizeof(base), domid, number);
	r = xen_read_begin(xen, &t);
	if (r)
		return r;
	r = text_read(texts, xen, t, base, KEYS_RING);
	if (r == 0)
		r = text_read(texts, xen, t, base, KEYS_DIRECTORY);
	published = texts[KEYS_RING].value || texts[KEYS_DIRECTORY].value;
	if (r == 0 && published)
		r = text_read(texts, xen, t, base, KEYS_PORT);
	if (r == 0 && published && number)
		r = text_read(texts, xen, t, base, KEYS_LABEL);
	end = xen_read_end(xen, t);
	return r ? r : end;
}

static enum fault refs_take(struct keys *keys, const struct key_text *text)
{
	size_t room = text->len / 2 + 1;
	enum fault fault;

	if (room > PAGES_MAX)
		room = PAGES_MAX;
	keys->refs = calloc(room, sizeof(*keys->refs));
	if (!keys->refs)
		return FAULT_STORE;
	fault = value_refs(text->value, text->len, keys->refs, room, &keys->n_refs);
	return fault == FAULT_NONE && keys->n_refs == 0 ? FAULT_GRAMMAR : fault;
}

static enum fault directory_take(struct keys *keys, const struct key_text *text)
{
	if (!value_number(text->value, text->len, 0, UINT32_MAX, &keys->directory))
		return FAULT_GRAMMAR;
	return keys->directory < VALUE_REF_MIN ? FAULT_REFERENCE : FAULT_NONE;
}

static enum fault keys_take(struct keys *keys)
{
	const struct key_text *ring = &keys->texts[KEYS_RING], *directory = &keys->texts[KEYS_DIRECTORY];
	const struct key_text *port = &keys->texts[KEYS_PORT], *label = &keys->texts[KEYS_LABEL];
	enum fault fault = FAULT_NONE;
	size_t room = 4 * VALUE_LABEL_MAX + 1;

	keys->published = ring->value || directory->value;
	if (ring->value && directory->value)
		return FAULT_BOTH;
	if (ring->value)
		fault = refs_take(keys, ring);
	else if (directory->value)
		fault = directory_take(keys, directory);
	if (fault)
		return fault;
	keys->bad_port = port->value && !value_number(port->value, port->len, 1, VALUE_PORT_MAX, &keys->port);
	if (!label->value)
		return FAULT_NONE;
	keys->label = malloc(room);
	if (!keys->label)
		return FAULT_STORE;
	return value_label(label->value, label->len, keys->label, room) ? FAULT_NONE : FAULT_GRAMMAR;
}

enum fault keys_read(struct keys *keys, struct xen *xen, uint32_t domid, uint32_t number)
{
	int r = -EAGAIN;

	*keys = (struct keys){0};
	for (int i = 0; i < TRIES && r == -EAGAIN; i++) {
		texts_free(keys->texts);
		r = texts_read(keys->texts, xen, domid, number);
	}
	return r ? FAULT_STORE : keys_take(keys);
}

int keys_note(const struct keys *keys, uint32_t number, struct subtree *subtree)
{
	char base[96], path[128];
	int r = 0;

	keys_base(base, sizeof(base), number);
	for (unsigned i = 0; i < KEYS_TEXTS && r == 0; i++) {
		snprintf(path, sizeof(path), "%s/%s", base, names[i]);
		if (keys->texts[i].value)
			r = subtree_note(subtree, path, keys->texts[i].value, keys->texts[i].len);
	}
	return r;
}

void keys_deinit(struct keys *keys)
{
	free(keys->refs);
	free(keys->label);
	texts_free(keys->texts);
	*keys = (struct keys){0};
}
