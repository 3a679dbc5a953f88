/*
 * A library for LD_PRELOAD that gives xenstored and oxenstored a dom0 to run in.
 *
 * Both servers find dom0's own ring in /proc/xen and the domains through libxenctrl. They map the
 * guests' rings through grants (xenstored) or through libxenctrl (oxenstored), and receive guests'
 * events through event channels. This library takes all of that from the simulation's files
 * (sim.h). oxenstored has compiled-in paths below /var; this library replaces them by paths in
 * $MPROFD_SIM_DIR. From Xen 4.20 on oxenstored loads a plugin from its package, which is unpacked in
 * $MPROFD_XEN and not installed.
 */
#undef _FILE_OFFSET_BITS /* setrlimit and setrlimit64 are two functions here */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <xenctrl.h>
#include <xenevtchn.h>
#include <xengnttab.h>

#include "opens.h"
#include "sim.h"

#define STORE_PORTS 4096u
#define STORE_REF   1u /* GNTTAB_RESERVED_XENSTORE */

/* ---- libxenctrl: the domains and their states ------------------------------------------------ */

xc_interface *xc_interface_open(xentoollog_logger *logger, xentoollog_logger *dombuild_logger, unsigned flags)
{
	(void)logger;
	(void)dombuild_logger;
	(void)flags;
	return calloc(1, 64);
}

int xc_interface_close(xc_interface *xch)
{
	free(xch);
	return 0;
}

#if XEN_DOMCTL_INTERFACE_VERSION < 0x16 /* before Xen 4.18 */
int xc_domain_getinfo(xc_interface *xch, uint32_t first, unsigned int max, xc_dominfo_t *info)
{
	struct sim_domain domain;
	unsigned n;

	(void)xch;
	for (n = 0; n < max && sim_domain_from(first, &domain); n++) {
		memset(&info[n], 0, sizeof(info[n]));
		info[n].domid = domain.domid;
		info[n].dying = domain.dying;
		/* Like libxenctrl, set only one of the two. */
		info[n].crashed = domain.shutdown && domain.reason == 3;
		info[n].shutdown = domain.shutdown && !info[n].crashed;
		info[n].shutdown_reason = domain.reason;
		info[n].running = domain.running;
		info[n].paused = domain.paused;
		info[n].nr_pages = 64;
		info[n].max_memkb = 256;
		first = domain.domid + 1;
	}
	return (int)n;
}
#endif

int xc_domain_getinfolist(xc_interface *xch, uint32_t first, unsigned int max, xc_domaininfo_t *info)
{
	struct sim_domain domain;
	unsigned n;

	(void)xch;
	for (n = 0; n < max && sim_domain_from(first, &domain); n++) {
		memset(&info[n], 0, sizeof(info[n]));
		info[n].domain = (domid_t)domain.domid;
		info[n].flags = (domain.dying ? XEN_DOMINF_dying : 0u) | (domain.shutdown ? XEN_DOMINF_shutdown : 0u) |
				(domain.running ? XEN_DOMINF_running : 0u) | domain.reason << XEN_DOMINF_shutdownshift;
		first = domain.domid + 1;
	}
	return (int)n;
}

/* From Xen 4.18 on the stores ask so. */
int xc_domain_getinfo_single(xc_interface *xch, uint32_t domid, xc_domaininfo_t *info);

int xc_domain_getinfo_single(xc_interface *xch, uint32_t domid, xc_domaininfo_t *info)
{
	xc_domaininfo_t found;

	if (xc_domain_getinfolist(xch, domid, 1, &found) != 1 || found.domain != domid) {
		errno = ESRCH;
		return -1;
	}
	if (info)
		*info = found;
	return 0;
}

/*
 * Map a guest's ring for oxenstored. The frame number MFN has no meaning here, because only one
 * page is possible.
 */
void *xc_map_foreign_range(xc_interface *xch, uint32_t domid, int size, int prot, unsigned long mfn);

