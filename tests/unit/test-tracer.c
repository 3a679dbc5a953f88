/*
 * A ring for each thread: many threads, short threads, threads that share a ring, forked processes, signal
 * handlers, and publishers that fail. Each event that a thread records has a number. Afterwards the rings
 * are decoded: each thread's numbers rise, and what is missing was counted as dropped.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <mprof/cycles.h>
#include <mprof/trace.h>
#include <mprof/tracer.h>

#include "check.h"

#define THREADS_MAX 200000u
#define NAME	    "number"

/* Sanitizers make threads slow: fewer of them show the same. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SHORT_THREADS 4000u
#define LIVE_THREADS  200u
#else
#define SHORT_THREADS 100000u
#define LIVE_THREADS  1000u
#endif

static char root[64];
static struct mprof_publisher_files files;
static struct mprof_publisher publisher;

static void start(size_t ring_bytes, unsigned packets)
{
	const struct mprof_tracer_options options = {
		.publisher = &publisher, .ring_bytes = ring_bytes, .packets = packets};

	snprintf(root, sizeof(root), "/tmp/mprof-tracer.XXXXXX");
	CHECK(mkdtemp(root) != NULL);
	CHECK_EQ_INT(mprof_publisher_files_open(&files, &publisher, root, "test"), 0);
	CHECK_EQ_INT(mprof_tracer_start(&options), 0);
}

static void stop(void)
{
	mprof_tracer_stop();
	mprof_publisher_files_close(&files, 1);
	CHECK(rmdir(root) == 0);
}

/* Record event NUMBER of the thread with the label THREAD, a number as well. Return whether it was recorded. */
static bool record(int64_t thread, int64_t number)
{
	struct mprof_recorder *r = mprof_tracer_begin();

	if (!r)
		return false;
	mprof_recorder_counter(r, thread << 32 | number, NAME, sizeof(NAME) - 1);
	mprof_tracer_end(r);
	return true;
}

/* ---- reading the rings ----------------------------------------------------------------------- */

struct found {
	uint64_t events, packets, lost, said; /* SAID: sum of the counters mprof-dropped */
	unsigned rings, turns;		      /* TURNS: events of another thread than the one before */
	unsigned disorder;		      /* numbers of a thread that do not rise within a ring */
	int64_t *last;			      /* for each thread: its last number in this ring */
	int64_t *running;		      /* for each thread: `current` of its events */
};

static void take(struct found *f, const struct mprof_raw_event *e, int64_t *before, uint64_t *said)
{
	int64_t thread = e->number >> 32, number = e->number & UINT32_MAX;

	if (e->id != MPROF_EVENT_counter)
		return;
	if (strcmp(e->text, NAME) != 0) {
		CHECK_EQ_STR(e->text, "mprof-dropped");
		*said = (uint64_t)e->number;
		return;
	}
	f->events++;
	if (!CHECK(thread >= 0 && thread < THREADS_MAX))
		return;
	f->disorder += number <= f->last[thread];
	f->last[thread] = number;
	/* Each thread's events are those of one running thread, its own. */
	CHECK(e->context > 0 && (f->running[thread] == 0 || f->running[thread] == e->context));
	f->running[thread] = e->context;
	f->turns += *before != thread;
	*before = thread;
}

static void read_ring(struct found *f, int directory, const char *name)
{
	struct mprof_decoder *d = mprof_decoder_new();
	struct mprof_order *order = mprof_order_new();
	int fd = openat(directory, name, O_RDONLY);
	enum mprof_status status;
	struct mprof_event event;
	int64_t before = -1;
	uint64_t said = 0;
	struct stat st = {0};
	uint8_t *bytes;

	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (!CHECK(bytes != MAP_FAILED && d && order))
		abort();
	memset(f->last, 0xff, THREADS_MAX * sizeof(*f->last));
	mprof_order_scan(order, bytes, (size_t)st.st_size);
	for (size_t i = 0; i < mprof_order_spans(order); i++) {
		const struct mprof_span *span = mprof_order_span(order, i);

		mprof_decoder_begin(d, span->offset, span->packet);
		mprof_decoder_feed(d, bytes + span->offset, (size_t)span->bytes);
		mprof_decoder_finish(d);
		while ((status = mprof_decoder_next(d, &event)) != MPROF_END) {
			if (!CHECK_EQ_INT(status, MPROF_OK))
				break;
			take(f, &event.raw, &before, &said);
		}
	}
	f->rings++;
	f->said += said;
	f->packets += mprof_decoder_totals(d)->packets;
	f->lost += mprof_decoder_totals(d)->lost_packets;
	munmap(bytes, (size_t)st.st_size);
	close(fd);
	mprof_order_free(order);
	mprof_decoder_free(d);
}

