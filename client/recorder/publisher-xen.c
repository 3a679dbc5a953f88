/*
 * The publisher of rings that domain 0 reads. Threads of the tracer make rings by system calls alone,
 * and leave the keys in XenStore to a thread of the publisher.
 *
 * A slot's state goes round: NONE, SHARED (it has memory), TO_SAY, SAYING (the publisher's thread writes
 * its keys), SAID, WITHDRAWN (its memory is the publisher's again), NONE. Tracer and publisher's thread
 * change it by compare and swap. A ring that is withdrawn before its keys were written gets them all the
 * same, and each ring stays for MPROF_XEN_FOUND_MS: the program may have been short.
 */
#include <mprof/publisher-xen.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define RETRY_NS 250000000L /* until XenStore is asked again to remove keys */
#define TRIES	 20u	    /* to remove the last keys */

enum slot_state { SLOT_NONE, SLOT_SHARED, SLOT_TO_SAY, SLOT_SAYING, SLOT_SAID, SLOT_WITHDRAWN };

static uint32_t state_get(const struct mprof_publisher_xen *f, unsigned index)
{
	return __atomic_load_n(&f->slot[index].state, __ATOMIC_ACQUIRE);
}

static bool state_change(struct mprof_publisher_xen *f, unsigned index, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&f->slot[index].state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* ---- the tracer's side --------------------------------------------------------------------------- */

static int xen_share(void *context, unsigned index, size_t bytes, void **memory)
{
	struct mprof_publisher_xen *f = context;
	struct mprof_xen_ring *ring = &f->slot[index].ring;
	int r;

	if (state_get(f, index) != SLOT_NONE)
		return -EBUSY; /* the collector has not let go of the earlier ring */
	r = mprof_xen_ring_make(&f->xen, ring, bytes);
	if (r)
		return r;
	*memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->device, 0);
	if (*memory == MAP_FAILED || madvise(*memory, bytes, MADV_DONTFORK) < 0) {
		r = -errno;
		if (*memory != MAP_FAILED)
			munmap(*memory, bytes);
		mprof_xen_ring_free(&f->xen, ring);
		return r;
	}
	f->slot[index].memory = *memory;
	__atomic_store_n(&f->slot[index].state, SLOT_SHARED, __ATOMIC_RELEASE);
	return 0;
}

static int xen_say(void *context, unsigned index, const char *name)
{
	struct mprof_publisher_xen *f = context;

	(void)name; /* the thread forms it anew from the index */
	if (!state_change(f, index, SLOT_SHARED, SLOT_TO_SAY))
		return -EINVAL;
	sem_post(&f->work);
	return 0;
}

static void xen_kick(void *context, unsigned index)
{
	struct mprof_publisher_xen *f = context;

	mprof_xen_ring_kick(&f->xen, &f->slot[index].ring);
}

static void xen_withdraw(void *context, unsigned index)
{
	struct mprof_publisher_xen *f = context;

	if (state_get(f, index) == SLOT_NONE)
		return;
	__atomic_store_n(&f->slot[index].state, SLOT_WITHDRAWN, __ATOMIC_RELEASE);
	sem_post(&f->work);
}

static int xen_forked(void *context)
{
	(void)context;
	return -ENOTSUP;
}

/* ---- the publisher's thread ---------------------------------------------------------------------- */

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Write the keys of slot INDEX, once. */
static void keys_write(struct mprof_publisher_xen *f, unsigned index)
{
	char ring[MPROF_PUBLISHER_NAME_SIZE], name[80];

	if (f->slot[index].said_ns)
		return;
	mprof_publisher_name(ring, index);
	snprintf(name, sizeof(name), "%.39s.%ld %s", f->name, (long)f->pid, ring);
	/* A ring that cannot be said records for nobody; its events are in the process's memory. */
	mprof_xen_ring_publish(&f->xen, &f->slot[index].ring, name);
	f->slot[index].said_ns = now();
}

static void slot_say(struct mprof_publisher_xen *f, unsigned index)
{
	if (!state_change(f, index, SLOT_TO_SAY, SLOT_SAYING))
		return;
	keys_write(f, index);
	state_change(f, index, SLOT_SAYING, SLOT_SAID);
}

static void pause_ns(long long ns)
{
	struct timespec left = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};

	while (nanosleep(&left, &left) < 0 && errno == EINTR) {
	}
}

