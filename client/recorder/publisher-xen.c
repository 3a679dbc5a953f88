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

static uint32_t state_get(const struct mprof_publisher_xen *x, unsigned index)
{
	return __atomic_load_n(&x->slot[index].state, __ATOMIC_ACQUIRE);
}

static bool state_change(struct mprof_publisher_xen *x, unsigned index, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&x->slot[index].state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* ---- the tracer's side --------------------------------------------------------------------------- */

static int xen_share(void *context, unsigned index, size_t bytes, void **memory)
{
	struct mprof_publisher_xen *x = context;
	struct mprof_xen_ring *ring = &x->slot[index].ring;
	int r;

	if (state_get(x, index) != SLOT_NONE)
		return -EBUSY; /* the collector has not let go of the earlier ring */
	r = mprof_xen_ring_make(&x->xen, ring, bytes);
	if (r)
		return r;
	*memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->device, 0);
	if (*memory == MAP_FAILED || madvise(*memory, bytes, MADV_DONTFORK) < 0) {
		r = -errno;
		if (*memory != MAP_FAILED)
			munmap(*memory, bytes);
		mprof_xen_ring_free(&x->xen, ring);
		return r;
	}
	x->slot[index].memory = *memory;
	__atomic_store_n(&x->slot[index].state, SLOT_SHARED, __ATOMIC_RELEASE);
	return 0;
}

static int xen_say(void *context, unsigned index, const char *name)
{
	struct mprof_publisher_xen *x = context;

	(void)name; /* the thread forms it anew from the index */
	if (!state_change(x, index, SLOT_SHARED, SLOT_TO_SAY))
		return -EINVAL;
	sem_post(&x->work);
	return 0;
}

static void xen_kick(void *context, unsigned index)
{
	struct mprof_publisher_xen *x = context;

	mprof_xen_ring_kick(&x->xen, &x->slot[index].ring);
}

static void xen_withdraw(void *context, unsigned index)
{
	struct mprof_publisher_xen *x = context;

	if (state_get(x, index) == SLOT_NONE)
		return;
	__atomic_store_n(&x->slot[index].state, SLOT_WITHDRAWN, __ATOMIC_RELEASE);
	sem_post(&x->work);
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
static void keys_write(struct mprof_publisher_xen *x, unsigned index)
{
	char ring[MPROF_PUBLISHER_NAME_SIZE], name[80];

	if (x->slot[index].said_ns)
		return;
	mprof_publisher_name(ring, index);
	snprintf(name, sizeof(name), "%.39s.%ld %s", x->name, (long)x->pid, ring);
	/* A ring that cannot be said records for nobody; its events are in the process's memory. */
	mprof_xen_ring_publish(&x->xen, &x->slot[index].ring, name);
	x->slot[index].said_ns = now();
}

static void slot_say(struct mprof_publisher_xen *x, unsigned index)
{
	if (!state_change(x, index, SLOT_TO_SAY, SLOT_SAYING))
		return;
	keys_write(x, index);
	state_change(x, index, SLOT_SAYING, SLOT_SAID);
}

static void pause_ns(long long ns)
{
	struct timespec left = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};

	while (nanosleep(&left, &left) < 0 && errno == EINTR) {
	}
}

/* Give the collector time to find the rings of the N slots SLOTS[]. */
static void slots_stay(const struct mprof_publisher_xen *x, const unsigned *slots, unsigned n)
{
	int64_t until = 0, left;

	for (unsigned i = 0; i < n; i++)
		if (x->slot[slots[i]].ring.stream && x->slot[slots[i]].said_ns > until)
			until = x->slot[slots[i]].said_ns;
	left = until + MPROF_XEN_FOUND_MS * INT64_C(1000000) - now();
	if (until && left > 0)
		pause_ns(left);
}

static void slot_free(struct mprof_publisher_xen *x, unsigned index)
{
	munmap(x->slot[index].memory, x->slot[index].ring.bytes);
	mprof_xen_ring_free(&x->xen, &x->slot[index].ring);
	x->slot[index].said_ns = 0;
	__atomic_store_n(&x->slot[index].state, SLOT_NONE, __ATOMIC_RELEASE);
}

/*
 * Remove the keys of all slots that are withdrawn, wait once, and free them. Return false if XenStore
 * refuses: the slots stay, because the collector may map what the keys name.
 */
static bool slots_withdraw(struct mprof_publisher_xen *x)
{
	struct mprof_xen_ring *rings[MPROF_PUBLISHER_RINGS_MAX];
	unsigned slots[MPROF_PUBLISHER_RINGS_MAX], n = 0;
	bool wait = false;

	for (unsigned i = 0; i < MPROF_PUBLISHER_RINGS_MAX; i++) {
		if (state_get(x, i) != SLOT_WITHDRAWN)
			continue;
		keys_write(x, i);
		slots[n] = i;
		rings[n] = &x->slot[i].ring;
		wait = wait || rings[n]->stream;
		n++;
	}
	slots_stay(x, slots, n);
	if (wait && mprof_xen_rings_withdraw(&x->xen, rings, n))
		return false;
	if (wait)
		pause_ns(MPROF_XEN_UNMAP_MS * 1000000LL);
	for (unsigned i = 0; i < n; i++)
		slot_free(x, slots[i]);
	return true;
}

static void *publisher_run(void *context)
{
	struct mprof_publisher_xen *x = context;
	bool ends, done = true;
	unsigned tries = 0;

	do {
		if (!done)
			pause_ns(RETRY_NS);
		while (done && sem_wait(&x->work) < 0 && errno == EINTR) {
		}
		ends = __atomic_load_n(&x->ends, __ATOMIC_ACQUIRE);
		for (unsigned i = 0; i < MPROF_PUBLISHER_RINGS_MAX && !ends; i++)
			slot_say(x, i);
		done = slots_withdraw(x);
		tries += ends;
	} while (!ends || (!done && tries < TRIES));
	return NULL;
}

/* Start the thread, which takes no signal of the program. Return 0 or -errno. */
static int thread_start(struct mprof_publisher_xen *x)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&x->thread, NULL, publisher_run, x);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int mprof_publisher_xen_open(struct mprof_publisher_xen *x, struct mprof_publisher *p, const char *name)
{
	size_t n = strlen(name);
	int r;

	if (n == 0 || n >= sizeof(x->name))
		return -EINVAL;
	*x = (struct mprof_publisher_xen){.pid = getpid()};
	memcpy(x->name, name, n + 1);
	r = mprof_xen_open(&x->xen);
	if (r)
		return r;
	sem_init(&x->work, 0, 0);
	r = thread_start(x);
	if (r) {
		sem_destroy(&x->work);
		mprof_xen_close(&x->xen);
		return r;
	}
	*p = (struct mprof_publisher){.share = xen_share,
				      .say = xen_say,
				      .kick = xen_kick,
				      .withdraw = xen_withdraw,
				      .forked = xen_forked,
				      .context = x};
	return 0;
}

void mprof_publisher_xen_close(struct mprof_publisher_xen *x)
{
	if (x->pid != getpid())
		return;
	for (unsigned i = 0; i < MPROF_PUBLISHER_RINGS_MAX; i++)
		xen_withdraw(x, i);
	__atomic_store_n(&x->ends, 1, __ATOMIC_RELEASE);
	sem_post(&x->work);
	pthread_join(x->thread, NULL);
	sem_destroy(&x->work);
	mprof_xen_close(&x->xen);
	x->pid = 0;
}
