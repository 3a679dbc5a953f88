/*
 * A process of the keeper.
 *
 * Its directory NAME.PID, or in a guest of Xen what it publishes as NAME.PID, has the rings of its
 * threads, which the process writes, and two that the keeper writes: `objects` and `counters`; also
 * `domain-N` for an OCaml 5 program. The file `.modules` has the process's files and build ids. The
 * keeper ends its rings when the process has gone; then no ring has a writer.
 */
#include "process.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <mprof/cycles.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "directory.h"
#include "keeper-ring.h"
#include "keeper.h"
#include "ocaml-domains.h"
#include "runtime-follow.h"
#include "symbols.h"
#include "xen-guest.h"

#define SAMPLE_NS 1000000000u
#define HOLD_NS	  500000000u /* a note is recorded when it is this old, so that older ones come first */

uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

struct process *process_new(struct processes *list, pid_t pid, int pidfd)
{
	struct process *p = calloc(1, sizeof(*p));

	if (!p) {
		close(pidfd);
		return NULL;
	}
	p->pid = pid;
	p->pidfd = pidfd;
	p->control_file = -1;
	LIST_INSERT_HEAD(list, p, entry);
	return p;
}

static void rings_end(struct process *p)
{
	/* The rings of domains end first: when `objects` has no writer, the process has none. */
	runtime_end(p->runtime);
	p->runtime = NULL;
	mprof_recorder_stop(&p->objects);
	mprof_recorder_stop(&p->counters);
	mprof_recorder_file_close(&p->counters_file);
	mprof_recorder_file_close(&p->objects_file);
}

void process_free(struct process *p)
{
	LIST_REMOVE(p, entry);
	rings_end(p);
	symbols_free(p->symbols);
	if (p->control)
		munmap(p->control, sizeof(*p->control));
	if (p->control_file >= 0)
		close(p->control_file);
	if (p->pidfd >= 0)
		close(p->pidfd);
	free(p->pending);
	free(p->sampling);
	free(p->path);
	free(p);
}

void process_name(pid_t pid, char *name, size_t size)
{
	char path[64];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (f) {
		n = fread(name, 1, size - 1, f);
		fclose(f);
	}
	while (n && name[n - 1] == '\n')
		n--;
	name[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("_-+@", name[i]) && (i == 0 || name[i] != '.'))
			name[i] = '_';
	if (!n)
		snprintf(name, size, "process");
}

