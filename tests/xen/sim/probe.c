/*
 * probe: call the fakes of Xen's libraries, to test the simulation itself. The program reads one
 * command per line from standard input and answers each with a line:
 *
 *  map DOMID REF…     the first byte of each page in decimal, or "errno N"
 *  write DOMID REF    try a writable mapping, which must fail
 *  unmap              unmap the newest mapping; "ok" or "errno N"
 *  bind DOMID PORT    dom0's port, or "errno N"
 *  unbind PORT        "ok" or "errno N"
 *  pending            the next pending port, or 0 if there is none within 100 ms
 *  unmask PORT        "ok" or "errno N"
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xenevtchn.h>
#include <xengnttab.h>

#include "sim.h"

#define REFS_MAX 64u

struct probe {
	xengnttab_handle *gnttab;
	xenevtchn_handle *evtchn;
	unsigned char *last;
	uint32_t n;
};

static void say(int r)
{
	if (r < 0)
		printf("errno %d\n", errno);
	else
		puts("ok");
}

static void probe_map(struct probe *probe, const char *text, int protection)
{
	uint32_t refs[REFS_MAX], n = 0;
	char *end;
	uint32_t domid = (uint32_t)strtoul(text, &end, 10);

	while (n < REFS_MAX && *end == ' ')
		refs[n++] = (uint32_t)strtoul(end + 1, &end, 10);
	probe->last = xengnttab_map_domain_grant_refs(probe->gnttab, n, domid, refs, protection);
	probe->n = n;
	if (!probe->last)
		printf("errno %d", errno);
	for (uint32_t i = 0; probe->last && i < n; i++)
		printf("%s%u", i ? " " : "", probe->last[(size_t)i * SIM_PAGE]);
	puts("");
}

static void probe_pending(const struct probe *probe)
{
	struct pollfd poll_fd = {.fd = xenevtchn_fd(probe->evtchn), .events = POLLIN};

	printf("%d\n", poll(&poll_fd, 1, 100) == 1 ? xenevtchn_pending(probe->evtchn) : 0);
}

static void probe_bind(const struct probe *probe, const char *text)
{
	char *end;
	uint32_t domid = (uint32_t)strtoul(text, &end, 10);
	int port = xenevtchn_bind_interdomain(probe->evtchn, domid, (evtchn_port_t)strtoul(end, NULL, 10));

	if (port < 0)
		printf("errno %d\n", errno);
	else
		printf("%d\n", port);
}

static bool probe_do(struct probe *probe, const char *line)
{
	const char *rest = strchr(line, ' ');
	evtchn_port_t number = rest ? (evtchn_port_t)strtoul(rest, NULL, 10) : 0;

	if (strncmp(line, "map ", 4) == 0)
		probe_map(probe, line + 4, PROT_READ);
	else if (strncmp(line, "write ", 6) == 0)
		probe_map(probe, line + 6, PROT_READ | PROT_WRITE);
	else if (strncmp(line, "unmap", 5) == 0)
		say(xengnttab_unmap(probe->gnttab, probe->last, probe->n));
	else if (strncmp(line, "bind ", 5) == 0)
		probe_bind(probe, line + 5);
	else if (strncmp(line, "unbind ", 7) == 0)
		say(xenevtchn_unbind(probe->evtchn, number));
	else if (strncmp(line, "pending", 7) == 0)
		probe_pending(probe);
	else if (strncmp(line, "unmask ", 7) == 0)
		say(xenevtchn_unmask(probe->evtchn, number));
	else
		return false;
	fflush(stdout);
	return true;
}

int main(void)
{
	struct probe probe = {.gnttab = xengnttab_open(NULL, 0), .evtchn = xenevtchn_open(NULL, 0)};
	bool good = probe.gnttab && probe.evtchn;
	char line[1024];

	while (good && fgets(line, sizeof(line), stdin))
		good = probe_do(&probe, line);
	if (probe.gnttab)
		xengnttab_close(probe.gnttab);
	if (probe.evtchn)
		xenevtchn_close(probe.evtchn);
	return good ? 0 : 1;
}
