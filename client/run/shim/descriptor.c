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

static bool device_waits(dev_t device)
{
	unsigned int number = major(device);

	return number == VC_MAJOR || number == TTY_MAJOR || (number >= PTS_FIRST && number <= PTS_LAST);
}

static enum waiting classify(int fd)
{
	long flags = KERNEL3(SYS_fcntl, fd, F_GETFL, 0);
	struct stat st;

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
	s = kept == WAITING_CAN ? self_enter() : NULL;
	if (s) {
		/* The number may have stood for another file before: the name is new. */
		if (object_find(RUN_ID_FD(fd)))
			note(now(), RUN_NOTE_FD, RUN_ID_FD(fd), 0, (uint32_t)fd, NULL);
		self_leave(s);
	}
	return kept == WAITING_CAN;
}

void descriptor_changed(int fd)
{
	if (fd >= 0 && fd < DESCRIPTORS)
		__atomic_store_n(&answers[fd], WAITING_UNKNOWN, __ATOMIC_RELAXED);
}

void descriptor_is_new(int fd, bool blocking)
{
	if (fd >= 0 && fd < DESCRIPTORS)
		__atomic_store_n(&answers[fd], blocking ? WAITING_UNKNOWN : WAITING_NEVER, __ATOMIC_RELAXED);
}
