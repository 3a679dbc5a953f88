/*
 * Rings in pages that the kernel grants to domain 0 (/dev/xen/gntalloc), and their event channels.
 *
 * Each ring has a descriptor of its own. The kernel gives the pages of a descriptor consecutive
 * offsets: the ring comes first, and then its directory. It frees a page when nobody has the
 * descriptor open or the page mapped, and not before domain 0 has unmapped it. mprof_xen_ring_make()
 * runs in signal handlers: it makes system calls alone.
 */
#include <mprof/publisher-xen.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xen/gntalloc.h>
#include <xenevtchn.h>
#include <xenstore.h>

#include <mprof/ring.h>

#include "xen-keys.h"

#define GNTALLOC     "/dev/xen/gntalloc"
#define EVTCHN	     "/dev/xen/evtchn"
#define LIMIT	     "/sys/module/xen_gntalloc/parameters/limit"
#define CAPABILITIES "/proc/xen/capabilities"
#define PAGE	     4096u
#define WORDS	     (PAGE / 4)	 /* of a directory page */
#define PAGE_REFS    (WORDS - 1) /* references in it; the last word is the next page's */
#define REF_MIN	     8u		 /* the references below are Xen's own */
#define DOM0	     0

static uint32_t pages_of(size_t bytes)
{
	return (uint32_t)((bytes + PAGE - 1) / PAGE);
}

static uint32_t directory_pages(uint32_t pages)
{
	return (pages + PAGE_REFS - 1) / PAGE_REFS;
}

uint32_t mprof_xen_grants(size_t bytes)
{
	uint32_t pages = pages_of(bytes);

	/* Short lists of references are values. It depends on the references how many fit. */
	return pages + (pages > XEN_REFS_BYTES / 11 ? directory_pages(pages) : 0);
}

/* Read the start of the file PATH to TEXT. Return whether there is one. */
static bool text_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

uint32_t mprof_xen_grants_limit(void)
{
	char text[32];
	long limit = text_read(LIMIT, text, sizeof(text)) ? strtol(text, NULL, 10) : 0;

	return limit > 0 && limit < INT32_MAX ? (uint32_t)limit : 0;
}

/* ---- the connection ------------------------------------------------------------------------------ */

/* Return 0 if the device PATH may be opened, or -errno. */
static int device_try(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT || errno == ENXIO ? -ENODEV : errno == EPERM ? -EACCES : -errno;
	close(fd);
	return 0;
}

int mprof_xen_open(struct mprof_xen *x)
{
	char text[64];
	int r;

	*x = (struct mprof_xen){0};
	if (text_read(CAPABILITIES, text, sizeof(text)) && strstr(text, "control_d"))
		return -EOPNOTSUPP;
	r = device_try(EVTCHN);
	if (r == 0)
		r = device_try(GNTALLOC);
	/* The kernel grants 4 KiB of each page, and a ring is one piece of memory. */
	if (r == 0 && sysconf(_SC_PAGESIZE) != (long)PAGE)
		r = -ENOSYS;
	if (r == 0)
		r = xen_owner(x->owner, sizeof(x->owner));
	if (r)
		return r;
	errno = 0;
	x->store = xs_open(0);
	if (!x->store)
		return errno > 0 && errno != ENOENT ? -errno : -ENODEV;
	x->events = xenevtchn_open(NULL, 0);
	if (!x->events) {
		r = errno > 0 ? -errno : -EIO;
		xs_close(x->store);
		return r;
	}
	xen_keys_sweep(x->store);
	return 0;
}

void mprof_xen_close(struct mprof_xen *x)
{
	if (x->events)
		xenevtchn_close(x->events);
	if (x->store)
		xs_close(x->store);
	*x = (struct mprof_xen){0};
}

int mprof_xen_streams(const struct mprof_xen *x)
{
	return xen_keys_count(x->store);
}

/* ---- memory without malloc ----------------------------------------------------------------------- */

static void *memory_map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* ---- granted pages --------------------------------------------------------------------------------- */

/*
 * Allocate N more pages of DEVICE, which domain 0 may read. Write their references to REFS and their
 * offset to *OFFSET. Return 0 or -errno.
 */
