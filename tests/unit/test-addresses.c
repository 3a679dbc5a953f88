/*
 * The search for the domain that has an address. The test replaces XenStore; each domain has one
 * vif.
 */
#include <errno.h>
#include <stdlib.h>

#include "addresses.h"
#include "check.h"
#include "domain.h"
#include "xen.h"

#define DOMAINS 3u

static const char *ips[DOMAINS]; /* addresses of domains 1, 2 and 3; NULL: the domain has no vif */
static unsigned reads;

int xen_list(struct xen *xen, uint32_t t, const char *path, char ***names, size_t *n)
{
	static char vif[] = "0";
	unsigned domid;

	(void)xen;
	CHECK_EQ_UINT(t, 0);
	if (!CHECK(sscanf(path, "/local/domain/0/backend/vif/%u", &domid) == 1) || !ips[domid - 1])
		return -ENOENT;
	*names = malloc(sizeof(**names));
	**names = vif;
	*n = 1;
	return 0;
}

int xen_read(struct xen *xen, uint32_t t, const char *path, char **value, size_t *len)
{
	unsigned domid;

	(void)xen;
	(void)t;
	reads++;
	if (!CHECK(sscanf(path, "/local/domain/0/backend/vif/%u/0/ip", &domid) == 1))
		return -ENOENT;
	*value = strdup(ips[domid - 1]);
	*len = strlen(*value);
	return 0;
}

static struct host host;
static struct domain domains[DOMAINS];

/* Make a host whose list has the domains with the serials in ORDER, in this order. */
static void host_make(const unsigned order[DOMAINS])
{
	host = (struct host){.domains = &domains[0], .n_domains = DOMAINS};
	for (unsigned i = 0; i < DOMAINS; i++) {
		domains[i] = (struct domain){.host = &host, .domid = order[i], .serial = order[i], .phase = PHASE_ON};
		domains[i].next = i + 1 < DOMAINS ? &domains[i + 1] : NULL;
	}
	reads = 0;
}

/* Return the serial of the domain that has ADDRESS, or 0. */
static unsigned found(struct addresses *a, const char *address)
{
	const struct domain *domain = addresses_find(a, &host, address);

	return domain ? (unsigned)domain->serial : 0;
}

/*
 * If several domains have an address, the youngest of them is found, whatever their order in the
 * list.
 */
static void test_youngest(void)
{
	static const unsigned orders[][DOMAINS] = {{1, 2, 3}, {3, 2, 1}, {2, 3, 1}};

	ips[0] = "10.0.0.5 10.0.0.6";
	ips[1] = "10.0.0.5";
	ips[2] = "10.0.0.7";
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct addresses a = {0};

		host_make(orders[i]);
		CHECK_EQ_UINT(found(&a, "10.0.0.5"), 2);
		CHECK_EQ_UINT(found(&a, "10.0.0.6"), 1);
		CHECK_EQ_UINT(found(&a, "10.0.0.7"), 3);
		addresses_deinit(&a);
	}
}

static void test_words(void)
{
	static const unsigned order[DOMAINS] = {1, 2, 3};
	struct addresses a = {0};
	char text[64];

	ips[0] =
		"junk, 10.0.0.5/24\tfe80::5,/ 300.1.1.1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	ips[1] = "";
	ips[2] = NULL;
	host_make(order);
	CHECK_EQ_UINT(found(&a, "10.0.0.5"), 1);
	CHECK_EQ_UINT(found(&a, "fe80:0:0::5"), 1);
	CHECK_EQ_UINT(reads, 2); /* addresses that were read are kept for a while */
	CHECK_EQ_UINT(found(&a, "10.0.0.50"), 0);
	CHECK_EQ_UINT(found(&a, "300.1.1.1"), 0);
	CHECK_EQ_UINT(found(&a, "junk"), 0);
	CHECK_EQ_UINT(found(&a, ""), 0);
	addresses_first(&a, &domains[0], text, sizeof(text));
	CHECK_EQ_STR(text, "10.0.0.5");
	addresses_first(&a, &domains[1], text, sizeof(text));
	CHECK_EQ_STR(text, "");
	/* A domain that has ended has no address. */
	domains[0].phase = PHASE_OVER;
	CHECK_EQ_UINT(found(&a, "10.0.0.5"), 0);
	addresses_deinit(&a);
}

int main(void)
{
	CHECK_RUN(test_youngest);
	CHECK_RUN(test_words);
	return check_done();
}