/* Give the collector time to find the rings of the N slots SLOTS[]. */
static void slots_stay(const struct mprof_publisher_xen *f, const unsigned *slots, unsigned n)
{
	int64_t until = 0, left;

	for (unsigned i = 0; i < n; i++)
		if (f->slot[slots[i]].ring.stream && f->slot[slots[i]].said_ns > until)
			until = f->slot[slots[i]].said_ns;
	left = until + MPROF_XEN_FOUND_MS * INT64_C(1000000) - now();
	if (until && left > 0)
		pause_ns(left);
}

static void slot_free(struct mprof_publisher_xen *f, unsigned index)
{
	munmap(f->slot[index].memory, f->slot[index].ring.bytes);
	mprof_xen_ring_free(&f->xen, &f->slot[index].ring);
	f->slot[index].said_ns = 0;
	__atomic_store_n(&f->slot[index].state, SLOT_NONE, __ATOMIC_RELEASE);
}

/*
 * Remove the keys of all slots that are withdrawn, wait once, and free them. Return false if XenStore
 * refuses: the slots stay, because the collector may map what the keys name.
 */
static bool slots_withdraw(struct mprof_publisher_xen *f)
{
	struct mprof_xen_ring *rings[MPROF_PUBLISHER_RINGS_MAX];
	unsigned slots[MPROF_PUBLISHER_RINGS_MAX], n = 0;
	bool wait = false;

	for (unsigned i = 0; i < MPROF_PUBLISHER_RINGS_MAX; i++) {
		if (state_get(f, i) != SLOT_WITHDRAWN)
			continue;
		keys_write(f, i);
		slots[n] = i;
		rings[n] = &f->slot[i].ring;
		wait = wait || rings[n]->stream;
		n++;
	}
	slots_stay(f, slots, n);
	if (wait && mprof_xen_rings_withdraw(&f->xen, rings, n))
		return false;
	if (wait)
		pause_ns(MPROF_XEN_UNMAP_MS * 1000000LL);
	for (unsigned i = 0; i < n; i++)
		slot_free(f, slots[i]);
	return true;
}

static void *publisher_run(void *context)
{
	struct mprof_publisher_xen *f = context;
	bool ends, done = true;
	unsigned tries = 0;

	do {
		if (!done)
			pause_ns(RETRY_NS);
		while (done && sem_wait(&f->work) < 0 && errno == EINTR) {
		}
		ends = __atomic_load_n(&f->ends, __ATOMIC_ACQUIRE);
		for (unsigned i = 0; i < MPROF_PUBLISHER_RINGS_MAX && !ends; i++)
			slot_say(f, i);
		done = slots_withdraw(f);
		tries += ends;
	} while (!ends || (!done && tries < TRIES));
	return NULL;
}

/* Start the thread, which takes no signal of the program. Return 0 or -errno. */
static int thread_start(struct mprof_publisher_xen *f)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&f->thread, NULL, publisher_run, f);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int mprof_publisher_xen_open(struct mprof_publisher_xen *f, struct mprof_publisher *p, const char *name)
{
	size_t n = strlen(name);
	int r;

	if (n == 0 || n >= sizeof(f->name))
		return -EINVAL;
	*f = (struct mprof_publisher_xen){.pid = getpid()};
	memcpy(f->name, name, n + 1);
	r = mprof_xen_open(&f->xen);
	if (r)
		return r;
	sem_init(&f->work, 0, 0);
	r = thread_start(f);
	if (r) {
		sem_destroy(&f->work);
		mprof_xen_close(&f->xen);
		return r;
	}
	*p = (struct mprof_publisher){.share = xen_share,
				      .say = xen_say,
				      .kick = xen_kick,
				      .withdraw = xen_withdraw,
				      .forked = xen_forked,
				      .context = f};
	return 0;
}

void mprof_publisher_xen_close(struct mprof_publisher_xen *f)
{
	if (f->pid != getpid())
		return;
	for (unsigned i = 0; i < MPROF_PUBLISHER_RINGS_MAX; i++)
		xen_withdraw(f, i);
	__atomic_store_n(&f->ends, 1, __ATOMIC_RELEASE);
	sem_post(&f->work);
	pthread_join(f->thread, NULL);
	sem_destroy(&f->work);
	mprof_xen_close(&f->xen);
	f->pid = 0;
}
