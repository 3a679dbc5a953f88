/*
 * The functions of libxengnttab and libxenevtchn that mprofd calls, on the simulation's files. They
 * are linked before the real libraries.
 *
 * They refuse the calls that the real functions refuse: references that are not granted or are
 * revoked, writable mappings of read-only grants, domains that do not exist, ports that are not
 * offered or are bound already. Event channels behave like the kernel's device: when a port was
 * read, it is masked until it is unmasked; events that come while it is masked are reported once,
 * after that. Files record the mappings and the times of events for the tests (sim.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <xenevtchn.h>
#include <xengnttab.h>

#include "sim.h"
#include "xen.h"

#define MAP_PAGES_MAX 65536u /* gntdev's limit of pages per mapping */

/* Return true. The real function looks into /proc. */
bool xen_is_dom0(void)
{
	return true;
}

/* Return $MPROFD_SIM_PAGE for the kernel's bytes in a page, if it is set. */
long __wrap_sysconf(int name);
long __real_sysconf(int name);

long __wrap_sysconf(int name)
{
	const char *page = name == _SC_PAGESIZE ? getenv("MPROFD_SIM_PAGE") : NULL;

	return page ? strtol(page, NULL, 10) : __real_sysconf(name);
}

/* ---- grants ---------------------------------------------------------------------------------- */

struct mapping {
	struct mapping *next;
	char *memory;
	unsigned domid;
	struct sim_maps *maps;
	uint32_t n;
	uint32_t refs[];
};

struct xengntdev_handle {
	struct mapping *mappings;
};

xengnttab_handle *xengnttab_open(struct xentoollog_logger *logger, unsigned flags)
{
	(void)logger;
	(void)flags;
	return calloc(1, sizeof(struct xengntdev_handle));
}

static struct sim_maps *maps_of(unsigned domid)
{
	struct sim_maps *maps;
	char name[32], path[512];

	snprintf(name, sizeof(name), "maps.%u", domid);
	maps = sim_map(name, sizeof(*maps));
	if (maps && maps->pid && maps->pid != (uint32_t)getpid()) {
		/* The process that had the mappings was killed: forget its mappings. */
		munmap(maps, sizeof(*maps));
		sim_path(path, sizeof(path), "%s", name);
		unlink(path);
		maps = sim_map(name, sizeof(*maps));
	}
	if (maps)
		maps->pid = (uint32_t)getpid();
	return maps;
}

static void mapping_count(struct mapping *mapping, int by)
{
	for (uint32_t i = 0; i < mapping->n; i++)
		mapping->maps->refs[mapping->refs[i]] = (uint8_t)(mapping->maps->refs[mapping->refs[i]] + by);
	if (by > 0) {
		mapping->maps->pages += mapping->n;
		mapping->maps->maps++;
		mapping->maps->mapped_ns = sim_now();
	} else {
		mapping->maps->pages -= mapping->n;
		mapping->maps->unmaps++;
		mapping->maps->unmapped_ns = sim_now();
	}
}

static void mapping_end(struct mapping *mapping)
{
	munmap(mapping->memory, (size_t)mapping->n * SIM_PAGE);
	mapping_count(mapping, -1);
	munmap(mapping->maps, sizeof(*mapping->maps));
	free(mapping);
}

int xengnttab_close(xengnttab_handle *xgt)
{
	struct mapping *next;

	for (struct mapping *m = xgt ? xgt->mappings : NULL; m; m = next) {
		next = m->next;
		mapping_end(m);
	}
	free(xgt);
	return 0;
}

