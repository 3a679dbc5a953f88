/*
 * A load behind the end of a file that was cut raises SIGBUS. The handler puts pages of zeros into
 * the place of the missing ones, so that the load goes on, and notes that the file is cut.
 */
#include "mapped-file.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static struct mapping *volatile loading;

static void on_bus(int number, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr, begin, end, page = (uintptr_t)sysconf(_SC_PAGESIZE);
	struct mapping *m = loading;
	void *zeros;

	(void)context;
	begin = m ? (uintptr_t)m->map.bytes : 0;
	end = m ? begin + m->map.len : 0;
	at &= ~(page - 1);
	if (at >= begin && at < end) {
		zeros = mmap((void *)at, end - at, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		m->cut = true;
		if (zeros != MAP_FAILED)
			return;
	}
	/* Another load: it is repeated, and ends the process. */
	signal(number, SIG_DFL);
}

int mapping_open(struct mapping *m, int fd, size_t size)
{
	const struct sigaction bus = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
	void *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (bytes == MAP_FAILED)
		return -errno;
	sigaction(SIGBUS, &bus, NULL);
	*m = (struct mapping){.map = {.bytes = bytes, .len = size}};
	return 0;
}

void mapping_close(struct mapping *m)
{
	if (m->map.bytes)
		munmap((void *)(uintptr_t)m->map.bytes, m->map.len);
	*m = (struct mapping){0};
}

bool mapping_load(void *mapping, uint64_t offset, void *to, size_t words)
{
	struct mapping *m = mapping;
	bool done;

	loading = m;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	done = !m->cut && mprof_runtime_map_load(&m->map, offset, to, words);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	loading = NULL;
	return done && !m->cut;
}
