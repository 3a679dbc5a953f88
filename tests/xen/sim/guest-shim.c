/*
 * A library for LD_PRELOAD that puts a program into domain $MPROFD_SIM_DOMID of the simulation: it
 * stands in for the devices /dev/xen/gntalloc and /dev/xen/evtchn, for the limit of the kernel's
 * module, and with $MPROFD_SIM_PAGE for the size of the kernel's pages. The program reaches XenStore by the real libxenstore.
 *
 * A descriptor of gntalloc is a file ring.DOMID.K of the simulation (sim.h), whose pages are the
 * grants; so a mapping of it needs no stand-in. As the kernel's, a grant exists as long as any process
 * has the descriptor open. The lock on the file belongs to the descriptor and its copies.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xen/gntalloc.h>
#include <xenevtchn.h>

#include "opens.h"
#include "sim.h"

#define RINGS (SIM_REFS >> 16)

static unsigned domid(void)
{
	const char *text = getenv("MPROFD_SIM_DOMID");

	return text ? (unsigned)strtoul(text, NULL, 10) : 0;
}

/* ---- files: the devices and the limit ------------------------------------------------------------- */

static void ring_path(char *path, size_t size, unsigned k)
{
	sim_path(path, size, "ring.%u.%u", domid(), k);
}

/* Take the lock over all rings. Closing the result returns it. */
static int rings_lock(void)
{
	char path[512];
	int fd;

	sim_path(path, sizeof(path), "rings.lock");
	fd = open_really("open", path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd >= 0)
		flock(fd, LOCK_EX);
	return fd;
}

/* Return a new descriptor without grants, or -1 with errno set. */
static int gntalloc_open(void)
{
	int fd = -1, lock = rings_lock();
	char path[512];

	for (unsigned k = 1; k < RINGS && fd < 0; k++) {
		ring_path(path, sizeof(path), k);
		fd = open_really("open", path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	}
	if (fd >= 0)
		flock(fd, LOCK_SH);
	close(lock);
	return fd;
}

int open_as(const char *name, const char *path, int flags, mode_t mode)
{
	char to[512];

	if (strcmp(path, "/dev/xen/gntalloc") == 0)
		return gntalloc_open();
	if (strcmp(path, "/dev/xen/evtchn") == 0)
		return open_really(name, "/dev/null", O_RDWR | O_CLOEXEC, 0);
	if (strcmp(path, "/proc/xen/capabilities") == 0)
		return open_really(name, "/dev/null", O_RDONLY | O_CLOEXEC, 0);
	if (strcmp(path, "/sys/module/xen_gntalloc/parameters/limit") == 0) {
		sim_path(to, sizeof(to), "gntalloc");
		path = to;
	}
	return open_really(name, path, flags, mode);
}

/* ---- the kernel's pages ---------------------------------------------------------------------------- */

long sysconf(int name)
{
	const char *page = name == _SC_PAGESIZE ? getenv("MPROFD_SIM_PAGE") : NULL;
	long (*next)(int) = NULL;

	if (page)
		return strtol(page, NULL, 10);
	*(void **)&next = dlsym(RTLD_NEXT, "sysconf");
	return next(name);
}

/* ---- grants ---------------------------------------------------------------------------------------- */

/* Return the number of K if FD is a descriptor of gntalloc, or 0. */
static unsigned ring_of(int fd)
{
	char path[64], file[512], mine[512];
	const char *dot;
	unsigned k;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, file, sizeof(file) - 1);
	file[n > 0 ? n : 0] = '\0';
	dot = strrchr(file, '.');
	k = dot ? (unsigned)strtoul(dot + 1, NULL, 10) : 0;
	ring_path(mine, sizeof(mine), k);
	return k > 0 && k < RINGS && strcmp(file, mine) == 0 ? k : 0;
}