static int pages_grant(int device, uint32_t n, uint32_t *refs, uint64_t *offset)
{
	size_t bytes = offsetof(struct ioctl_gntalloc_alloc_gref, gref_ids) + (size_t)n * sizeof(*refs);
	struct ioctl_gntalloc_alloc_gref *request;
	int r = 0;

	if (bytes < sizeof(*request))
		bytes = sizeof(*request);
	request = memory_map(bytes);
	if (!request)
		return -ENOMEM;
	request->domid = DOM0;
	request->count = n;
	if (ioctl(device, IOCTL_GNTALLOC_ALLOC_GREF, request) < 0)
		r = -errno;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		refs[i] = request->gref_ids[i];
		if (refs[i] < REF_MIN)
			r = -EIO;
	}
	*offset = request->index;
	munmap(request, bytes);
	return r;
}

static void directory_fill(uint32_t *words, const struct mprof_xen_ring *r, const uint32_t *refs, uint32_t n)
{
	for (uint32_t i = 0; i < r->pages; i++)
		words[i / PAGE_REFS * WORDS + i % PAGE_REFS] = r->refs[i];
	for (uint32_t i = 0; i + 1 < n; i++)
		words[i * WORDS + PAGE_REFS] = refs[i + 1];
}

/* Grant the pages of the ring's directory and fill them. Return 0 or -errno. */
static int directory_make(struct mprof_xen_ring *r)
{
	uint32_t n = directory_pages(r->pages), refs[MPROF_RING_BYTES_MAX / PAGE / PAGE_REFS + 1] = {0};
	uint64_t offset;
	void *words;
	int e = pages_grant(r->device, n, refs, &offset);

	if (e)
		return e;
	words = mmap(NULL, (size_t)n * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, r->device, (off_t)offset);
	if (words == MAP_FAILED)
		return -errno;
	directory_fill(words, r, refs, n);
	munmap(words, (size_t)n * PAGE);
	r->directory = refs[0];
	return 0;
}

static int pages_make(struct mprof_xen_ring *r)
{
	uint64_t offset;
	int e;

	r->refs = memory_map((size_t)r->pages * sizeof(*r->refs));
	if (!r->refs)
		return -ENOMEM;
	e = pages_grant(r->device, r->pages, r->refs, &offset);
	if (e == 0 && offset)
		e = -EIO;
	if (e == 0 && xen_refs_bytes(r->refs, r->pages) > XEN_REFS_BYTES)
		e = directory_make(r);
	return e;
}

/* ---- rings --------------------------------------------------------------------------------------- */

int mprof_xen_ring_make(struct mprof_xen *x, struct mprof_xen_ring *r, size_t bytes)
{
	int e;

	if (!bytes || bytes % PAGE || bytes > MPROF_RING_BYTES_MAX)
		return -EINVAL;
	*r = (struct mprof_xen_ring){.device = -1, .bytes = bytes, .pages = pages_of(bytes)};
	r->device = open(GNTALLOC, O_RDWR | O_CLOEXEC);
	if (r->device < 0) {
		r->bytes = 0;
		return errno == ENOENT || errno == ENXIO ? -ENODEV : -errno;
	}
	e = pages_make(r);
	if (e) {
		mprof_xen_ring_free(x, r);
		return e;
	}
	/* Without an event channel domain 0 polls the ring. */
	e = xenevtchn_bind_unbound_port(x->events, DOM0);
	r->port = e > 0 ? e : 0;
	return 0;
}

int mprof_xen_ring_publish(struct mprof_xen *x, struct mprof_xen_ring *r, const char *name)
{
	return r->bytes && !r->stream ? xen_keys_write(x->store, r, x->owner, name) : -EINVAL;
}

void mprof_xen_ring_kick(struct mprof_xen *x, const struct mprof_xen_ring *r)
{
	if (r->port)
		xenevtchn_notify(x->events, (evtchn_port_t)r->port);
}

int mprof_xen_rings_withdraw(struct mprof_xen *x, struct mprof_xen_ring *const *r, size_t n)
{
	return xen_keys_remove(x->store, r, n);
}

void mprof_xen_ring_free(struct mprof_xen *x, struct mprof_xen_ring *r)
{
	if (!r->bytes)
		return;
	if (r->port)
		xenevtchn_unbind(x->events, (evtchn_port_t)r->port);
	if (r->refs)
		munmap(r->refs, (size_t)r->pages * sizeof(*r->refs));
	if (r->device >= 0)
		close(r->device);
	*r = (struct mprof_xen_ring){.device = -1};
}
