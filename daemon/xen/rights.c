/*
 * Capabilities are per thread, and these system calls change the calling thread only. So they are
 * made before there is another thread.
 *
 * With no_new_privs, an executed program gains no rights by set-user bits or file capabilities, nor
 * by running as user 0. bounding_empty() also empties the bounding set if the process has
 * CAP_SETPCAP; the hardened systemd unit does not give that capability, so there no_new_privs alone
 * protects.
 */
#include "rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOTHING (-1)

static uint64_t capability(int number)
{
	return number == NOTHING ? 0 : (uint64_t)1 << number;
}

static int bounding_empty(int keep)
{
	for (int i = 0;; i++) {
		int has = prctl(PR_CAPBSET_READ, i, 0, 0, 0);

		if (has < 0)
			return 0; /* past the last capability that the kernel knows */
		if (has && i != keep && prctl(PR_CAPBSET_DROP, i, 0, 0, 0))
			return errno == EPERM ? 0 : -errno;
	}
}

static int permitted_set(uint64_t set)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{.effective = (uint32_t)set, .permitted = (uint32_t)set},
		{.effective = (uint32_t)(set >> 32), .permitted = (uint32_t)(set >> 32)},
	};

	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

static int permitted_get(uint64_t *set)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return -errno;
	*set = data[0].permitted | (uint64_t)data[1].permitted << 32;
	return 0;
}

/* Give up all capabilities of this thread but KEEP, and verify that. Return 0 or -errno. */
static int rights_keep(int keep)
{
	uint64_t left = UINT64_MAX;
	int r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
		return -errno;
	r = bounding_empty(keep);
	if (r)
		return r;
	r = permitted_set(capability(keep));
	if (r)
		return r;
	r = permitted_get(&left);
	if (r)
		return r;
	return left == capability(keep) ? 0 : -EPERM;
}

int rights_drop(void)
{
	return rights_keep(NOTHING);
}

int rights_keep_reading(void)
{
	uint64_t has = 0;
	int r = permitted_get(&has);

	if (r)
		return r;
	if (has & capability(CAP_DAC_READ_SEARCH))
		return rights_keep(CAP_DAC_READ_SEARCH);
	if (has & capability(CAP_DAC_OVERRIDE))
		return rights_keep(CAP_DAC_OVERRIDE);
	return rights_keep(NOTHING);
}
