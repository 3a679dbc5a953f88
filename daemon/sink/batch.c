#include "batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

void batch_init(struct batch *b)
{
	*b = (struct batch){0};
	b->last = &b->first;
}

void batch_deinit(struct batch *b)
{
	struct item *next;

	for (struct item *item = b->first; item; item = next) {
		next = item->next;
		free(item->data);
		free(item->put);
		free(item->note);
		free(item);
	}
	batch_init(b);
}

struct item *batch_add(struct batch *b, enum item_kind kind, int64_t recording)
{
	struct item *item = calloc(1, sizeof(*item));

	if (!item)
		return NULL;
	item->kind = kind;
	item->recording = recording;
	*b->last = item;
	b->last = &item->next;
	return item;
}

int batch_append(struct batch *b, int64_t recording, uint64_t offset, uint8_t *data, uint32_t length)
{
	struct item *item = batch_add(b, ITEM_APPEND, recording);

	if (!item) {
		free(data);
		return -ENOMEM;
	}
	item->data = data;
	item->length = length;
	item->offset = offset;
	b->bytes += length;
	return 0;
}

/*
 * Return a copy of a recording with its strings in one allocation, which the caller frees; NULL
 * without memory.
 */
static struct memtrace *copy_recording(const struct memtrace *m)
{
	const char *const texts[] = {m->name,	m->uuid,    m->address, m->origin, m->state,
				     m->reason, m->program, m->host,	m->context};
	size_t room = sizeof(*m);
	struct memtrace *copy;
	const char **out[ARRAY_SIZE(texts)];
	char *at;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		room += texts[i] ? strlen(texts[i]) + 1 : 0;
	copy = malloc(room);
	if (!copy)
		return NULL;
	*copy = *m;
	memcpy(out,
	       (const char **[]){&copy->name, &copy->uuid, &copy->address, &copy->origin, &copy->state, &copy->reason,
				 &copy->program, &copy->host, &copy->context},
	       sizeof(out));
	at = (char *)(copy + 1);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!texts[i])
			continue;
		*out[i] = strcpy(at, texts[i]);
		at += strlen(at) + 1;
	}
	return copy;
}

struct item *batch_put(struct batch *b, const struct memtrace *recording)
{
	struct memtrace *copy = copy_recording(recording);
	struct item *item = copy ? batch_add(b, ITEM_PUT, recording->id) : NULL;

	if (item)
		item->put = copy;
	else
		free(copy);
	return item;
}

void batch_move(struct batch *from, struct batch *to)
{
	*to = *from;
	if (!to->first)
		to->last = &to->first;
	batch_init(from);
}
