/*
 * A program with the runtime of OCaml 5, as far as mprof-run can see: run-ocaml MODE FILE. It writes its
 * file of runtime events as OCaml does, with the items of FILE, an OCaml program's file, in their order.
 * MODE says what it does then, or instead:
 *   end      end
 *   hang     say "played", and wait
 *   threads  have 80 threads that sleep, and end
 *   cut      cut the file, and end
 *   lie      let a tail go back, and end
 *   garbage, fifo, link, stranger   make a file that is none, a pipe, a link to FILE, a file of another user
 */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define THREADS	    80
#define PAUSE_ITEMS 40 /* items between two pauses, in which the keeper may read */

/* mprof-run knows OCaml's runtime by this function. */
void caml_runtime_events_start(void);

void caml_runtime_events_start(void)
{
}

struct image {
	uint64_t *words;
	size_t bytes;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void image_map(struct image *m, int fd)
{
	m->words = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (m->words == MAP_FAILED)
		die("mmap");
}

static uint64_t rings(const struct image *m)
{
	return m->words[1];
}

static uint64_t *head(const struct image *m, uint64_t ring)
{
	return m->words + 8 + ring * 10;
}

static uint64_t *tail(const struct image *m, uint64_t ring)
{
	return head(m, ring) + 1;
}

/* Return the place of the word at POSITION of RING. */
static uint64_t *word(const struct image *m, uint64_t ring, uint64_t position)
{
	return m->words + m->words[6] / 8 + ring * m->words[4] + position % m->words[4];
}

/* Write the header and the names of FROM, and rings that are empty, in OCaml's order. */
static void prepare(const struct image *to, const struct image *from)
{
	memcpy((char *)to->words + from->words[7], (const char *)from->words + from->words[7],
	       from->bytes - from->words[7]);
	for (int i = 1; i < 8; i++)
		__atomic_store_n(to->words + i, from->words[i], __ATOMIC_RELEASE);
	__atomic_store_n(to->words, from->words[0], __ATOMIC_RELEASE);
	for (uint64_t i = 0; i < rings(from); i++) {
		__atomic_store_n(tail(to, i), *head(from, i), __ATOMIC_RELEASE);
		__atomic_store_n(head(to, i), *head(from, i), __ATOMIC_RELEASE);
	}
}

/* Return the ring with the oldest item that TO does not have, or that of padding; all rings if none. */
static uint64_t next(const struct image *to, const struct image *from)
{
	uint64_t best = rings(from), oldest = UINT64_MAX, at;

	for (uint64_t i = 0; i < rings(from); i++) {
		at = *tail(to, i);
		if (at == *tail(from, i))
			continue;
		/* Padding has no time. */
		if (!(*word(from, i, at) << 10))
			return i;
		if (*word(from, i, at + 1) < oldest) {
			oldest = *word(from, i, at + 1);
			best = i;
		}
	}
	return best;
}

static void play(const struct image *to, const struct image *from)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t ring, at, n;

	for (uint64_t items = 1; (ring = next(to, from)) < rings(from); items++) {
		at = *tail(to, ring);
		n = *word(from, ring, at) >> 54;
		memcpy(word(to, ring, at), word(from, ring, at), n * 8);
		__atomic_store_n(tail(to, ring), at + n, __ATOMIC_RELEASE);
		if (items % PAUSE_ITEMS == 0)
			nanosleep(&pause, NULL);
	}
}

/* Make something else at PATH than a file of runtime events. Return false if MODE does not say so. */
static bool other(const char *mode, const char *path, const char *file)
{
	static const char text[4096] = "garbage";
	int fd = -1;

	if (strcmp(mode, "fifo") == 0)
		return mkfifo(path, 0600) == 0;
	if (strcmp(mode, "link") == 0)
		return symlink(file, path) == 0;
	if (strcmp(mode, "garbage") != 0)
		return false;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || write(fd, text, sizeof(text)) != sizeof(text))
		die(path);
	return close(fd) == 0;
}

static void *sleeper(void *barrier)
{
	usleep(1000);
	pthread_barrier_wait(barrier);
	return NULL;
}

static void threads_run(void)
{
	pthread_barrier_t barrier;
	pthread_t threads[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, sleeper, &barrier) != 0)
			die("pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static int made(const char *path, const struct image *from, bool stranger)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);

	if (fd < 0 || (stranger && fchown(fd, 65534, 65534) < 0) || ftruncate(fd, (off_t)from->bytes) < 0)
		die(path);
	return fd;
}

int main(int argc, char **argv)
{
	const char *mode = argc == 3 ? argv[1] : "", *directory = getenv("OCAML_RUNTIME_EVENTS_DIR");
	struct image from = {0}, to = {0};
	char path[PATH_MAX];
	struct stat st;
	int fd;

	if (!*mode || !directory)
		return 2;
	snprintf(path, sizeof(path), "%s/%d.events", directory, (int)getpid());
	if (other(mode, path, argv[2])) {
		puts("played");
		return fflush(stdout) || usleep(100000);
	}
	fd = open(argv[2], O_RDWR);
	if (fd < 0 || fstat(fd, &st) < 0)
		die(argv[2]);
	from.bytes = to.bytes = (size_t)st.st_size;
	image_map(&from, fd);
	fd = made(path, &from, strcmp(mode, "stranger") == 0);
	image_map(&to, fd);
	prepare(&to, &from);
	play(&to, &from);
	puts("played");
	fflush(stdout);
	if (strcmp(mode, "lie") == 0)
		*tail(&to, 0) = *head(&to, 0) - 1;
	if (strcmp(mode, "cut") == 0 && ftruncate(fd, 0) < 0)
		die("ftruncate");
	if (strcmp(mode, "threads") == 0)
		threads_run();
	if (strcmp(mode, "hang") == 0)
		getchar();
	return 0;
}
