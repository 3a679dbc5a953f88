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
#define TTY_MAJOR   5u
#define PTS_FIRST   136u
#define PTS_LAST    143u

enum class { CLASS_UNKNOWN, CLASS_WAITS, CLASS_NEVER_WAITS };

static uint8_t classes[DESCRIPTORS];

static bool device_waits(dev_t device)
{
	unsigned int number = major(device);

	return number == TTY_MAJOR || (number >= PTS_FIRST && number <= PTS_LAST) || number == 4;
}

static enum class classify(int fd) {
	long flags = KERNEL3(SYS_fcntl, fd, F_GETFL, 0); struct stat st;

	if (flags < 0 || (flags & (O_NONBLOCK | O_PATH)) || KERNEL2(SYS_fstat, fd, &st) < 0) return CLASS_NEVER_WAITS;
	if (S_ISCHR(st.st_mode) && !device_waits(st.st_rdev)) return CLASS_NEVER_WAITS;
	return S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode) ? CLASS_NEVER_WAITS : CLASS_WAITS;
}

bool descriptor_waits(int fd)
{
	uint8_t class;
	struct self *s;

	if (fd < 0)
		return false;
	class = fd < DESCRIPTORS ? __atomic_load_n(&classes[fd], __ATOMIC_RELAXED) : CLASS_UNKNOWN;
	if (class != CLASS_UNKNOWN)
		return class == CLASS_WAITS;
	class = (uint8_t)classify(fd);
	if (fd < DESCRIPTORS)
		__atomic_store_n(&classes[fd], class, __ATOMIC_RELAXED);
	s = class == CLASS_WAITS ? self_enter() : NULL;
	if (s) {
		/* The number may have stood for another file before: the name is new. */
		if (object_find(RUN_ID_FD(fd)))
			note(now(), RUN_NOTE_FD, RUN_ID_FD(fd), 0, (uint32_t)fd, NULL);
		self_leave(s);
	}
	return class == CLASS_WAITS;
}

void descriptor_changed(int fd)
{
	if (fd >= 0 && fd < DESCRIPTORS)
		__atomic_store_n(&classes[fd], CLASS_UNKNOWN, __ATOMIC_RELAXED);
}

void descriptor_is_new(int fd, bool blocking)
{
	if (fd >= 0 && fd < DESCRIPTORS)
		__atomic_store_n(&classes[fd], blocking ? CLASS_UNKNOWN : CLASS_NEVER_WAITS, __ATOMIC_RELAXED);
}
