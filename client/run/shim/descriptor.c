/*
 * A call on a descriptor in non-blocking mode never waits, and programs make many such calls. To
 * ask the kernel each time would cost more than the event, so the answer is kept for descriptors
 * below 65,536. A mode that another descriptor of the same open file changes goes unnoticed.
 */
#include "descriptor.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "kernel.h"
#include "shim.h"

#define DESCRIPTORS 65536
#define VC_MAJOR    4u
#define TTY_MAJOR   5u
#define PTS_FIRST   136u
#define PTS_LAST    143u

enum waiting { WAITING_UNKNOWN, WAITING_CAN, WAITING_NEVER };

static uint8_t answers[DESCRIPTORS];

/* Other descriptors that belong to a descriptor, each plus 1: 0 = none. Each is atomic. */
struct end {
	int32_t read_by;    /* the one from which bytes are read that are written to this one */
	int32_t written_by; /* the one to which bytes are written that are read from this one */
	int32_t epoll;	    /* the descriptor of epoll that waits for this one, too */
};

static struct end ends[DESCRIPTORS];

static bool device_waits(dev_t device)
{
	unsigned int number = major(device);

	return number == VC_MAJOR || number == TTY_MAJOR || (number >= PTS_FIRST && number <= PTS_LAST);
}

static enum waiting classify(int fd)
{
	long flags = KERNEL3(SYS_fcntl, fd, F_GETFL, 0);
	struct stat st = {0};

	if (flags < 0 || (flags & (O_NONBLOCK | O_PATH)) || KERNEL2(SYS_fstat, fd, &st) < 0)
		return WAITING_NEVER;
	if (S_ISCHR(st.st_mode) && !device_waits(st.st_rdev))
		return WAITING_NEVER;
	return S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode) ? WAITING_NEVER : WAITING_CAN;
}

bool descriptor_waits(int fd)
{
	uint8_t kept;
	struct self *s;

	if (fd < 0)
		return false;
	kept = fd < DESCRIPTORS ? __atomic_load_n(&answers[fd], __ATOMIC_RELAXED) : WAITING_UNKNOWN;
	if (kept != WAITING_UNKNOWN)
		return kept == WAITING_CAN;
	/* A child of vfork() records nothing, and its descriptors are not its parent's. */
	if (shim_self.vforked)
		return false;
	/* In a sandbox nobody can be asked: rather too many waits are recorded than too few. */
	if (seccomp_is_on())
		return true;
	kept = (uint8_t)classify(fd);
	if (fd < DESCRIPTORS)
		__atomic_store_n(&answers[fd], kept, __ATOMIC_RELAXED);
	s = self_enter();
	if (s) {
		/* The number may have stood for another file before: the name is new. */
		if (object_find(RUN_ID_FD(fd)))
			note(now(), RUN_NOTE_FD, RUN_ID_FD(fd), 0, (uint32_t)fd, NULL);
		self_leave(s);
	}
	return kept == WAITING_CAN;
}

/* A child of vfork() has descriptors of its own, and its parent's memory. */
static bool is_kept(int fd)
{
	return fd >= 0 && fd < DESCRIPTORS && !shim_self.vforked;
}

/* Take the number in *PLACE out, and return the descriptor that it stands for, or -1. */
static int number_take(int32_t *place)
{
	return __atomic_load_n(place, __ATOMIC_RELAXED) ? __atomic_exchange_n(place, 0, __ATOMIC_RELAXED) - 1 : -1;
}

static void number_store(int32_t *place, int fd)
{
	__atomic_store_n(place, is_kept(fd) ? fd + 1 : 0, __ATOMIC_RELAXED);
}

static int number_of(const int32_t *place)
{
	return __atomic_load_n(place, __ATOMIC_RELAXED) - 1;
}

void descriptor_changed(int fd)
{
	int other;

	if (!is_kept(fd))
		return;
	__atomic_store_n(&answers[fd], WAITING_UNKNOWN, __ATOMIC_RELAXED);
	other = number_take(&ends[fd].read_by);
	if (other >= 0)
		number_store(&ends[other].written_by, -1);
	other = number_take(&ends[fd].written_by);
	if (other >= 0)
		number_store(&ends[other].read_by, -1);
	(void)number_take(&ends[fd].epoll);
}

void descriptors_changed(unsigned int first, unsigned int last)
{
	for (unsigned int fd = first; fd <= last && fd < DESCRIPTORS; fd++)
		descriptor_changed((int)fd);
}

void descriptor_mode_changed(int fd)
{
	if (is_kept(fd))
		__atomic_store_n(&answers[fd], WAITING_UNKNOWN, __ATOMIC_RELAXED);
}

void descriptor_is_new(int fd, bool blocking)
{
	descriptor_changed(fd);
	if (is_kept(fd) && !blocking)
		__atomic_store_n(&answers[fd], WAITING_NEVER, __ATOMIC_RELAXED);
}

void descriptor_links(int from, int to)
{
	if (!is_kept(from) || !is_kept(to))
		return;
	number_store(&ends[from].read_by, to);
	number_store(&ends[to].written_by, from);
}

/* A copy writes to the same reader. It is not known to be read. */
void descriptor_copies(int fd, int to)
{
	if (fd == to)
		return;
	descriptor_changed(to);
	if (is_kept(fd) && is_kept(to))
		number_store(&ends[to].read_by, number_of(&ends[fd].read_by));
}

void descriptor_is_watched(int fd, int epoll)
{
	if (is_kept(fd))
		number_store(&ends[fd].epoll, epoll);
}

/* Return the object of the descriptor FD if threads wait for it, or NULL. */
static struct object *waited_for(int fd)
{
	struct object *o = fd < 0 ? NULL : object_find(RUN_ID_FD(fd));

	return o && __atomic_load_n(&o->waiters, __ATOMIC_RELAXED) ? o : NULL;
}

void descriptor_wakes(int fd)
{
	int reader = is_kept(fd) ? number_of(&ends[fd].read_by) : -1;
	struct object *direct, *epoll;
	struct self *s;

	if (reader < 0)
		return;
	direct = waited_for(reader);
	epoll = waited_for(number_of(&ends[reader].epoll));
	s = direct || epoll ? self_enter() : NULL;
	if (!s)
		return;
	if (direct)
		__atomic_store_n(&direct->waker, s->tid, __ATOMIC_RELAXED);
	if (epoll)
		__atomic_store_n(&epoll->waker, s->tid, __ATOMIC_RELAXED);
	self_leave(s);
}

static void not_woken(int fd)
{
	struct object *o = waited_for(fd);
	int32_t mine = shim_self.tid;

	if (o)
		__atomic_compare_exchange_n(&o->waker, &mine, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void descriptor_wakes_nobody(int fd)
{
	int reader = is_kept(fd) ? number_of(&ends[fd].read_by) : -1;

	if (reader < 0)
		return;
	not_woken(reader);
	not_woken(number_of(&ends[reader].epoll));
}