/* Read all rings of the directory FOLDER. */
static struct found read_rings(const char *folder)
{
	struct found f = {.last = calloc(THREADS_MAX, sizeof(*f.last)),
			  .running = calloc(THREADS_MAX, sizeof(*f.running))};
	int fd = openat(files.parent, folder, O_RDONLY | O_DIRECTORY);
	DIR *listing = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!CHECK(f.last && f.running && listing))
		abort();
	while ((entry = readdir(listing)))
		if (entry->d_name[0] != '.')
			read_ring(&f, dirfd(listing), entry->d_name);
	closedir(listing);
	free(f.last);
	free(f.running);
	f.last = f.running = NULL;
	CHECK_EQ_UINT(f.lost, 0);
	CHECK_EQ_UINT(f.disorder, 0);
	return f;
}

/* ---- threads ---------------------------------------------------------------------------------- */

static atomic_uint_fast64_t recorded; /* events that were recorded */
static pthread_barrier_t barrier;

struct work {
	int64_t thread;
	unsigned events;
	bool together; /* wait at the barrier before and after the events */
};

static void *worker(void *context)
{
	struct work *w = context;
	unsigned n = 0;

	if (w->together)
		pthread_barrier_wait(&barrier);
	for (unsigned i = 0; i < w->events; i++)
		n += record(w->thread, i);
	if (w->together)
		pthread_barrier_wait(&barrier);
	atomic_fetch_add(&recorded, n);
	return NULL;
}

/* Run N threads with EVENTS events each, of which at most ALIVE live at once. */
static void run(unsigned n, unsigned alive, unsigned events, bool together)
{
	pthread_t *threads = calloc(alive, sizeof(*threads));
	struct work *work = calloc(alive, sizeof(*work));
	pthread_attr_t attributes;

	if (!threads || !work)
		abort();
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 << 10);
	atomic_store(&recorded, 0);
	pthread_barrier_init(&barrier, NULL, alive);
	for (unsigned i = 0; i < n + alive; i++) {
		if (i >= alive && i - alive < n)
			pthread_join(threads[i % alive], NULL);
		if (i >= n)
			continue;
		work[i % alive] = (struct work){.thread = i, .events = events, .together = together};
		if (!CHECK_EQ_INT(pthread_create(&threads[i % alive], &attributes, worker, &work[i % alive]), 0))
			abort();
	}
	pthread_barrier_destroy(&barrier);
	pthread_attr_destroy(&attributes);
	free(threads);
	free(work);
}

/* Ten threads at once: each has a ring, and nothing is lost. */
static void test_ten(void)
{
	struct found f;

	start(1 << 20, 4);
	run(10, 10, 5000, true);
	CHECK_EQ_UINT(atomic_load(&recorded), 50000);
	CHECK_EQ_UINT(mprof_tracer_dropped(), 0);
	CHECK_EQ_UINT(mprof_tracer_rings(), 10);
	f = read_rings(files.folder);
	CHECK_EQ_UINT(f.rings, 10);
	CHECK_EQ_UINT(f.events, 50000);
	CHECK_EQ_UINT(f.turns, 10);
	stop();
}

/* More threads than rings: the last rings are shared. An event that found no room in time is counted. */
static void test_many_alive(void)
{
	const unsigned events = 40;
	struct found f;

	start(1 << 20, 4);
	run(LIVE_THREADS, LIVE_THREADS, events, true);
	CHECK_EQ_UINT(mprof_tracer_rings(), MPROF_PUBLISHER_RINGS_MAX);
	CHECK_EQ_UINT(atomic_load(&recorded) + mprof_tracer_dropped(), (uint64_t)LIVE_THREADS * events);
	/* A last event in each ring would say all drops; the threads that have ended leave some unsaid. */
	f = read_rings(files.folder);
	CHECK_EQ_UINT(f.rings, MPROF_PUBLISHER_RINGS_MAX);
	CHECK_EQ_UINT(f.events, atomic_load(&recorded));
	CHECK(f.said <= mprof_tracer_dropped());
	stop();
}

