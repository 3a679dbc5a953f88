/* The lock of a reader: what it may not do ends the process. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "sandbox.h"

#define MEMORY (256ull << 20)

static void opens(void)
{
	(void)!open("/etc/passwd", O_RDONLY);
}

static void connects(void)
{
	(void)!socket(AF_INET, SOCK_STREAM, 0);
}

static void forks(void)
{
	(void)!fork();
}

static void kills(void)
{
	kill(getppid(), 0);
}

static void runs(void)
{
	execl("/bin/true", "true", (char *)NULL);
}

static void ends(void)
{
}

/* Exit with 9 if there is no more memory. */
static void allocates(void)
{
	for (int i = 0; i < 64; i++)
		if (mmap(NULL, 16u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			_exit(9);
}

static void spins(void)
{
	for (;;)
		;
}

/* Run WHAT in a locked process, and return how it ended, as waitpid(). */
static int run(void (*what)(void))
{
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		if (sandbox_enter(MEMORY, 1) < 0)
			_exit(8);
		what();
		_exit(0);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	return status;
}

static void test_refused(void)
{
	void (*const forbidden[])(void) = {opens, connects, forks, kills, runs};

	CHECK_EQ_INT(run(ends), 0);
	for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++) {
		int status = run(forbidden[i]);

		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	}
}

static void test_limits(void)
{
	int status = run(allocates);

	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 9);
	status = run(spins);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU);
}

int main(void)
{
	CHECK_RUN(test_refused);
	CHECK_RUN(test_limits);
	return check_done();
}
