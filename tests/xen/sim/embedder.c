/*
 * embedder NAME BYTES: a program that publishes its own rings to domain 0. Three threads record a
 * counter each; the program says `ready` then, reads a line, withdraws its rings and ends.
 */
#include <errno.h>
#include <inttypes.h>
#include <mprof/publisher-xen.h>
#include <mprof/tracer.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENTS 20000

static void *work(void *context)
{
	const char *name = context;
	struct mprof_recorder *r;

	for (int64_t i = 1; i <= EVENTS; i++) {
		r = mprof_tracer_begin();
		if (r) {
			mprof_recorder_counter(r, i, name, strlen(name));
			mprof_tracer_end(r);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"first", "second", "third"};
	static struct mprof_publisher_xen xen;
	struct mprof_publisher publisher;
	pthread_t threads[3];
	char line[16];
	int r;

	if (argc != 3)
		return 2;
	r = mprof_publisher_xen_open(&xen, &publisher, argv[1]);
	if (r) {
		printf("%s\n", strerror(-r));
		return 1;
	}
	if (mprof_tracer_start(
		    &(struct mprof_tracer_options){.publisher = &publisher, .ring_bytes = strtoul(argv[2], NULL, 10)}))
		return 1;
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)names[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	/* A child records nothing, and ends without harm to its parent's rings. */
	if (fork() == 0) {
		work((void *)(uintptr_t)"child");
		mprof_tracer_stop();
		mprof_publisher_xen_close(&xen);
		_exit(0);
	}
	wait(NULL);
	printf("ready %u %" PRIu64 "\n", mprof_tracer_rings(), mprof_tracer_dropped());
	fflush(stdout);
	r = !fgets(line, sizeof(line), stdin);
	mprof_tracer_stop();
	mprof_publisher_xen_close(&xen);
	return r;
}
