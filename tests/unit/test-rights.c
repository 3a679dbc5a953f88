/*
 * Rights that a process gives up: the process does not have them any more, nor does a program that
 * it executes as user 0.
 */
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "cleanup.h"
#include "rights.h"

#define BIT(n) (UINT64_C(1) << (n))

/* Return the hexadecimal number behind NAME in the status file FILE. */
static uint64_t status(const char *file, const char *name)
{
	CLEANUP(fclosep) FILE *f = fopen(file, "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
			return strtoull(line + strlen(name) + 1, NULL, 16);
	fprintf(stderr, "%s has no line %s\n", file, name);
	CHECK(false);
	return UINT64_MAX;
}

static void check_sets(const char *file, uint64_t want)
{
	static const char *const sets[] = {"CapPrm", "CapEff", "CapInh", "CapAmb"};

	for (size_t i = 0; i < 4; i++)
		CHECK_EQ_UINT(status(file, sets[i]), i < 2 ? want : 0);
	CHECK_EQ_UINT(status(file, "CapBnd") & ~want, 0);
	CHECK_EQ_UINT(status(file, "NoNewPrivs"), 1);
}

/* Run FN in a child, which exits with the result of its own checks. */
static void in_child(void (*fn)(void))
{
	pid_t pid = fork();
	int code = -1;

	if (pid == 0) {
		unsigned long failed = check_count()->failed;

		fn();
		_exit(check_count()->failed != failed);
	}
	waitpid(pid, &code, 0);
	CHECK_EQ_INT(code, 0);
}

static void child_drops(void)
{
	CHECK_EQ_INT(rights_drop(), 0);
	check_sets("/proc/self/status", 0);
	/* A second call gives the same result. */
	CHECK_EQ_INT(rights_drop(), 0);
	CHECK_EQ_INT(rights_keep_reading(), 0);
	check_sets("/proc/self/status", 0);
}

/* A program that user 0 executes has no rights. The program's exit code is the result. */
static void child_executes(void)
{
	CHECK_EQ_INT(rights_drop(), 0);
	execlp("grep", "grep", "-q", "^CapEff:[^0-9a-f]*0000000000000000$", "/proc/self/status", NULL);
	CHECK(false);
}

static void child_reads(void)
{
	CHECK_EQ_INT(rights_keep_reading(), 0);
	check_sets("/proc/self/status", BIT(CAP_DAC_READ_SEARCH));
	/* A process that may not change the bounding set any more can drop its rights again. */
	CHECK_EQ_INT(rights_drop(), 0);
	CHECK_EQ_UINT(status("/proc/self/status", "CapPrm"), 0);
	CHECK_EQ_UINT(status("/proc/self/status", "CapEff"), 0);
}

/* systemd gives the unit only CAP_DAC_OVERRIDE. */
static void child_overrides(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{.effective = 1u << CAP_DAC_OVERRIDE, .permitted = 1u << CAP_DAC_OVERRIDE}};

	CHECK_EQ_INT(syscall(SYS_capset, &header, data), 0);
	CHECK_EQ_INT(rights_keep_reading(), 0);
	CHECK_EQ_UINT(status("/proc/self/status", "CapPrm"), BIT(CAP_DAC_OVERRIDE));
	CHECK_EQ_UINT(status("/proc/self/status", "CapEff"), BIT(CAP_DAC_OVERRIDE));
	CHECK_EQ_UINT(status("/proc/self/status", "NoNewPrivs"), 1);
	CHECK_EQ_INT(rights_drop(), 0);
	CHECK_EQ_UINT(status("/proc/self/status", "CapPrm"), 0);
}

static void test_drop(void)
{
	in_child(child_drops);
}

static void test_execute(void)
{
	in_child(child_executes);
}

static void test_reading(void)
{
	in_child(child_reads);
	in_child(child_overrides);
}

int main(void)
{
	if (!(status("/proc/self/status", "CapPrm") & BIT(CAP_DAC_READ_SEARCH)))
		return check_skip("there are no rights to give up: run it as root");
	CHECK_RUN(test_drop);
	CHECK_RUN(test_execute);
	CHECK_RUN(test_reading);
	return check_done();
}