static bool revoked(unsigned domid, uint32_t n, const uint32_t *refs)
{
	bool found = false;
	char path[512];
	unsigned ref;
	FILE *f;

	sim_path(path, sizeof(path), "revoked.%u", domid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (!found && fscanf(f, "%u", &ref) == 1)
		for (uint32_t i = 0; i < n; i++)
			found = found || refs[i] == ref;
	fclose(f);
	return found;
}

static void wait_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* Delay a mapping, or pause in its middle, if a file of the simulation says so. */
static void mapping_hooks(unsigned domid)
{
	char pause[512], paused[512], path[512];
	long ms = 0;
	FILE *f;

	sim_path(path, sizeof(path), "slow.%u", domid);
	f = fopen(path, "re");
	if (f) {
		if (fscanf(f, "%ld", &ms) == 1)
			wait_ms(ms);
		fclose(f);
	}
	sim_path(pause, sizeof(pause), "pause.%u", domid);
	sim_path(paused, sizeof(paused), "paused.%u", domid);
	if (access(pause, F_OK) < 0)
		return;
	f = fopen(paused, "we");
	if (f)
		fclose(f);
	while (access(pause, F_OK) == 0)
		wait_ms(1);
	unlink(paused);
}

/* Return whether dom0 has no memory for a mapping: the simulation's file has the number of those that fail so. */
static bool memory_lacks(unsigned domid)
{
	unsigned left = 0;
	char path[512];
	FILE *f;

	sim_path(path, sizeof(path), "scarce.%u", domid);
	f = fopen(path, "r+e");
	if (!f)
		return false;
	if (fscanf(f, "%u", &left) == 1 && left) {
		rewind(f);
		fprintf(f, "%u\n", left - 1);
	}
	fclose(f);
	return left;
}

static void *mapping_refused(struct sim_maps *maps, struct mapping *mapping)
{
	free(mapping);
	if (maps) {
		maps->refused++;
		munmap(maps, sizeof(*maps));
	}
	errno = EINVAL;
	return NULL;
}

void *xengnttab_map_domain_grant_refs(xengnttab_handle *xgt, uint32_t count, uint32_t domid, uint32_t *refs, int prot)
{
	struct sim_maps *maps;
	struct sim_domain domain;
	struct mapping *mapping;

	if (!sim_domain(domid, &domain)) {
		errno = EINVAL;
		return NULL;
	}
	if (memory_lacks(domid)) {
		errno = ENOMEM;
		return NULL;
	}
	maps = maps_of(domid);
	mapping = malloc(sizeof(*mapping) + count * sizeof(refs[0]));
	if (!maps || !mapping || !count || count > MAP_PAGES_MAX || prot != PROT_READ)
		return mapping_refused(maps, mapping);
	for (uint32_t i = 0; i < count; i++)
		if (refs[i] >= SIM_REFS)
			return mapping_refused(maps, mapping);
	mapping_hooks(domid);
	if (revoked(domid, count, refs) || !sim_domain(domid, &domain))
		return mapping_refused(maps, mapping);
	*mapping = (struct mapping){.domid = domid, .maps = maps, .n = count};
	memcpy(mapping->refs, refs, count * sizeof(refs[0]));
	mapping->memory = sim_pages(domid, count, refs, prot);
	if (!mapping->memory)
		return mapping_refused(maps, mapping);
	mapping_count(mapping, 1);
	mapping->next = xgt->mappings;
	xgt->mappings = mapping;
	return mapping->memory;
}

void *xengnttab_map_grant_ref(xengnttab_handle *xgt, uint32_t domid, uint32_t ref, int prot)
{
	return xengnttab_map_domain_grant_refs(xgt, 1, domid, &ref, prot);
}

/* Unmap as munmap does, but refuse to unmap a part of a mapping, as gntdev does. */
int xengnttab_unmap(xengnttab_handle *xgt, void *start_address, uint32_t count)
{
	struct mapping *m;

	for (struct mapping **at = &xgt->mappings; (m = *at); at = &m->next) {
		if (m->memory != start_address || m->n != count)
			continue;
		*at = m->next;
		mapping_end(m);
		return 0;
	}
	errno = EINVAL;
	return -1;
}

int xengnttab_set_max_grants(xengnttab_handle *xgt, uint32_t nr_grants)
{
	(void)xgt;
	(void)nr_grants;
	return 0;
}

/* ---- event channels -------------------------------------------------------------------------- */

struct xenevtchn_handle {
	int fifo;
	struct sim_evtchn *table;
};

/* Close dom0's end of a port. The guest's end is offered again. */
static void port_close(struct sim_port *port, evtchn_port_t local)
{
	_Atomic uint32_t *ports = sim_ports(port->domid);
	uint32_t bound = SIM_PORT_BOUND | local;

	if (ports) {
		atomic_compare_exchange_strong(&ports[port->remote], &bound, SIM_PORT_OFFERED);
		munmap(ports, SIM_GUEST_PORTS * sizeof(*ports));
	}
	port->bound = 0;
}

static void ports_close(struct sim_evtchn *table)
{
	for (evtchn_port_t i = 1; i < SIM_PORTS; i++)
		if (table->port[i].bound)
			port_close(&table->port[i], i);
}

xenevtchn_handle *xenevtchn_open(struct xentoollog_logger *logger, unsigned flags)
{
	struct xenevtchn_handle *xce = calloc(1, sizeof(*xce));
	uint32_t stale;
	int left = 0;

	(void)logger;
	(void)flags;
	if (!xce)
		return NULL;
	xce->fifo = sim_fifo("evtchn.fifo");
	xce->table = sim_map("evtchn", sizeof(*xce->table));
	if (xce->fifo < 0 || !xce->table) {
		xenevtchn_close(xce);
		return NULL;
	}
	/* Close the ports that a killed process had bound. */
	ports_close(xce->table);
	while (ioctl(xce->fifo, FIONREAD, &left) == 0 && left && read(xce->fifo, &stale, sizeof(stale)) > 0)
		;
	/* Reads block, as those of the kernel's device do, unless the caller changes that. */
	fcntl(xce->fifo, F_SETFL, 0);
	xce->table->pid = (uint32_t)getpid();
	return xce;
}

int xenevtchn_close(xenevtchn_handle *xce)
{
	if (!xce)
		return 0;
	if (xce->table) {
		ports_close(xce->table);
		munmap(xce->table, sizeof(*xce->table));
	}
	if (xce->fifo >= 0)
		close(xce->fifo);
	free(xce);
	return 0;
}

int xenevtchn_fd(xenevtchn_handle *xce)
{
	return xce->fifo;
}

static void port_raise(const struct xenevtchn_handle *xce, evtchn_port_t local)
{
	/* The FIFO has each port at most twice, and has room for all ports. */
	if (write(xce->fifo, &local, sizeof(local)) < 0)
		abort();
}

xenevtchn_port_or_error_t xenevtchn_bind_interdomain(xenevtchn_handle *xce, uint32_t domid, evtchn_port_t remote_port)
{
	uint32_t offered = SIM_PORT_OFFERED;
	struct sim_domain domain;
	_Atomic uint32_t *ports;
	evtchn_port_t local = 1;
	bool bound;

	if (!sim_domain(domid, &domain)) {
		errno = ESRCH;
		return -1;
	}
	while (local < SIM_PORTS && xce->table->port[local].bound)
		local++;
	if (local == SIM_PORTS) {
		errno = ENOSPC;
		return -1;
	}
	ports = remote_port < SIM_GUEST_PORTS ? sim_ports(domid) : NULL;
	bound = ports && atomic_compare_exchange_strong(&ports[remote_port], &offered, SIM_PORT_BOUND | local);
	if (bound) {
		memset(&xce->table->port[local], 0, sizeof(xce->table->port[local]));
		xce->table->port[local].domid = domid;
		xce->table->port[local].remote = remote_port;
		xce->table->port[local].pending = 1;
		xce->table->port[local].bound = 1;
		port_raise(xce, local);
	}
	if (ports)
		munmap(ports, SIM_GUEST_PORTS * sizeof(*ports));
	errno = EINVAL;
	return bound ? (xenevtchn_port_or_error_t)local : -1;
}

static struct sim_port *port_of(const struct xenevtchn_handle *xce, evtchn_port_t port)
{
	if (port > 0 && port < SIM_PORTS && xce->table->port[port].bound)
		return &xce->table->port[port];
	errno = ENOTCONN;
	return NULL;
}

int xenevtchn_unbind(xenevtchn_handle *xce, evtchn_port_t port)
{
	struct sim_port *p = port_of(xce, port);

	if (!p)
		return -1;
	port_close(p, port);
	return 0;
}

int xenevtchn_notify(xenevtchn_handle *xce, evtchn_port_t port)
{
	return port_of(xce, port) ? 0 : -1;
}

xenevtchn_port_or_error_t xenevtchn_pending(xenevtchn_handle *xce)
{
	struct sim_port *p;
	uint32_t local;
	int left = 1;

	while (left && read(xce->fifo, &local, sizeof(local)) == (ssize_t)sizeof(local)) {
		p = port_of(xce, local);
		if (!p || p->masked) {
			if (ioctl(xce->fifo, FIONREAD, &left) < 0)
				left = 0;
			continue;
		}
		p->masked = 1;
		p->pending = 0;
		p->delivered++;
		p->delivered_ns = sim_now();
		return (xenevtchn_port_or_error_t)local;
	}
	errno = EAGAIN;
	return -1;
}

int xenevtchn_unmask(xenevtchn_handle *xce, evtchn_port_t port)
{
	struct sim_port *p = port_of(xce, port);

	if (!p)
		return -1;
	p->unmasked_ns = sim_now();
	p->masked = 0;
	if (p->pending)
		port_raise(xce, port);
	return 0;
}