/* The process gets the memory's descriptor: the memory's size is fixed, so that the keeper's loads find it. */
static int control_make(struct process *p, uint32_t own, uint32_t shared, bool clock_is_memory)
{
	struct run_control *c;

	p->control_file = memfd_create("mprof-run", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (p->control_file < 0 || ftruncate(p->control_file, sizeof(*c)) < 0 ||
	    fcntl(p->control_file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -errno;
	c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED, p->control_file, 0);
	if (c == MAP_FAILED)
		return -errno;
	c->magic = RUN_MAGIC;
	c->own = own;
	c->shared = shared;
	c->cycles = mprof_cycles_usable();
	c->clock_is_memory = clock_is_memory;
	c->keeper = (uint32_t)getpid();
	for (uint64_t i = 0; i < RUN_NOTES; i++)
		c->notes[i].turn = i;
	p->control = c;
	return 0;
}

/* Without the file the rings are complete: a failure is nothing to say. */
static void modules_write(const struct process *p)
{
	int directory = directory_open(p->path);

	if (directory < 0)
		return;
	symbols_list(p->symbols, directory);
	close(directory);
}

/* Make the rings of P that the keeper writes. Return 0 or -errno. */
static int rings_make(struct process *p, uint64_t bytes)
{
	const struct ring_place place = {p->path, p->xen};
	int r = keeper_ring_make(&place, "objects", bytes, &p->objects_file, &p->objects);

	if (!r)
		r = keeper_ring_make(&place, "counters", bytes, &p->counters_file, &p->counters);
	mprof_recorder_kinds(&p->objects, RUN_WRITES | MPROF_WRITES_STOPS);
	mprof_recorder_kinds(&p->counters, RUN_WRITES | MPROF_WRITES_STOPS);
	return r;
}

int process_publish(struct process *p, const struct keeper_options *o, struct guest *guest, bool ocaml)
{
	uint64_t bytes = o->ring_bytes < RUN_KEEPER_RING_MAX ? o->ring_bytes : RUN_KEEPER_RING_MAX;
	uint32_t own = RUN_RINGS_OWN, shared = RUN_RINGS - RUN_RINGS_OWN;
	char name[40];
	int directory = -1, r;

	process_name(p->pid, p->name, sizeof(p->name));
	snprintf(name, sizeof(name), "%s.%d", p->name, (int)p->pid);
	if (guest)
		p->xen = guest_process_new(guest, name, bytes, &own, &shared);
	else
		directory = directory_make(o->dir, name, &p->path);
	if (guest ? !p->xen : directory < 0)
		return guest ? -ENOSPC : directory;
	/* The domains of OCaml get some of the rings that single threads would get. */
	if (ocaml)
		p->domains = own / 2 < RUN_DOMAIN_RINGS ? own / 2 : RUN_DOMAIN_RINGS;
	own -= p->domains;
	p->own = own;
	p->symbols = symbols_new(p->pid);
	r = p->symbols ? rings_make(p, bytes) : -ENOMEM;
	if (!r && p->path)
		r = directory_show(directory, o->dir, name, &p->path);
	r = r ? r : control_make(p, own, shared, o->clock_is_memory);
	if (r && p->path)
		directory_drop(directory, p->path);
	if (directory >= 0)
		close(directory);
	return r;
}

void process_follow(struct process *p, uid_t user, const char *path, const char *own, uint64_t bytes)
{
	const struct domain_rings rings = {.place = {p->path, p->xen}, .n = p->domains, .bytes = bytes};

	p->runtime = runtime_new(p->pid, user, path, own, &rings);
}

int process_ring(struct process *p, uint32_t slot, uint64_t bytes)
{
	char name[16];
	int fd;

	if ((!p->path && !p->xen) || slot >= RUN_RINGS)
		return -EINVAL;
	if (slot >= p->own && slot < RUN_RINGS_OWN)
		return -ENOSPC;
	snprintf(name, sizeof(name), "thread-%02u", (unsigned int)slot + 1);
	if (p->xen)
		return guest_ring_give(p->xen, name);
	if (p->given >> slot & 1)
		return -EEXIST;
	fd = thread_ring_make(p->path, name, bytes);
	if (fd >= 0)
		p->given |= UINT64_C(1) << slot;
	return fd;
}

void process_ring_refused(const struct process *p)
{
	if (p->xen)
		guest_ring_drop(p->xen);
}

void process_step(struct process *p, uint64_t time, uint64_t *searched)
{
	if (p->xen)
		guest_process_step(p->xen, time);
	if (!p->control || p->gone)
		return;
	if (p->path && !p->listed) {
		modules_write(p);
		p->listed = true;
	}
	notes_take(p, time - HOLD_NS);
	stacks_look(p, time, time - HOLD_NS);
	far_ends_look(p, time, time - HOLD_NS, searched);
	if (p->runtime)
		runtime_step(p->runtime);
	if (time - p->sampled >= SAMPLE_NS) {
		/* A state does not move the end of the trace. A counter does, so record one at the same time. */
		counters_sample(p, time, states_sample(p, time));
		p->sampled = time;
	}
}

int process_wait(const struct process *p, int most)
{
	int wait = p->runtime && !p->gone ? runtime_wait(p->runtime) : most;

	return wait < most ? wait : most;
}

void process_executes(struct process *p, uint64_t time)
{
	if (!p->control)
		return;
	__atomic_store_n(&p->control->exited, 1, __ATOMIC_RELAXED);
	notes_take(p, time);
	mprof_recorder_at(&p->objects, time);
	p->objects.current = p->pid;
	mprof_recorder_fulfills(&p->objects, p->pid);
	p->objects.current = MPROF_THREAD_NONE;
}

void process_gone(struct process *p, uint64_t time)
{
	if (p->gone)
		return;
	p->gone = time;
	if (p->control) {
		notes_take(p, time + SAMPLE_NS);
		if (p->symbols)
			stacks_name(p, time + SAMPLE_NS);
		if (p->runtime)
			runtime_step(p->runtime);
		counters_end(p, time);
	}
	rings_end(p);
}

bool process_exited(const struct process *p)
{
	return p->control && __atomic_load_n(&p->control->exited, __ATOMIC_ACQUIRE);
}

bool process_withdraw(struct process *p, bool keep, uint64_t time)
{
	if (p->xen && !guest_process_end(p->xen, time))
		return false;
	p->xen = NULL;
	if (p->path && process_exited(p) && !keep)
		directory_remove(p->path);
	return true;
}