/* The ring of a thread that has ended is continued by the next one, and never begun anew. */
static void test_short_threads(void)
{
	struct found f;

	start(16 << 20, 16);
	run(SHORT_THREADS, 8, 3, false);
	CHECK_EQ_UINT(atomic_load(&recorded), SHORT_THREADS * 3ul);
	CHECK_EQ_UINT(mprof_tracer_dropped(), 0);
	CHECK(mprof_tracer_rings() <= 8 + 2); /* a thread that was joined may still be giving back its ring */
	f = read_rings(files.folder);
	CHECK_EQ_UINT(f.events, SHORT_THREADS * 3ul);
	CHECK_EQ_UINT(f.turns, SHORT_THREADS);
	stop();
}

/* The same in small rings that are lapped: the packets that are left are in order. */
static void test_short_threads_wrap(void)
{
	struct found f;

	start(4096, 4);
	run(SHORT_THREADS / 20, 8, 3, false);
	CHECK_EQ_UINT(atomic_load(&recorded), SHORT_THREADS / 20 * 3ul);
	f = read_rings(files.folder);
	CHECK(f.events > 0 && f.events < SHORT_THREADS / 20 * 3ul);
	stop();
}

/* ---- signals ---------------------------------------------------------------------------------- */

static _Thread_local int64_t signal_number, signal_label; /* SIGNAL_LABEL: of the handler's events in this thread */
static atomic_int_fast64_t labels;			  /* that were given to threads */
static atomic_uint_fast64_t from_signals, signals;	  /* events that handlers recorded; handlers that ran */

static void on_signal(int signal)
{
	int error = errno;

	(void)signal;
	signals++;
	if (!signal_label)
		signal_label = ++labels;
	from_signals += record(THREADS_MAX - signal_label, ++signal_number);
	errno = error;
}

static atomic_bool storming;

static void *stormed(void *context)
{
	int64_t thread = (int64_t)(intptr_t)context, n = 0;

	while (atomic_load(&storming))
		atomic_fetch_add(&recorded, record(thread, n++ & UINT32_MAX));
	return NULL;
}

/* Signal handlers record at random moments, on rings of one thread and on shared ones. */
static void test_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	pthread_t threads[60];
	uint64_t before;
	struct found f;

	start(4 << 20, 4);
	sigaction(SIGUSR1, &action, NULL);
	atomic_store(&recorded, 0);
	atomic_store(&from_signals, 0);
	atomic_store(&labels, 0);
	atomic_store(&storming, true);
	for (unsigned i = 0; i < 60; i++)
		CHECK_EQ_INT(pthread_create(&threads[i], NULL, stormed, (void *)(intptr_t)i), 0);
	for (unsigned i = 0; i < 20000 && atomic_load(&from_signals) < 5000 / check_step(5); i++)
		pthread_kill(threads[i % 60], SIGUSR1);
	atomic_store(&storming, false);
	for (unsigned i = 0; i < 60; i++)
		pthread_join(threads[i], NULL);
	before = atomic_load(&from_signals);
	CHECK(before > 0);
	/* Rings may have been lapped, so only their order can be checked. Nothing hangs, and no ring is torn. */
	f = read_rings(files.folder);
	CHECK(f.events > 0);
	stop();
	signal(SIGUSR1, SIG_DFL);
}

static atomic_uint finished;

static void *interrupted(void *context)
{
	const struct work *w = context;

	for (unsigned i = 0; i < w->events; i++)
		record(w->thread, i);
	atomic_fetch_add(&finished, 1);
	while (atomic_load(&storming))
		sched_yield();
	return NULL;
}

