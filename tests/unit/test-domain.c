/*
 * How a domain reacts to XenStore events, and what the end of a run resets. XenStore is not read.
 */
#include <errno.h>

#include "check.h"
#include "domain-steps.h"
#include "xen.h"

#define TRIES 20u /* value of TRIES in each attachment before an event */

/* ---- stubs ---- */

int xen_watch(struct xen *xen, const char *path, const char *token)
{
	(void)xen;
	(void)path;
	(void)token;
	return -EINVAL;
}

int xen_unwatch(struct xen *xen, const char *path, const char *token)
{
	return xen_watch(xen, path, token);
}

int xen_read_begin(struct xen *xen, uint32_t *t)
{
	(void)xen;
	(void)t;
	return -EINVAL;
}

int xen_read_end(struct xen *xen, uint32_t t)
{
	(void)xen;
	(void)t;
	return -EINVAL;
}

int xen_read(struct xen *xen, uint32_t t, const char *path, char **value, size_t *len)
{
	(void)xen;
	(void)t;
	(void)path;
	(void)value;
	(void)len;
	return -ENOENT;
}

int xen_list(struct xen *xen, uint32_t t, const char *path, char ***names, size_t *n)
{
	(void)xen;
	(void)t;
	(void)path;
	(void)names;
	(void)n;
	return -ENOENT;
}

int xen_map(struct xen *xen, uint32_t domid, const uint32_t *refs, size_t n, const volatile uint8_t **bytes)
{
	(void)xen;
	(void)domid;
	(void)refs;
	(void)n;
	(void)bytes;
	return -EINVAL;
}

void xen_unmap(struct xen *xen, const volatile uint8_t *bytes, size_t n)
{
	(void)xen;
	(void)bytes;
	(void)n;
}

int xen_bind(struct xen *xen, uint32_t domid, uint32_t port, uint32_t *local)
{
	(void)xen;
	(void)domid;
	(void)port;
	(void)local;
	return -EINVAL;
}

void xen_unbind(struct xen *xen, uint32_t local)
{
	(void)xen;
	(void)local;
}

void xen_unmask(struct xen *xen, uint32_t local)
{
	(void)xen;
	(void)local;
}

int host_port_set(struct host *host, uint32_t local, struct attachment *attachment)
{
	(void)host;
	(void)local;
	(void)attachment;
	return 0;
}

void host_drain(struct host *host)
{
	(void)host;
}

void host_asked(struct host *host, uint64_t now)
{
	(void)host;
	(void)now;
}

void host_sweep_soon(struct host *host)
{
	(void)host;
}

/* ---- the domain ---- */

static struct host host;
static struct attachment attachments[2];
static struct domain domain;

static void domain_make(void)
{
	attachments[0] = (struct attachment){.number = 0, .domain = &domain, .tries = TRIES, .next = &attachments[1]};
	attachments[1] = (struct attachment){.number = 3, .domain = &domain, .tries = TRIES};
	domain = (struct domain){
		.host = &host, .domid = 5, .phase = PHASE_NEW, .attachments = &attachments[0], .n_attachments = 2};
}

/*
 * A write to a commit key marks only the attachment of this key, and resets the attachment's tries.
 */
static void test_commit(void)
{
	static const char *const keys[] = {"/local/domain/5/data/mprof/ring-ref",
					   "/local/domain/5/data/mprof/directory-ref",
					   "/local/domain/5/data/mprof/stream/3/ring-ref"};

	for (unsigned i = 0; i < 3; i++) {
		const struct attachment *is = &attachments[i / 2], *other = &attachments[i < 2];

		domain_make();
		domain_on_keys(&domain, keys[i], 1);
		CHECK(is->dirty && is->writes == 1 && is->tries == 0 && !is->rebind);
		CHECK(!other->dirty && other->writes == 0 && other->tries == TRIES);
		CHECK(!domain.scan && !domain.offer);
	}
}

/*
 * A write to the event-channel key asks for a new bind, and does not count as a write of the ring.
 */
