/* Door plates: 64 bytes each, 16 MiB at most, of which a short trace touches little. */
#include <stdlib.h>
#include <string.h>

#include "plates.h"
#include "utf8.h"

bool plates_init(struct plates *p)
{
	p->list = calloc(PLATES, sizeof(*p->list));
	return p->list;
}

void plates_deinit(struct plates *p)
{
	free(p->list);
	p->list = NULL;
}

static struct plate *place(const struct plates *p, uint32_t track)
{
	return &p->list[track & (PLATES - 1)];
}

void plates_name(struct plates *p, uint32_t track, const char *name, size_t len)
{
	struct plate *at = place(p, track);

	if (at->track != track)
		*at = (struct plate){.track = track};
	at->name_bytes = (uint8_t)utf8_cut(name, len, PLATE_BYTES);
	memcpy(at->name, name, at->name_bytes);
}

struct plate *plates_find(const struct plates *p, uint32_t track)
{
	struct plate *at = place(p, track);

	return at->track == track ? at : NULL;
}
