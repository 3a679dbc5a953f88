/*
 * This file does not use Xen's header, because the header fits one version of Xen only.
 * xenctrl-layout.h says what all versions have in common.
 */
#include "xenctrl.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helper.h"
#include "null-logger.h"
#include "xenctrl-layout.h"

#define VERSION_DIRECTORY "/sys/hypervisor/version"
#define MINOR_OLDEST	  14u
#define MINOR_NEWEST	  30u

struct xenctrl {
	void *library;
	void *handle;
	void *(*open)(const struct null_logger *logger, const struct null_logger *builder, unsigned flags);
	int (*list)(void *handle, uint32_t first, unsigned max, void *descriptions);
	int (*vcpu)(void *handle, uint32_t domid, uint32_t vcpu, void *description); /* NULL = no such call */
	int (*close)(void *handle);
};

static bool version_part(const char *name, unsigned *part)
{
	CLEANUP(fclosep) FILE *file = NULL;
	char path[64];

	snprintf(path, sizeof(path), VERSION_DIRECTORY "/%s", name);
	file = fopen(path, "re");
	return file && fscanf(file, "%3u", part) == 1;
}

/*
 * Load version MAJOR.MINOR of the library and open Xen's privileged interface through it. Return 0;
 * or -errno, with a sentence in SENTENCE (SIZE bytes).
 */
static int version_open(struct xenctrl *x, unsigned major, unsigned minor, char *sentence, size_t size)
{
	char name[64];

	snprintf(name, sizeof(name), "libxenctrl.so.%u.%u", major, minor);
	x->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!x->library) {
		snprintf(sentence, size, "%s is not installed or does not load", name);
		return -ENOENT;
	}
	/*
	 * POSIX lets a function's address be stored in a void *, ISO C does not. Hence these casts.
	 */
	*(void **)&x->open = dlsym(x->library, "xc_interface_open");
	*(void **)&x->list = dlsym(x->library, "xc_domain_getinfolist");
	*(void **)&x->vcpu = dlsym(x->library, "xc_vcpu_getinfo");
	*(void **)&x->close = dlsym(x->library, "xc_interface_close");
	errno = 0;
	if (!x->open || !x->list || !x->close)
		snprintf(sentence, size, "%s does not have the calls that are needed", name);
	else if (!(x->handle = x->open(&null_logger, &null_logger, 0)))
		snprintf(sentence, size, "%s cannot open Xen's privileged interface (/dev/xen/privcmd): %s", name,
			 strerror(errno ? errno : ENODEV));
	else
		return 0;
	dlclose(x->library);
	x->library = NULL;
	return -ENODEV;
}

/*
 * Try all versions from the newest to the oldest, because Xen's own version is not known here.
 * Return 0; or -errno, with a sentence in SENTENCE (SIZE bytes).
 */
static int versions_try(struct xenctrl *x, char *sentence, size_t size)
{
	bool said = false;
	char other[256];

	for (unsigned minor = MINOR_NEWEST; minor >= MINOR_OLDEST; minor--) {
		int r = version_open(x, 4, minor, other, sizeof(other));

		if (r == 0)
			return 0;
		if (r != -ENOENT && !said)
			snprintf(sentence, size, "%s", other);
		said = said || r != -ENOENT;
	}
	if (!said)
		snprintf(sentence, size, "no libxenctrl.so.4.%u to 4.%u is installed", MINOR_OLDEST, MINOR_NEWEST);
	return -ENODEV;
}

int xenctrl_open(struct xenctrl **xp, char *sentence, size_t size)
{
	CLEANUP(freep) struct xenctrl *x = calloc(1, sizeof(*x));
	unsigned major, minor;
	int r;

	if (!x) {
		snprintf(sentence, size, "no memory");
		return -ENOMEM;
	}
	if (version_part("major", &major) && version_part("minor", &minor))
		r = version_open(x, major, minor, sentence, size);
	else
		r = versions_try(x, sentence, size);
	if (r)
		return r;
	*xp = TAKE_PTR(x);
	return 0;
}

struct xenctrl *xenctrl_close(struct xenctrl *xenctrl)
{
	if (!xenctrl)
		return NULL;
	xenctrl->close(xenctrl->handle);
	dlclose(xenctrl->library);
	free(xenctrl);
	return NULL;
}

int xenctrl_state(struct xenctrl *xenctrl, uint32_t domid, struct domain_state *state)
{
	alignas(16) uint8_t description[DOMAIN_BYTES] = {0};
	uint16_t found;
	uint32_t flags;
	int n;

	*state = (struct domain_state){.domid = domid};
	errno = 0;
	n = xenctrl->list(xenctrl->handle, domid, 1, description);
	if (n < 0)
		return errno ? -errno : -EIO;
	memcpy(&found, description + DOMAIN_ID_AT, sizeof(found));
	memcpy(&flags, description + DOMAIN_FLAGS_AT, sizeof(flags));
	/*
	 * Xen returns the first domain whose number is at least DOMID, so it may be another domain.
	 */
	if (n == 0 || found != domid)
		return 0;
	state->flags = DOMAIN_KNOWN | (flags & DOMAIN_IS_DYING ? DOMAIN_DYING : 0) |
		       (flags & DOMAIN_IS_SHUT_DOWN ? DOMAIN_SHUTDOWN : 0) |
		       (flags & DOMAIN_IS_PAUSED ? DOMAIN_PAUSED : 0);
	state->reason = flags & DOMAIN_IS_SHUT_DOWN ? DOMAIN_REASON(flags) : 0;
	return 0;
}

bool xenctrl_has_vcpus(const struct xenctrl *xenctrl)
{
	return xenctrl->vcpu != NULL;
}

int xenctrl_vcpu(struct xenctrl *xenctrl, uint32_t domid, uint32_t vcpu, struct vcpu_info *info)
{
	alignas(16) uint8_t description[VCPU_BYTES] = {0};

	*info = (struct vcpu_info){0};
	if (!xenctrl->vcpu)
		return -ENOSYS;
	errno = 0;
	if (xenctrl->vcpu(xenctrl->handle, domid, vcpu, description))
		return errno > 0 ? -errno : -EIO;
	info->online = description[VCPU_ONLINE_AT];
	info->blocked = description[VCPU_BLOCKED_AT];
	info->running = description[VCPU_RUNNING_AT];
	memcpy(&info->cpu_time, description + VCPU_CPU_TIME_AT, sizeof(info->cpu_time));
	return 0;
}