void *xc_map_foreign_range(xc_interface *xch, uint32_t domid, int size, int prot, unsigned long mfn)
{
	(void)xch;
	(void)size;
	(void)mfn;
	return sim_pages(domid, 1, &(uint32_t){STORE_REF}, prot);
}

/* ---- libxengnttab ---------------------------------------------------------------------------- */

struct xengntdev_handle {
	int unused;
};

xengnttab_handle *xengnttab_open(struct xentoollog_logger *logger, unsigned flags)
{
	(void)logger;
	(void)flags;
	return calloc(1, sizeof(struct xengntdev_handle));
}

int xengnttab_close(xengnttab_handle *xgt)
{
	free(xgt);
	return 0;
}

int xengnttab_set_max_grants(xengnttab_handle *xgt, uint32_t n)
{
	(void)xgt;
	(void)n;
	return 0;
}

void *xengnttab_map_grant_ref(xengnttab_handle *xgt, uint32_t domid, uint32_t ref, int prot)
{
	(void)xgt;
	return sim_pages(domid, 1, &ref, prot);
}

int xengnttab_unmap(xengnttab_handle *xgt, void *start, uint32_t n)
{
	(void)xgt;
	return munmap(start, (size_t)n * SIM_PAGE);
}

/* ---- libxenevtchn ---------------------------------------------------------------------------- */

struct xenevtchn_handle {
	int fifo;
	struct sim_event port[STORE_PORTS]; /* domain and port at the other end of each port */
	bool bound[STORE_PORTS];
};

xenevtchn_handle *xenevtchn_open(struct xentoollog_logger *logger, unsigned flags)
{
	struct xenevtchn_handle *xce = calloc(1, sizeof(*xce));

	(void)logger;
	(void)flags;
	if (xce)
		xce->fifo = sim_fifo("store.fifo");
	return xce;
}

xenevtchn_handle *xenevtchn_fdopen(struct xentoollog_logger *logger, int fd, unsigned flags)
{
	(void)fd;
	return xenevtchn_open(logger, flags);
}

int xenevtchn_close(xenevtchn_handle *xce)
{
	close(xce->fifo);
	free(xce);
	return 0;
}

int xenevtchn_fd(xenevtchn_handle *xce)
{
	return xce->fifo;
}

static xenevtchn_port_or_error_t port_new(xenevtchn_handle *xce, uint32_t domid, uint32_t remote)
{
	for (unsigned i = 1; i < STORE_PORTS; i++) {
		if (xce->bound[i])
			continue;
		xce->bound[i] = true;
		xce->port[i] = (struct sim_event){domid, remote};
		return (xenevtchn_port_or_error_t)i;
	}
	errno = ENOSPC;
	return -1;
}

xenevtchn_port_or_error_t xenevtchn_bind_interdomain(xenevtchn_handle *xce, uint32_t domid, evtchn_port_t remote)
{
	struct sim_domain domain;

	if (sim_domain(domid, &domain))
		return port_new(xce, domid, remote);
	errno = ESRCH;
	return -1;
}

xenevtchn_port_or_error_t xenevtchn_bind_virq(xenevtchn_handle *xce, unsigned int virq)
{
	return port_new(xce, SIM_VIRQ, virq);
}

int xenevtchn_unbind(xenevtchn_handle *xce, evtchn_port_t port)
{
	if (port < STORE_PORTS)
		xce->bound[port] = false;
	return 0;
}

int xenevtchn_unmask(xenevtchn_handle *xce, evtchn_port_t port)
{
	(void)xce;
	(void)port;
	return 0;
}

int xenevtchn_notify(xenevtchn_handle *xce, evtchn_port_t port)
{
	(void)xce;
	(void)port;
	return 0;
}

xenevtchn_port_or_error_t xenevtchn_pending(xenevtchn_handle *xce)
{
	struct sim_event event;

	while (read(xce->fifo, &event, sizeof(event)) == (ssize_t)sizeof(event))
		for (unsigned i = 1; i < STORE_PORTS; i++)
			if (xce->bound[i] && xce->port[i].domid == event.domid && xce->port[i].port == event.port)
				return (xenevtchn_port_or_error_t)i;
	errno = EAGAIN;
	return -1;
}