/* Each event of a thread and of its signal handlers is in a ring, or counted as dropped. */
static void test_signals_counted(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct work works[60];
	pthread_t threads[60];
	struct found f;

	start(1 << 20, 4);
	sigaction(SIGUSR1, &action, NULL);
	atomic_store(&signals, 0);
	atomic_store(&labels, 0);
	atomic_store(&finished, 0);
	atomic_store(&storming, true);
	for (unsigned i = 0; i < 60; i++) {
		works[i] = (struct work){.thread = i, .events = 2000};
		CHECK_EQ_INT(pthread_create(&threads[i], NULL, interrupted, &works[i]), 0);
	}
	for (unsigned i = 0; atomic_load(&finished) < 60; i++)
		if (atomic_load(&signals) < 50000)
			pthread_kill(threads[i % 60], SIGUSR1);
	atomic_store(&storming, false);
	for (unsigned i = 0; i < 60; i++)
		pthread_join(threads[i], NULL);
	f = read_rings(files.folder);
	CHECK(atomic_load(&signals) > 0);
	CHECK_EQ_UINT(f.events + mprof_tracer_dropped(), UINT64_C(60) * 2000 + atomic_load(&signals));
	stop();
	signal(SIGUSR1, SIG_DFL);
}

/* ---- processes -------------------------------------------------------------------------------- */

static int child(unsigned depth)
{
	struct found f;
	char folder[80];
	pid_t pid;
	int status;

	snprintf(folder, sizeof(folder), "test.%ld", (long)getpid());
	/* Nothing is made before the first event. */
	if (faccessat(files.parent, folder, F_OK, 0) == 0)
		return 10;
	for (unsigned i = 0; i < 7; i++)
		if (!record(depth, i))
			return 11;
	if (strcmp(files.folder, folder) != 0 || mprof_tracer_rings() != 1)
		return 12;
	f = read_rings(folder);
	if (f.events != 7 || f.rings != 1)
		return 13;
	if (depth == 3)
		return 0;
	pid = fork();
	if (pid == 0)
		_exit(child(depth + 1));
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 14;
}

