/*
 * Samples of the system's view of the threads, from /proc: what a thread does that is in no wait of the shim.
 *
 * The rings of threads say what they wait for. A thread that computes, that waits in the kernel by a call that the shim does not
 * see, or whose process is stopped, writes nothing. So once a second the keeper reads the state of those threads whose
 * rings are quiet. The ring of a thread that is in a wait, or that began one in the last second, says what it does: such a
 * thread is looked at each tenth second. At most LOOKS threads of a process are read each second, in turns.
 *
 * The table of waiting threads is the process's memory: nothing in it is trusted.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mprof/event.h>

#include "outside.h"
#include "process.h"

#define LOOKS 256u /* threads that are read each second */
/*
 * After this many looks with the same state only each LOOKS_RARE-th look is recorded. A thread that waits is looked at once
 * in as many seconds.
 */
#define LOOKS_RARE 10u
#define SAMPLED	   1024u /* threads of a process whose last looks are known */
#define TEXTS	   64u	 /* states with a channel that a process has */

/* One entry of the table of a process, at the thread's id modulo SAMPLED. Another thread may take it. */
struct sampled {
	pid_t tid;
	uint32_t same;	  /* looks that found KIND */
	uint32_t skipped; /* looks that were left out because the thread waits */
	uint32_t kind;	  /* enum mprof_state_kind of the last record; MPROF_STATE_KINDS = there is none */
	uint64_t since;	  /* of the thread's last wait, as its entry in the table of waiting threads has it */
};

struct sampling {
	struct sampled entries[SAMPLED];
	uint32_t at;				    /* the thread of the directory with which the next second begins */
	struct mprof_text names[MPROF_STATE_KINDS]; /* the states without a channel */
	/* States with a channel, the first N_TEXTS; the recorder keeps their addresses. */
	struct {
		struct mprof_text text;
		char bytes[OUTSIDE_CHANNEL + 16];
	} texts[TEXTS];
	uint32_t n_texts;
};

static struct sampling *sampling_new(void)
{
	struct sampling *all = calloc(1, sizeof(*all));

	for (unsigned int i = 0; all && i < MPROF_STATE_KINDS; i++)
		all->names[i] = (struct mprof_text){.text = mprof_state_name(i), .bytes = strlen(mprof_state_name(i))};
	return all;
}

/* Return the text of KIND and CHANNEL, which stays valid as long as ALL. Without room the channel is left out. */
static const struct mprof_text *text_of(struct sampling *all, enum mprof_state_kind kind, const char *channel)
{
	char text[sizeof(all->texts[0].bytes)];
	int bytes = snprintf(text, sizeof(text), "%s %s", all->names[kind].text, channel);
	uint32_t n = all->n_texts;

	if (!*channel)
		return &all->names[kind];
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(all->texts[i].bytes, text) == 0)
			return &all->texts[i].text;
	if (n == TEXTS)
		return &all->names[kind];
	memcpy(all->texts[n].bytes, text, sizeof(text));
	all->texts[n].text = (struct mprof_text){.text = all->texts[n].bytes, .bytes = (size_t)bytes};
	all->n_texts++;
	return &all->texts[n].text;
}

/* The thread TID sleeps. One in a futex is of the kind futex, which needs no channel. */
static void futex_find(pid_t pid, pid_t tid, struct outside_state *s)
{
	if (!*s->channel)
		outside_call(pid, tid, s);
	if (s->call != SYS_futex && !strstr(s->channel, "futex"))
		return;
	s->kind = MPROF_STATE_futex;
	*s->channel = '\0';
}

/* Read the state of the thread TID. Return false if it has gone, or if the state is unknown. */
static bool look_at(pid_t pid, pid_t tid, struct outside_state *s)
{
	if (!outside_stat(pid, tid, s))
		return false;
	if (s->kind == MPROF_STATE_sleeps || s->kind == MPROF_STATE_blocked)
		outside_channel(pid, tid, s);
	if (s->kind == MPROF_STATE_sleeps)
		futex_find(pid, tid, s);
	return s->kind != MPROF_STATE_KINDS;
}