/* ---- files ----------------------------------------------------------------------------------- */

/*
 * Open one of the files through which the XenStore servers find dom0's own ring and Xen. Return a
 * descriptor, -1 with errno set, or -2 if PATH is another file.
 */
static int stand_in(const char *path)
{
	int fd;

	if (strcmp(path, "/proc/xen/xsd_port") == 0 || strcmp(path, "/dev/xen/xsd_port") == 0) {
		fd = memfd_create("xsd_port", 0);
		return fd >= 0 && write(fd, "7", 1) == 1 && lseek(fd, 0, SEEK_SET) == 0 ? fd : -1;
	}
	if (strcmp(path, "/proc/xen/xsd_kva") == 0 || strcmp(path, "/dev/xen/xsd_kva") == 0) {
		fd = memfd_create("xsd_kva", 0);
		return fd >= 0 && ftruncate(fd, SIM_PAGE) == 0 ? fd : -1;
	}
	if (strcmp(path, "/dev/xen/privcmd") == 0 || strcmp(path, "/dev/xen/hypercall") == 0)
		return memfd_create("privcmd", 0);
	return -2;
}

static const char *moved(const char *path, char *to, size_t size)
{
	static const char *const below[] = {"/var/run/xenstored", "/var/run/xen", "/var/log/xen"};
	size_t n;

	if (strncmp(path, "/usr/lib/xen-", 13) == 0 && getenv("MPROFD_XEN")) {
		snprintf(to, size, "%s%s", getenv("MPROFD_XEN"), path);
		return to;
	}
	for (unsigned i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		n = strlen(below[i]);
		if (strncmp(path, below[i], n) != 0 || (path[n] && path[n] != '/'))
			continue;
		sim_path(to, size, "%s", path[n] ? path + n + 1 : ".");
		return to;
	}
	return path;
}

/* Return the function of the name NAME that this library replaces. */
static void *next_of(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

int bind(int fd, __CONST_SOCKADDR_ARG any, socklen_t len)
{
	int (*next)(int, const struct sockaddr *, socklen_t) = NULL;
	const struct sockaddr *address = any.__sockaddr__;
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char path[sizeof(at.sun_path)];
	const char *to;

	*(void **)&next = next_of("bind");
	if (address->sa_family != AF_UNIX)
		return next(fd, address, len);
	to = moved(((const struct sockaddr_un *)address)->sun_path, path, sizeof(path));
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", to);
	unlink(at.sun_path);
	return next(fd, (struct sockaddr *)&at, sizeof(at));
}

DIR *opendir(const char *name)
{
	DIR *(*next)(const char *) = NULL;
	char to[512];

	*(void **)&next = next_of("opendir");
	return next(moved(name, to, sizeof(to)));
}

void *dlopen(const char *file, int mode)
{
	void *(*next)(const char *, int) = NULL;
	char to[512];

	*(void **)&next = next_of("dlopen");
	return next(file ? moved(file, to, sizeof(to)) : NULL, mode);
}

int stat64(const char *file, struct stat64 *buf)
{
	int (*next)(const char *, struct stat64 *) = NULL;
	char to[512];

	*(void **)&next = next_of("stat64");
	return next(moved(file, to, sizeof(to)), buf);
}

int mkdir(const char *path, mode_t mode)
{
	int (*next)(const char *, mode_t) = NULL;
	char to[512];

	*(void **)&next = next_of("mkdir");
	return next(moved(path, to, sizeof(to)), mode);
}

int open_as(const char *name, const char *path, int flags, mode_t mode)
{
	int fd = stand_in(path);
	char to[512];

	return fd != -2 ? fd : open_really(name, moved(path, to, sizeof(to)), flags, mode);
}

/* Ignore limits: oxenstored asks for more descriptors than a container may allow. */
int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	(void)resource;
	(void)limit;
	return 0;
}

int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
	(void)resource;
	(void)limit;
	return 0;
}
