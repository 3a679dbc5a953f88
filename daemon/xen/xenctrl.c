/*
 * This file does not use Xen's header, because the header fits one version of Xen only. From Xen
 * 4.1 on, in every version, a domain's description (struct xen_domctl_getdomaininfo) begins with
 * the 16-bit domid, two bytes of padding and 32 bits of flags: bit 0 dying, 2 shut down, 3 paused,
 * 16 to 23 the shutdown reason. From Xen 3.0 on, a vCPU's description (struct
 * xen_domctl_getvcpuinfo) is its number, three bytes (online, blocked, running), a byte of padding,
 * the time that it ran as 64 bits, and its processor.
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

#define VERSION_DIRECTORY "/sys/hypervisor/version"
#define MINOR_OLDEST	  14u
#define MINOR_NEWEST	  30u
#define DESCRIPTION_BYTES 4096u /* bytes for a description; no version needs that many */
#define VCPU_BYTES	  64u	/* bytes for the description of a vCPU; all versions need 24 */

#define XEN_DYING     (1u << 0)
#define XEN_SHUTDOWN  (1u << 2)
#define XEN_PAUSED    (1u << 3)
#define XEN_REASON(f) ((f) >> 16 & 0xff)

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
	alignas(16) uint8_t description[DESCRIPTION_BYTES] = {0};
	uint16_t found;
	uint32_t flags;
	int n;

	*state = (struct domain_state){.domid = domid};
	errno = 0;
	n = xenctrl->list(xenctrl->handle, domid, 1, description);
	if (n < 0)
		return errno ? -errno : -EIO;
	memcpy(&found, description, sizeof(found));
	memcpy(&flags, description + 4, sizeof(flags));
	/*
	 * Xen returns the first domain whose number is at least DOMID, so it may be another domain.
	 */
	if (n == 0 || found != domid)
		return 0;
	state->flags = DOMAIN_KNOWN | (flags & XEN_DYING ? DOMAIN_DYING : 0) |
		       (flags & XEN_SHUTDOWN ? DOMAIN_SHUTDOWN : 0) | (flags & XEN_PAUSED ? DOMAIN_PAUSED : 0);
	state->reason = flags & XEN_SHUTDOWN ? XEN_REASON(flags) : 0;
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
	info->online = description[4];
	info->blocked = description[5];
	info->running = description[6];
	memcpy(&info->cpu_time, description + 8, sizeof(info->cpu_time));
	return 0;
}