/* Return the number of the domain's grants. End those that no process has open. */
static uint64_t grants_sweep(void)
{
	uint64_t pages = 0;
	int lock = rings_lock();
	char path[512];
	struct stat st;

	for (unsigned k = 1; k < RINGS; k++) {
		int fd;

		ring_path(path, sizeof(path), k);
		fd = open_really("open", path, O_RDWR | O_CLOEXEC, 0);
		if (fd < 0)
			continue;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			unlink(path);
		else if (fstat(fd, &st) == 0)
			pages += (uint64_t)st.st_size / SIM_PAGE;
		close(fd);
	}
	close(lock);
	return pages;
}

static uint64_t grants_limit(void)
{
	char path[512], text[32];
	ssize_t n = -1;
	int fd;

	sim_path(path, sizeof(path), "gntalloc");
	fd = open_really("open", path, O_RDONLY | O_CLOEXEC, 0);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? strtoull(text, NULL, 10) : 1024;
}

/* Grant REQUEST's pages, behind those that the descriptor has. Their files are zero, as the kernel's pages. */
static int grants_make(int fd, unsigned k, struct ioctl_gntalloc_alloc_gref *request)
{
	struct stat st;

	if (!request->count || request->domid != 0 || request->flags != 0) {
		errno = EINVAL;
		return -1;
	}
	if (grants_sweep() + request->count > grants_limit()) {
		errno = ENOSPC;
		return -1;
	}
	if (fstat(fd, &st) < 0 || ftruncate(fd, st.st_size + (off_t)request->count * SIM_PAGE) < 0)
		return -1;
	request->index = (uint64_t)st.st_size;
	for (uint32_t i = 0; i < request->count; i++)
		request->gref_ids[i] = (k << 16) + (uint32_t)(st.st_size / SIM_PAGE) + i;
	return 0;
}

int ioctl(int fd, unsigned long number, ...)
{
	int (*next)(int, unsigned long, ...) = NULL;
	va_list arguments;
	void *argument;
	unsigned k;

	va_start(arguments, number);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	if (number == IOCTL_GNTALLOC_ALLOC_GREF) {
		k = ring_of(fd);
		if (k)
			return grants_make(fd, k, argument);
	}
	*(void **)&next = dlsym(RTLD_NEXT, "ioctl");
	return next(fd, number, argument);
}

/* ---- event channels ---------------------------------------------------------------------------------- */

struct xenevtchn_handle {
	struct sim_evtchn *table;
	_Atomic uint32_t *ports;
};

xenevtchn_handle *xenevtchn_open(struct xentoollog_logger *logger, unsigned flags)
{
	struct xenevtchn_handle *xce = calloc(1, sizeof(*xce));

	(void)logger;
	(void)flags;
	if (!xce)
		return NULL;
	xce->table = sim_map("evtchn", sizeof(*xce->table));
	xce->ports = sim_ports(domid());
	return xce;
}

int xenevtchn_close(xenevtchn_handle *xce)
{
	munmap(xce->table, sizeof(*xce->table));
	munmap((void *)xce->ports, SIM_GUEST_PORTS * sizeof(*xce->ports));
	free(xce);
	return 0;
}

xenevtchn_port_or_error_t xenevtchn_bind_unbound_port(xenevtchn_handle *xce, uint32_t remote)
{
	uint32_t closed;

	for (unsigned port = 4; remote == 0 && port < 4096; port++) {
		closed = SIM_PORT_CLOSED;
		if (atomic_compare_exchange_strong(&xce->ports[port], &closed, SIM_PORT_OFFERED))
			return (xenevtchn_port_or_error_t)port;
	}
	errno = ENOSPC;
	return -1;
}

int xenevtchn_notify(xenevtchn_handle *xce, evtchn_port_t port)
{
	sim_kick(xce->table, xce->ports, port);
	return 0;
}

int xenevtchn_unbind(xenevtchn_handle *xce, evtchn_port_t port)
{
	xce->ports[port] = SIM_PORT_CLOSED;
	return 0;
}
