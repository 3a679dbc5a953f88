/* run-asan MODE: a program with AddressSanitizer that waits in a second thread, and ends well, with a leak, or with a write behind its memory. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "target.h"

static int fds[2];

static void *wait_for_byte(void *byte)
{
	CHECK(read(fds[0], byte, 1) == 1);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	char *volatile memory;
	pthread_t thread;
	char byte;

	CHECK(pipe(fds) == 0 && pthread_create(&thread, NULL, wait_for_byte, &byte) == 0);
	usleep(20000);
	CHECK(write(fds[1], "x", 1) == 1 && pthread_join(thread, NULL) == 0);
	printf("read %c\n", byte);
	fflush(stdout);
	memory = malloc(100);
	if (strcmp(mode, "over") == 0)
		memory[100] = byte;
	/* The last one may still be in a register. */
	for (int i = 0; i < 4 && strcmp(mode, "leak") == 0; i++)
		memory = malloc(100);
	free(memory);
	return 4;
}
