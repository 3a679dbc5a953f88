/* The files of the simulated machine, which sim.h describes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sim.h"

void sim_path(char *path, size_t size, const char *format, ...)
{
	const char *directory = getenv("MPROFD_SIM_DIR");
	va_list arguments;
	size_t n;

	snprintf(path, size, "%s/", directory ? directory : ".");
	n = strlen(path);
	va_start(arguments, format);
	vsnprintf(path + n, size - n, format, arguments);
	va_end(arguments);
}

void *sim_map(const char *name, size_t size)
{
	char path[512];
	struct stat st;
	void *memory;
	int fd;

	sim_path(path, sizeof(path), "%s", name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) < 0 || ((size_t)st.st_size < size && ftruncate(fd, (off_t)size) < 0)) {
		close(fd);
		return NULL;
	}
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return memory == MAP_FAILED ? NULL : memory;
}

int sim_fifo(const char *name)
{
	char path[512];

	sim_path(path, sizeof(path), "%s", name);
	if (mkfifo(path, 0666) < 0 && errno != EEXIST)
		return -1;
	/*
	 * Open the FIFO for writing, too. Without a writer it would always be readable, at its end.
	 */
	return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

bool sim_tell(const char *name, const void *record, size_t size)
{
	char path[512];
	ssize_t n = -1;
	int fd;

	sim_path(path, sizeof(path), "%s", name);
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = write(fd, record, size);
	close(fd);
	return n == (ssize_t)size;
}

uint64_t sim_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool sim_alive(uint32_t pid)
{
	return pid && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

/* ---- domains --------------------------------------------------------------------------------- */

/* Return whether a process that is alive has memory of the domain mapped. */
static bool domain_held(unsigned domid)
{
	uint32_t head[2] = {0}; /* PID and PAGES of struct sim_maps */
	char path[512];
	ssize_t n;
	int fd;

	sim_path(path, sizeof(path), "maps.%u", domid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = pread(fd, head, sizeof(head), 0);
	close(fd);
	return n == (ssize_t)sizeof(head) && head[1] && sim_alive(head[0]);
}

static void domain_parse(struct sim_domain *domain, const char *text)
{
	static const char *const reasons[] = {"poweroff", "reboot", "suspend", "crashed", "watchdog", "soft-reset"};

	for (unsigned i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (strncmp(text, reasons[i], strlen(reasons[i])) != 0)
			continue;
		domain->shutdown = true;
		domain->reason = i;
	}
	domain->dying = strstr(text, "dying");
	domain->paused = strstr(text, "paused");
	domain->running = !domain->shutdown && !domain->dying && !domain->paused;
}

bool sim_domain(unsigned domid, struct sim_domain *domain)
{
	char path[512], text[64];
	ssize_t n;
	int fd;

	*domain = (struct sim_domain){.domid = domid, .running = domid == 0};
	if (domid == 0)
		return true;
	if (domid >= SIM_DOMAINS)
		return false;
	sim_path(path, sizeof(path), "dom.%u", domid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	domain_parse(domain, text);
	return !domain->dying || strstr(text, "held") || domain_held(domid);
}

bool sim_domain_from(unsigned first, struct sim_domain *domain)
{
	struct sim_domain other;
	struct dirent *entry;
	bool found = false;
	char path[512];
	unsigned domid;
	DIR *d;

	if (sim_domain(first, domain))
		return true;
	sim_path(path, sizeof(path), ".");
	d = opendir(path);
	while (d && (entry = readdir(d))) {
		if (sscanf(entry->d_name, "dom.%u", &domid) != 1 || domid < first || (found && domid >= domain->domid))
			continue;
		if (!sim_domain(domid, &other))
			continue;
		*domain = other;
		found = true;
	}
	if (d)
		closedir(d);
	return found;
}

bool sim_vcpu(unsigned domid, unsigned number, struct sim_vcpu *vcpu)
{
	char path[512], line[160];
	unsigned long long ran, since;
	struct sim_domain domain;
	bool found = false;
	unsigned at = 0;
	long long rate;
	FILE *f;

	sim_path(path, sizeof(path), "vcpu-asked");
	if (access(path, F_OK) != 0) {
		f = fopen(path, "we");
		if (f)
			fclose(f);
	}
	sim_path(path, sizeof(path), "vcpu.%u", domid);
	f = sim_domain(domid, &domain) ? fopen(path, "re") : NULL;
	while (f && !found && fgets(line, sizeof(line), f))
		found = at++ == number;
	if (f)
		fclose(f);
	if (!found || sscanf(line, "%u %u %u %llu %llu %lld", &vcpu->online, &vcpu->blocked, &vcpu->running, &ran,
			     &since, &rate) != 6)
		return false;
	vcpu->cpu_time = ran + (uint64_t)((int64_t)(sim_now() - since) / 1000 * rate);
	return true;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/*
 * Map at AT the first references of REFS that are adjacent in one file. Return their number, or 0
 * if they cannot be mapped.
 */
static size_t pages_piece(unsigned domid, size_t n, const uint32_t *refs, int protection, char *at)
{
	char path[512];
	struct stat st;
	size_t run = 1;
	void *memory;
	int fd;

	while (run < n && refs[run] == refs[0] + run && refs[run] >> 16 == refs[0] >> 16)
		run++;
	if (refs[0] >> 16)
		sim_path(path, sizeof(path), "ring.%u.%u", domid, refs[0] >> 16);
	else
		sim_path(path, sizeof(path), "mem.%u", domid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) < 0 || ((refs[0] & 0xffff) + run) * SIM_PAGE > (size_t)st.st_size) {
		close(fd);
		return 0;
	}
	memory = mmap(at, run * SIM_PAGE, protection, MAP_SHARED | MAP_FIXED, fd,
		      (off_t)(refs[0] & 0xffff) * (off_t)SIM_PAGE);
	close(fd);
	return memory == MAP_FAILED ? 0 : run;
}

void *sim_pages(unsigned domid, size_t n, const uint32_t *refs, int protection)
{
	char *memory = mmap(NULL, n * SIM_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t run;

	if (memory == MAP_FAILED)
		return NULL;
	for (size_t i = 0; i < n; i += run) {
		run = pages_piece(domid, n - i, refs + i, protection, memory + i * SIM_PAGE);
		if (!run) {
			munmap(memory, n * SIM_PAGE);
			errno = EINVAL;
			return NULL;
		}
	}
	return memory;
}

/* ---- event channels -------------------------------------------------------------------------- */

_Atomic uint32_t *sim_ports(unsigned domid)
{
	char name[32];

	snprintf(name, sizeof(name), "ports.%u", domid);
	return sim_map(name, SIM_GUEST_PORTS * sizeof(uint32_t));
}

uint64_t sim_kick(struct sim_evtchn *table, _Atomic uint32_t *ports, unsigned port)
{
	uint32_t bound = ports[port], local = bound & ~SIM_PORT_BOUND;
	uint64_t now = sim_now();
	struct sim_port *p;

	if (!(bound & SIM_PORT_BOUND))
		return 0;
	p = &table->port[local];
	p->kicks++;
	p->kicked_ns = now;
	if (atomic_exchange(&p->pending, 1) == 0 && !p->masked)
		sim_tell("evtchn.fifo", &local, sizeof(local));
	return now;
}
