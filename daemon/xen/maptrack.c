/*
 * Read the size of dom0's maptrack table from hypfs, which has Xen's boot parameters. libxenhypfs
 * came with Xen 4.14 and may be absent, and a Xen can be built without hypfs. So the library is
 * loaded at run time if it is installed, asked once, and closed. libxenhypfs.so.1 is a stable
 * interface.
 */
#include "maptrack.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "null-logger.h"

#define GUEST_TYPE "/sys/hypervisor/guest_type"

struct hypfs {
	void *(*open)(const struct null_logger *logger, unsigned flags);
	char *(*read)(void *handle, const char *path);
	int (*close)(void *handle);
};

static bool hypfs_load(struct hypfs *hypfs, void *library)
{
	/*
	 * POSIX lets a function's address be stored in a void *, ISO C does not. Hence these casts.
	 */
	*(void **)&hypfs->open = dlsym(library, "xenhypfs_open");
	*(void **)&hypfs->read = dlsym(library, "xenhypfs_read");
	*(void **)&hypfs->close = dlsym(library, "xenhypfs_close");
	return hypfs->open && hypfs->read && hypfs->close;
}

/* Return the number in TEXT, or 0 if it is invalid or greater than MAPTRACK_FRAMES_MAX. */
static uint64_t frames_parse(const char *text)
{
	unsigned long frames;
	char *end;

	errno = 0;
	frames = strtoul(text, &end, 0);
	return errno || end == text || frames > MAPTRACK_FRAMES_MAX ? 0 : frames;
}

static uint64_t frames_read(void *library)
{
	CLEANUP(freep) char *text = NULL;
	struct hypfs hypfs = {0};
	void *handle;

	if (!hypfs_load(&hypfs, library))
		return 0;
	handle = hypfs.open(&null_logger, 0);
	if (!handle)
		return 0;
	text = hypfs.read(handle, "/params/gnttab_max_maptrack_frames");
	hypfs.close(handle);
	return text ? frames_parse(text) : 0;
}

static bool dom0_is_pv(void)
{
	CLEANUP(fclosep) FILE *file = fopen(GUEST_TYPE, "re");
	char type[8] = "";

	return file && fgets(type, sizeof(type), file) && strncmp(type, "PV", 2) == 0 && type[2] != 'H';
}

void maptrack_read(uint64_t *entries, unsigned *per_page)
{
	void *library = dlopen("libxenhypfs.so.1", RTLD_NOW | RTLD_LOCAL);
	uint64_t frames = 0;

	if (library) {
		frames = frames_read(library);
		dlclose(library);
	}
	*entries = (frames ? frames : MAPTRACK_FRAMES) * MAPTRACK_FRAME_ENTRIES;
	*per_page = dom0_is_pv() ? 2 : 1;
}
