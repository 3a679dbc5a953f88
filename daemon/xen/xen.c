/*
 * Calls of Xen's libraries. No other file of the project includes their headers.
 *
 * The libraries print nothing (null-logger.h): a returned error says what went wrong. Closing
 * /dev/xen/gntdev does not unmap, so this file keeps a list of all mappings and unmaps them when
 * the handle is closed.
 */
#include "xen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xenevtchn.h>
#include <xengnttab.h>
#include <xenstore.h>
#include <xentoollog.h>

#include "maptrack.h"
#include "null-logger.h"

struct mapping {
	struct mapping *next;
	void *bytes;
	uint32_t n;
};

struct xen {
	struct xs_handle *store;
	xengnttab_handle *grants;
	xenevtchn_handle *events;
	struct mapping *mappings;
	uint64_t maptrack;
	unsigned per_page;
	bool watched;
};

/* ---- opening --------------------------------------------------------------------------------- */

/*
 * Return the null logger. The libraries never change a logger, though their functions take a
 * pointer to non-const.
 */
static struct xentoollog_logger *logger(void)
{
	_Static_assert(sizeof(null_logger) == sizeof(struct xentoollog_logger),
		       "null-logger.h is laid out as Xen's logger");
	return (struct xentoollog_logger *)&null_logger;
}

/*
 * Return -errno of the library call that has just failed, or -OTHERWISE: some error paths of the
 * libraries do not set errno.
 */
static int failure(int otherwise)
{
	return errno > 0 ? -errno : -otherwise;
}

/*
 * Open the event channels for reads that do not block: the loop polls the descriptor. Return 0 or
 * -errno.
 */
