/*
 * A stream is removed only if its owner surely runs no more. The test includes the source, whose
 * function is not public.
 */
#include "../../client/recorder/xen-keys.c" /* NOLINT(bugprone-suspicious-include) */

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "check.h"

/* Write the owner that the process PID is to TEXT. */
static void owner_of(pid_t pid, char *text, size_t size)
{
	uint64_t start = 0;

	CHECK_EQ_INT(started((uint32_t)pid, &start), 0);
	snprintf(text, size, "%d.%" PRIu64 ".%" PRIu64, (int)pid, start, pid_namespace());
}

/* Start a process that waits until a byte comes from PIPE[0], or its end. */
static pid_t waiting(const int *pipe)
{
	pid_t pid = fork();
	char byte;

	if (pid == 0) {
		close(pipe[1]);
		_exit(read(pipe[0], &byte, 1) < 0);
	}
	return pid;
}

static void test_ends(void)
{
	int ends[2], r = pipe(ends);
	pid_t pid = waiting(ends);
	char owner[64], other[80];
	siginfo_t how;

	CHECK_EQ_INT(r, 0);
	owner_of(pid, owner, sizeof(owner));
	CHECK(!owner_gone(owner));
	snprintf(other, sizeof(other), "%d.1.%" PRIu64, (int)pid, pid_namespace());
	CHECK(owner_gone(other)); /* the number belongs to a later process */
	close(ends[1]);
	CHECK_EQ_INT(waitid(P_PID, (id_t)pid, &how, WEXITED | WNOWAIT), 0);
	CHECK(owner_gone(owner)); /* its parent has not noticed */
	CHECK_EQ_INT(waitpid(pid, NULL, 0), pid);
	CHECK(owner_gone(owner));
	close(ends[0]);
}

static void test_malformed(void)
{
	static const char *const owners[] = {"", "x", "1.2", "0.1.", "4294967295.1.", "2147483648.1."};
	char text[80];

	for (size_t i = 0; i < sizeof(owners) / sizeof(*owners); i++) {
		snprintf(text, sizeof(text), "%s%" PRIu64, owners[i], pid_namespace());
		CHECK(!owner_gone(i < 3 ? owners[i] : text));
	}
	snprintf(text, sizeof(text), "%d.1.%" PRIu64, (int)getpid(), pid_namespace() + 1);
	CHECK(!owner_gone(text));
}

/* Without descriptors nothing is known about the process. */
static void test_no_descriptors(void)
{
	struct rlimit before, none;
	char owner[64];

	owner_of(getpid(), owner, sizeof(owner));
	CHECK_EQ_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){.rlim_max = before.rlim_max};
	CHECK_EQ_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
	CHECK(!owner_gone(owner));
	CHECK_EQ_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* Make the directories and the file below ROOT that pid_namespace() looks at. Return whether that worked. */
static bool proc_make(const char *root)
{
	static const char *const names[] = {"/proc", "/proc/self", "/proc/self/ns", "/proc/self/ns/pid"};
	char path[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s%s", root, names[i]);
		if (mkdir(path, 0700) < 0)
			return false;
	}
	return true;
}

static void proc_remove(const char *root)
{
	static const char *const names[] = {"/proc/self/ns/pid", "/proc/self/ns", "/proc/self", "/proc", ""};
	char path[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s%s", root, names[i]);
		rmdir(path);
	}
}

/* The child of test_hidden(): see a /proc without processes, which are RUNNING and ENDED. */
static int hidden_look(const char *root, pid_t running, pid_t ended)
{
	uint64_t start;
	char owner[64];
	bool gone;

	unshare(CLONE_NEWUSER); /* so that any user may use chroot() */
	if (chroot(root) < 0 || chdir("/") < 0)
		return CHECK_SKIPPED;
	if (!pid_namespace() || started((uint32_t)running, &start) != -ENOENT)
		return 3;
	snprintf(owner, sizeof(owner), "%d.1.%" PRIu64, (int)running, pid_namespace());
	gone = owner_gone(owner);
	snprintf(owner, sizeof(owner), "%d.1.%" PRIu64, (int)ended, pid_namespace());
	return gone ? 1 : owner_gone(owner) ? 0 : 2;
}

/* A process that /proc does not show, as with its option hidepid, may run nevertheless. */
static void test_hidden(void)
{
	char root[] = "/tmp/mprof-keys-XXXXXX";
	int ends[2], r = pipe(ends), status = 0;
	pid_t ended = waiting(ends), child;

	CHECK_EQ_INT(r, 0);
	close(ends[1]);
	waitpid(ended, NULL, 0);
	CHECK(mkdtemp(root) && proc_make(root));
	child = fork();
	if (child == 0)
		_exit(hidden_look(root, getppid(), ended));
	CHECK_EQ_INT(waitpid(child, &status, 0), child);
	proc_remove(root);
	CHECK(WIFEXITED(status));
	if (WEXITSTATUS(status) == CHECK_SKIPPED)
		fputs("test_hidden: this user may not use chroot()\n", stderr);
	else
		CHECK_EQ_INT(WEXITSTATUS(status), 0);
	close(ends[0]);
}

int main(void)
{
	CHECK_RUN(test_ends);
	CHECK_RUN(test_malformed);
	CHECK_RUN(test_no_descriptors);
	CHECK_RUN(test_hidden);
	return check_done();
}