/* Return the entry of the thread TID among those that wait, or NULL. */
static const struct run_waiter *waiter_find(const struct process *p, pid_t tid)
{
	for (uint32_t i = 0; i < RUN_WAITERS; i++) {
		const struct run_waiter *w = &p->control->waiters[((uint32_t)tid + i) % RUN_WAITERS];

		if (__atomic_load_n(&w->owner, __ATOMIC_ACQUIRE) == (int32_t)tid)
			return w;
	}
	return NULL;
}

/* Return whether the thread TID may wait without an entry, because it once found none that was free. */
static bool is_refused(const struct process *p, pid_t tid)
{
	uint32_t bit = (uint32_t)tid % RUN_REFUSED;

	return __atomic_load_n(&p->control->refused[bit / 64], __ATOMIC_ACQUIRE) >> bit % 64 & 1;
}

/* Record LOOK for the thread of S, unless that was recorded lately. Return whether it was recorded. */
static bool record(struct process *p, struct sampling *all, struct sampled *s, const struct outside_state *look)
{
	s->same = s->kind == look->kind ? s->same + 1 : 0;
	s->kind = look->kind;
	if (s->same >= LOOKS_RARE && s->same % LOOKS_RARE)
		return false;
	mprof_recorder_state_text(&p->counters, s->tid, look->processor_ns, text_of(all, look->kind, look->channel));
	return true;
}

/* Return whether the wait of the thread TID, for which W was found, is still the same: WAIT, since SINCE. */
static bool is_same(const struct process *p, pid_t tid, const struct run_waiter *w, int64_t wait, uint64_t since)
{
	if (!w) /* a thread takes its entry before its first wait */
		return !waiter_find(p, tid);
	return __atomic_load_n(&w->wait, __ATOMIC_ACQUIRE) == wait &&
	       __atomic_load_n(&w->since, __ATOMIC_RELAXED) == since;
}

/* The thread TID has its turn. Return whether its state was recorded. */
static bool turn_take(struct process *p, struct sampling *all, pid_t tid)
{
	struct sampled *s = &all->entries[(uint32_t)tid % SAMPLED];
	bool waits, leader = tid == p->pid;
	const struct run_waiter *w = waiter_find(p, tid);
	int64_t wait = w ? __atomic_load_n(&w->wait, __ATOMIC_ACQUIRE) : 0;
	uint64_t since = w ? __atomic_load_n(&w->since, __ATOMIC_RELAXED) : 0;
	struct outside_state look;

	if (s->tid != tid)
		*s = (struct sampled){.tid = tid, .kind = MPROF_STATE_KINDS};
	waits = wait || (w && since != s->since);
	s->since = since;
	/* A signal stops all threads, so the first one tells it at once. */
	if (waits && !leader && !mprof_state_is_stop(s->kind) && ++s->skipped < LOOKS_RARE)
		return false;
	s->skipped = 0;
	if (!look_at(p->pid, tid, &look))
		return false;
	if (!is_same(p, tid, w, wait, since))
		return false;
	if (waits || (!w && is_refused(p, tid) && look.kind != MPROF_STATE_runs)) {
		if (!mprof_state_is_stop(look.kind)) {
			look.kind = MPROF_STATE_waits;
			*look.channel = '\0';
		}
		/* There is something to say only if something was said before. */
		if (look.kind == MPROF_STATE_waits && (s->kind == MPROF_STATE_waits || s->kind == MPROF_STATE_KINDS))
			return false;
	}
	return record(p, all, s, &look);
}

bool states_sample(struct process *p, uint64_t time)
{
	char path[64];
	uint32_t n = 0, taken = 0, first;
	const struct dirent *e;
	bool any = false;
	DIR *d;

	if (!p->sampling)
		p->sampling = sampling_new();
	snprintf(path, sizeof(path), "/proc/%d/task", (int)p->pid);
	d = p->sampling ? opendir(path) : NULL;
	if (!d)
		return false;
	mprof_recorder_at(&p->counters, time);
	first = p->sampling->at;
	while ((e = readdir(d))) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
		bool turn = n >= first && taken < LOOKS;

		if (tid <= 0)
			continue;
		if (turn || tid == p->pid)
			any |= turn_take(p, p->sampling, tid);
		taken += turn;
		n++;
	}
	closedir(d);
	p->sampling->at = first + taken < n ? first + taken : 0;
	return any;
}