static int events_open(struct xen *xen)
{
	int fd, flags;

	errno = 0;
	xen->events = xenevtchn_open(logger(), 0);
	if (!xen->events)
		return failure(ENODEV);
	fd = xenevtchn_fd(xen->events);
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

static int open_all(struct xen *xen, const char **what)
{
	*what = "Xen's grants (/dev/xen/gntdev; is the module xen-gntdev loaded?)";
	errno = 0;
	xen->grants = xengnttab_open(logger(), 0);
	if (!xen->grants)
		return failure(ENODEV);
	*what = "Xen's event channels (/dev/xen/evtchn; is the module xen-evtchn loaded?)";
	if (events_open(xen))
		return failure(ENODEV);
	*what = "XenStore (is xenstored running?)";
	errno = 0;
	xen->store = xs_open(0);
	return xen->store ? 0 : failure(ECONNREFUSED);
}

int xen_open(struct xen **xp, char *sentence, size_t size)
{
	CLEANUP(xen_closep) struct xen *xen = calloc(1, sizeof(*xen));
	const char *what;
	int r;

	if (!xen) {
		snprintf(sentence, size, "no memory");
		return -ENOMEM;
	}
	r = open_all(xen, &what);
	if (r) {
		snprintf(sentence, size, "%s cannot be opened: %s", what, strerror(-r));
		return r;
	}
	maptrack_read(&xen->maptrack, &xen->per_page);
	*xp = TAKE_PTR(xen);
	return 0;
}

struct xen *xen_close(struct xen *xen)
{
	if (!xen)
		return NULL;
	while (xen->mappings)
		xen_unmap(xen, xen->mappings->bytes, xen->mappings->n);
	if (xen->store)
		xs_close(xen->store);
	if (xen->events)
		xenevtchn_close(xen->events); /* also closes every port that is bound */
	if (xen->grants)
		xengnttab_close(xen->grants);
	free(xen);
	return NULL;
}

/* ---- XenStore -------------------------------------------------------------------------------- */

/*
 * Return the error of the XenStore call that has just failed, -EPIPE if the connection is lost. A
 * lost connection gives several errno values. One of them is EINVAL, which may also be xenstored's
 * answer; so after EINVAL ask a question that always has an answer.
 */
static int store_failure(struct xen *xen)
{
	int error = errno;
	char *path;

	switch (error) {
	case EINVAL:
		path = xs_get_domain_path(xen->store, 0);
		if (!path)
			return -EPIPE;
		free(path);
		return -EINVAL;
	case 0:
	case EBADF:
	case ECONNRESET:
	case ENOTCONN:
	case EPIPE:
		return -EPIPE;
	default:
		return -error;
	}
}

int xen_watch(struct xen *xen, const char *path, const char *token)
{
	/* xs_fileno() creates the descriptor, which must exist before the first event. */
	if (!xen->watched && xs_fileno(xen->store) < 0)
		return failure(EMFILE);
	xen->watched = true;
	errno = 0;
	return xs_watch(xen->store, path, token) ? 0 : store_failure(xen);
}

int xen_unwatch(struct xen *xen, const char *path, const char *token)
{
	errno = 0;
	return xs_unwatch(xen->store, path, token) ? 0 : store_failure(xen);
}

int xen_store_fd(struct xen *xen)
{
	return xen->watched ? xs_fileno(xen->store) : -1;
}

int xen_store_event(struct xen *xen, char *path, size_t path_size, char *token, size_t token_size)
{
	char **event;

	if (!xen->watched)
		return 0;
	errno = 0;
	event = xs_check_watch(xen->store);
	if (!event)
		return errno == EAGAIN ? 0 : errno == ENOMEM ? -ENOMEM : -EPIPE;
	snprintf(path, path_size, "%s", event[XS_WATCH_PATH]);
	snprintf(token, token_size, "%s", event[XS_WATCH_TOKEN]);
	free(event);
	return 1;
}

int xen_read_begin(struct xen *xen, uint32_t *t)
{
	errno = 0;
	*t = xs_transaction_start(xen->store);
	return *t != XBT_NULL ? 0 : store_failure(xen);
}

int xen_read_end(struct xen *xen, uint32_t t)
{
	errno = 0;
	return xs_transaction_end(xen->store, t, false) ? 0 : store_failure(xen);
}

int xen_read(struct xen *xen, uint32_t t, const char *path, char **value, size_t *len)
{
	unsigned n = 0;

	errno = 0;
	*value = xs_read(xen->store, t, path, &n);
	*len = n;
	return *value ? 0 : store_failure(xen);
}

int xen_list(struct xen *xen, uint32_t t, const char *path, char ***names, size_t *n)
{
	unsigned count = 0;

	errno = 0;
	*names = xs_directory(xen->store, t, path, &count);
	*n = count;
	return *names ? 0 : store_failure(xen);
}

/* ---- grants ---------------------------------------------------------------------------------- */

int xen_map(struct xen *xen, uint32_t domid, const uint32_t *refs, size_t n, const volatile uint8_t **bytes)
{
	CLEANUP(freep) struct mapping *mapping = NULL;

	if (!n || n > UINT32_MAX)
		return -EINVAL;
	mapping = malloc(sizeof(*mapping));
	if (!mapping)
		return -ENOMEM;
	mapping->n = (uint32_t)n;
	errno = 0;
	/* The library's parameter is not const, but the references are only read. */
	mapping->bytes = xengnttab_map_domain_grant_refs(xen->grants, mapping->n, domid, (uint32_t *)refs, PROT_READ);
	if (!mapping->bytes)
		return failure(EINVAL);
	mapping->next = xen->mappings;
	xen->mappings = mapping;
	*bytes = mapping->bytes;
	TAKE_PTR(mapping);
	return 0;
}

void xen_unmap(struct xen *xen, const volatile uint8_t *bytes, size_t n)
{
	struct mapping **at = &xen->mappings, *mapping;

	while (*at && (*at)->bytes != bytes)
		at = &(*at)->next;
	mapping = *at;
	if (!mapping || mapping->n != n)
		return;
	*at = mapping->next;
	xengnttab_unmap(xen->grants, mapping->bytes, mapping->n);
	free(mapping);
}

void xen_maptrack(struct xen *xen, uint64_t *entries, unsigned *per_page)
{
	*entries = xen->maptrack;
	*per_page = xen->per_page;
}

/* ---- event channels -------------------------------------------------------------------------- */

int xen_event_fd(struct xen *xen)
{
	return xenevtchn_fd(xen->events);
}

int xen_bind(struct xen *xen, uint32_t domid, uint32_t port, uint32_t *local)
{
	xenevtchn_port_or_error_t r;

	errno = 0;
	r = xenevtchn_bind_interdomain(xen->events, domid, port);
	if (r < 0)
		return failure(EINVAL);
	*local = (uint32_t)r;
	return 0;
}

void xen_unbind(struct xen *xen, uint32_t local)
{
	xenevtchn_unbind(xen->events, local);
}

int xen_pending(struct xen *xen, uint32_t *local)
{
	xenevtchn_port_or_error_t r;

	errno = 0;
	r = xenevtchn_pending(xen->events);
	if (r >= 0) {
		*local = (uint32_t)r;
		return 1;
	}
	return errno == EAGAIN || errno == EINTR ? 0 : failure(EIO);
}

void xen_unmask(struct xen *xen, uint32_t local)
{
	xenevtchn_unmask(xen->events, local);
}