static int entry_remove(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

/* A forked child, and its child, begin rings of their own. The parent goes on. */
static void test_fork(void)
{
	struct found f;
	int status;
	pid_t pid;

	start(1 << 16, 4);
	for (unsigned i = 0; i < 5; i++)
		CHECK(record(1, i));
	pid = fork();
	if (pid == 0)
		_exit(child(2));
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ_INT(WEXITSTATUS(status), 0);
	for (unsigned i = 5; i < 9; i++)
		CHECK(record(1, i));
	f = read_rings(files.folder);
	CHECK_EQ_UINT(f.events, 9);
	CHECK_EQ_UINT(f.rings, 1);
	mprof_tracer_stop();
	mprof_publisher_files_close(&files, 1);
	/* The child that did not stop its tracer has left its directory. */
	CHECK_EQ_INT(nftw(root, entry_remove, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* A child that ends its tracer without an event withdraws nothing of its parent's. */
static void test_fork_without_events(void)
{
	struct found f;
	int status;
	pid_t pid;

	start(1 << 16, 4);
	CHECK(record(1, 1));
	pid = fork();
	if (pid == 0) {
		mprof_tracer_stop();
		_exit(mprof_tracer_begin() ? 1 : 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK(record(1, 2));
	f = read_rings(files.folder);
	CHECK_EQ_UINT(f.events, 2);
	stop();
}

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)

/* A program that may not read the time stamp counter, nor call clock_gettime() by that, has the right time. */
static void test_forbidden_counter(void)
{
	static struct mprof_cycles cycles;
	struct timespec before, after;
	uint64_t ns;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) < 0)
			_exit(0);
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &before);
		if (mprof_cycles_init(&cycles))
			_exit(2);
		ns = mprof_cycles_now(&cycles);
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &after);
		_exit(ns < (uint64_t)before.tv_sec * 1000000000u + (uint64_t)before.tv_nsec ||
		      ns > (uint64_t)after.tv_sec * 1000000000u + (uint64_t)after.tv_nsec);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#endif

/* ---- the interface ---------------------------------------------------------------------------- */

static unsigned began;

static void thread_began(void *context, struct mprof_recorder *r)
{
	CHECK(context == &began);
	mprof_recorder_label(r, mprof_recorder_current(r), "me", 2);
	began++;
}

static void test_interface(void)
{
	struct mprof_tracer_options options = {.publisher = &publisher, .ring_bytes = 1 << 16};
	struct mprof_recorder *outer, *inner;

	CHECK(!mprof_tracer_on());
	CHECK(!mprof_tracer_begin());
	CHECK_EQ_UINT(mprof_tracer_dropped(), 0);
	CHECK_EQ_INT(mprof_tracer_start(&(struct mprof_tracer_options){.publisher = &publisher, .ring_bytes = 10}),
		     -EINVAL);
	start(1 << 16, 0);
	CHECK(mprof_tracer_on());
	CHECK_EQ_INT(mprof_tracer_start(&options), -EBUSY);
	CHECK_EQ_UINT(mprof_tracer_rings(), 0);
	outer = mprof_tracer_begin();
	inner = mprof_tracer_begin();
	CHECK(outer && outer == inner);
	CHECK_EQ_INT(mprof_recorder_current(outer), syscall(SYS_gettid));
	/* A thread in the middle of an event keeps its ring. */
	mprof_tracer_thread_end();
	mprof_tracer_end(inner);
	mprof_tracer_end(outer);
	mprof_tracer_thread_end();
	CHECK(mprof_tracer_begin() == outer);
	mprof_tracer_end(outer);
	stop();
	CHECK(!mprof_tracer_on() && !mprof_tracer_begin());
	/* It can be started again. */
	began = 0;
	options.thread_began = thread_began;
	options.thread_context = &began;
	CHECK_EQ_INT(mprof_publisher_files_open(&files, &publisher, "/tmp", "mprof-tracer-test"), 0);
	CHECK_EQ_INT(mprof_tracer_start(&options), 0);
	CHECK(record(1, 1) && record(1, 2));
	CHECK_EQ_UINT(began, 1);
	mprof_tracer_stop();
	mprof_publisher_files_close(&files, 1);
	CHECK_EQ_INT(mprof_publisher_files_open(&files, &publisher, "/tmp", "a/b"), -EINVAL);
	CHECK_EQ_INT(mprof_publisher_files_open(&files, &publisher, "/tmp", ".a"), -EINVAL);
	CHECK_EQ_INT(mprof_publisher_files_open(&files, &publisher, "/no such directory", "a"), -ENOENT);
}

static int share_fails, say_fails;
static unsigned kicks, withdrawals;

static int some_share(void *context, unsigned index, size_t bytes, void **memory)
{
	static _Alignas(8) uint8_t ring[4096];

	(void)context;
	CHECK(index == 0 && bytes == sizeof(ring));
	*memory = ring;
	return share_fails;
}

static int some_say(void *context, unsigned index, const char *name)
{
	(void)context;
	(void)index;
	CHECK_EQ_STR(name, "ring-00");
	return say_fails;
}

static void some_kick(void *context, unsigned index)
{
	(void)context;
	(void)index;
	kicks++;
}

static void some_withdraw(void *context, unsigned index)
{
	(void)context;
	(void)index;
	withdrawals++;
}

/* A publisher that fails: the events are dropped and counted, and the ring is tried again later. */
static void test_publisher(void)
{
	const struct mprof_publisher some = {
		.share = some_share, .say = some_say, .kick = some_kick, .withdraw = some_withdraw};
	const struct mprof_tracer_options options = {.publisher = &some, .ring_bytes = 4096};

	for (int how = 0; how < 3; how++) {
		share_fails = how == 0 ? -ENOSPC : 0;
		say_fails = how == 1 ? -EACCES : 0;
		kicks = withdrawals = 0;
		CHECK_EQ_INT(mprof_tracer_start(&options), 0);
		for (unsigned i = 0; i < 100; i++)
			CHECK(record(1, i) == (how == 2));
		CHECK_EQ_UINT(mprof_tracer_dropped(), how == 2 ? 0 : 100);
		CHECK_EQ_UINT(mprof_tracer_rings(), how == 2);
		CHECK_EQ_UINT(withdrawals, how == 1);
		CHECK_EQ_UINT(kicks, how == 2 ? 3 : 0);
		mprof_tracer_stop();
		CHECK_EQ_UINT(withdrawals, how != 0);
	}
}

int main(void)
{
	CHECK_RUN(test_interface);
	CHECK_RUN(test_publisher);
	CHECK_RUN(test_ten);
	CHECK_RUN(test_many_alive);
	CHECK_RUN(test_short_threads);
	CHECK_RUN(test_short_threads_wrap);
	CHECK_RUN(test_signals);
	CHECK_RUN(test_signals_counted);
	CHECK_RUN(test_fork);
	CHECK_RUN(test_fork_without_events);
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	CHECK_RUN(test_forbidden_counter);
#endif
	return check_done();
}
