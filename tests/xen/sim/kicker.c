/*
 * kicker: control guests' event channels from tests that are not written in C. The program reads
 * one command per line from standard input and answers each with a line:
 *
 *  offer DOMID PORT         let dom0 bind the port
 *  take DOMID PORT          let another program in dom0 have bound the port
 *  close DOMID PORT         close the port
 *  kick DOMID PORT          notify dom0; the answer is the time, CLOCK_MONOTONIC ns, or 0 if the
 *                           port is not bound
 *  storm DOMID PORT US MS   kick for MS milliseconds, every US microseconds; the answer is the
 *                           number of kicks that reached a bound port
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "sim.h"

static uint64_t storm(struct sim_evtchn *table, _Atomic uint32_t *ports, unsigned port, unsigned us, unsigned ms)
{
	uint64_t next = sim_now(), end = next + ms * 1000000ull, reached = 0;
	struct timespec until;

	while (next < end) {
		reached += sim_kick(table, ports, port) != 0;
		next += us * 1000ull;
		if (next < sim_now())
			next = sim_now();
		until = (struct timespec){(time_t)(next / 1000000000u), (long)(next % 1000000000u)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
	return reached;
}

int main(void)
{
	struct sim_evtchn *table = sim_map("evtchn", sizeof(*table));
	_Atomic uint32_t *ports = NULL;
	unsigned domid, port, us = 0, ms = 0, last = 0;
	char line[128], word[16];
	uint64_t answer;

	while (table && fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%15s %u %u %u %u", word, &domid, &port, &us, &ms) < 3 || port >= SIM_GUEST_PORTS)
			return 2;
		/*
		 * A domid that is used again has a new file, so map the file again, except between
		 * two kicks of one domain.
		 */
		if (ports && (domid != last || word[0] != 'k')) {
			munmap((void *)ports, SIM_GUEST_PORTS * sizeof(*ports));
			ports = NULL;
		}
		ports = ports ? ports : sim_ports(domid);
		last = domid;
		if (!ports)
			return 1;
		answer = 0;
		if (strcmp(word, "kick") == 0)
			answer = sim_kick(table, ports, port);
		else if (strcmp(word, "storm") == 0)
			answer = storm(table, ports, port, us, ms);
		else
			ports[port] = strcmp(word, "offer") == 0  ? SIM_PORT_OFFERED
				      : strcmp(word, "take") == 0 ? SIM_PORT_TAKEN
								  : SIM_PORT_CLOSED;
		printf("%" PRIu64 "\n", answer);
		fflush(stdout);
	}
	return table ? 0 : 1;
}
