/* The counters of a process, from /proc. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process.h"
#include "runtime-follow.h"

#define TASKS_MAX   256u /* threads whose context switches are added */
#define SAMPLES_ALL 10u	 /* all counters are recorded in each such sample, else those that changed */

enum { COUNTER_RESIDENT, COUNTER_DESCRIPTORS, COUNTER_SWITCHES, COUNTER_LOST, COUNTERS };

static const struct mprof_text names[] = {
	[COUNTER_RESIDENT] = MPROF_COUNTER_TEXT("resident bytes", MPROF_COUNTER_GAUGE),
	[COUNTER_DESCRIPTORS] = MPROF_COUNTER_TEXT("open descriptors", MPROF_COUNTER_GAUGE),
	/* The sum over the threads that live: it falls when a thread ends, and is no level either. */
	[COUNTER_SWITCHES] = MPROF_TEXT("context switches"),
	[COUNTER_LOST] = MPROF_COUNTER_TEXT(MPROF_COUNTER_DROPPED, MPROF_COUNTER_TOTAL),
};

/* Return the resident memory of PID, bytes, or -1. */
static int64_t resident(pid_t pid)
{
	char path[64];
	FILE *f;
	long long pages = -1;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	if (fscanf(f, "%*d %lld", &pages) != 1)
		pages = -1;
	fclose(f);
	return pages < 0 ? -1 : pages * sysconf(_SC_PAGESIZE);
}

static int64_t entries(const char *path)
{
	DIR *d = opendir(path);
	const struct dirent *e;
	int64_t n = 0;

	if (!d)
		return -1;
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

/* Since Linux 6.2 the size of the directory is the number of descriptors. */
static int64_t descriptors(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	if (stat(path, &st) < 0)
		return -1;
	return st.st_size ? st.st_size : entries(path);
}

/* Return the context switches of one thread, both kinds. */
static int64_t thread_switches(pid_t pid, const char *tid)
{
	char path[64], line[128];
	int64_t sum = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/status", (int)pid, tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, "voluntary_ctxt_switches:");

		if (at)
			sum += strtoll(strchr(at, ':') + 1, NULL, 10);
	}
	fclose(f);
	return sum;
}

static int64_t switches(pid_t pid)
{
	char path[64];
	const struct dirent *e;
	unsigned int n = 0;
	int64_t sum = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	if (!d)
		return -1;
	while ((e = readdir(d)) && n < TASKS_MAX)
		if (e->d_name[0] != '.') {
			sum += thread_switches(pid, e->d_name);
			n++;
		}
	closedir(d);
	return sum;
}

static void record(struct process *p, uint64_t time, const int64_t *values, bool all)
{
	mprof_recorder_at(&p->counters, time);
	for (size_t i = 0; i < COUNTERS; i++) {
		if (values[i] < 0 || (values[i] == p->last[i] && !all))
			continue;
		mprof_recorder_counter_text(&p->counters, values[i], &names[i]);
		p->last[i] = values[i];
	}
}

/* Return the number of events and notes that are in no ring. */
static int64_t lost(const struct process *p)
{
	uint64_t n = __atomic_load_n(&p->control->lost, __ATOMIC_RELAXED);

	return (int64_t)(n + (p->runtime ? runtime_dropped(p->runtime) : 0));
}

void counters_sample(struct process *p, uint64_t time, bool all)
{
	const int64_t values[COUNTERS] = {
		[COUNTER_RESIDENT] = resident(p->pid),
		[COUNTER_DESCRIPTORS] = descriptors(p->pid),
		[COUNTER_SWITCHES] = switches(p->pid),
		[COUNTER_LOST] = lost(p),
	};

	/* Some event now and then, so that the trace of a process that hangs does not end there. */
	record(p, time, values, p->samples++ % SAMPLES_ALL == 0 || all);
}

void counters_end(struct process *p, uint64_t time)
{
	const int64_t values[COUNTERS] = {
		[COUNTER_SWITCHES] = p->last[COUNTER_SWITCHES],
		[COUNTER_LOST] = lost(p),
	};

	record(p, time, values, true);
}
