#include "keeper-ring.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "xen-guest.h"

int keeper_ring_make(const struct ring_place *place, const char *name, uint64_t bytes, struct mprof_recorder_file *file,
		     struct mprof_recorder *recorder)
{
	char *path;
	void *memory;
	int r;

	if (place->xen) {
		r = guest_ring_write(place->xen, name, bytes, &memory);
	} else if (asprintf(&path, "%s/%s", place->path, name) < 0) {
		r = -ENOMEM;
	} else {
		r = mprof_recorder_file_open(file, path, bytes);
		free(path);
		memory = file->memory;
		bytes = file->size;
	}
	if (!r && mprof_recorder_init(recorder, memory, bytes, 0, NULL, NULL) != MPROF_RECORDER_OK)
		r = -EINVAL;
	return r;
}