static void test_port(void)
{
	domain_make();
	domain_on_keys(&domain, "/local/domain/5/data/mprof/event-channel", 1);
	CHECK(attachments[0].dirty && attachments[0].rebind && attachments[0].writes == 0);
	domain_on_keys(&domain, "/local/domain/5/data/mprof/ring-ref", 1);
	CHECK(attachments[0].rebind && attachments[0].writes == 1);
}

static void test_others(void)
{
	domain_make();
	domain_on_keys(&domain, "/local/domain/5/data/mprof/name", 1);
	domain_on_keys(&domain, "/local/domain/5/data/mprof/stream/3/name", 1);
	CHECK(!attachments[0].dirty && !attachments[1].dirty && !domain.scan && !domain.offer);
	domain_on_keys(&domain, "/local/domain/5/data/mprof/memtrace-port", 1);
	CHECK(!attachments[0].dirty && domain.offer && !domain.scan);
	domain_on_keys(&domain, "/local/domain/5/data/mprof/stream", 1);
	CHECK(attachments[0].dirty && attachments[1].dirty && domain.scan);
}

/* A stream number that is not allowed is refused, and counted by its reason. */
static void test_numbers(void)
{
	domain_make();
	domain_on_keys(&domain, "/local/domain/5/data/mprof/stream/0/ring-ref", 1);
	CHECK_EQ_UINT(host.refused[FAULT_STREAM_ZERO], 1);
	domain_on_keys(&domain, "/local/domain/5/data/mprof/stream/03/ring-ref", 1);
	domain_on_keys(&domain, "/local/domain/5/data/mprof/stream/1024/ring-ref", 1);
	CHECK_EQ_UINT(host.refused[FAULT_STREAMS], 2);
	CHECK(!attachments[0].dirty && !attachments[1].dirty);
}

/* The end of a run clears the held positions and the used stream numbers. */
static void test_run_end(void)
{
	domain_make();
	domain.unfinished = 7;
	domain.numbers_used[0] = 9;
	attachments[0].has_held = true;
	attachments[1].has_held = true;
	domain_run_end(&domain);
	CHECK(!domain.has_guest && !domain.unfinished && !domain.numbers_used[0]);
	CHECK(!attachments[0].has_held && attachments[0].dirty);
	CHECK(!attachments[1].has_held && attachments[1].dirty);
}

/*
 * The nodes of an attached domain are gone, and a state says that it lives. The state is no proof if it
 * was asked for too early, however late the answer comes: the toolstack may have paused it since.
 */
static void test_late_answer(void)
{
	const struct domain_state alive = {.domid = 5, .flags = DOMAIN_KNOWN};

	domain_make();
	domain.phase = PHASE_ON;
	domain.keys_gone = attachments[0].attached = true;
	domain.alive_from = domain.decide_by = 100;
	domain_on_state(&domain, &alive, 99, 500);
	CHECK(domain.keys_gone);
	domain_on_state(&domain, &alive, 100, 500);
	CHECK(!domain.keys_gone);
}

/* A question about the domain that had the domid before is answered late: the answer says nothing about this one. */
static void test_former_domain(void)
{
	const struct domain_state destroyed = {.domid = 5};

	domain_make();
	domain.made_at = 100;
	domain.phase = PHASE_ASKED;
	domain_on_state(&domain, &destroyed, 99, 500);
	CHECK(domain.phase == PHASE_ASKED && !domain.found_dead);
	domain.phase = PHASE_ON;
	domain_on_state(&domain, &destroyed, 99, 500);
	CHECK(domain.phase == PHASE_ON);
}

int main(void)
{
	CHECK_RUN(test_commit);
	CHECK_RUN(test_port);
	CHECK_RUN(test_others);
	CHECK_RUN(test_numbers);
	CHECK_RUN(test_run_end);
	CHECK_RUN(test_late_answer);
	CHECK_RUN(test_former_domain);
	return check_done();
}
