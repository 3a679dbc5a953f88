/* Children, daemons, and the old version of condition variables. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

/* Print each process's pid with its role. */
static void say(const char *role)
{
	printf("%s %d\n", role, (int)getpid());
	fflush(stdout);
}

static void *child_thread(void *nothing)
{
	usleep(2000);
	return nothing;
}

/* Both sides of a fork wait, with several threads. */
int program_fork(void)
{
	pthread_t thread;
	int status;
	pid_t pid;

	say("parent");
	CHECK(pthread_create(&thread, NULL, child_thread, NULL) == 0);
	pid = fork();
	if (pid == 0) {
		say("child");
		usleep(1000);
		CHECK(pthread_create(&thread, NULL, child_thread, NULL) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
		pid = fork();
		if (pid == 0) {
			say("grandchild");
			usleep(1000);
			execl("/proc/self/exe", "run-target", "calls-sleeps", NULL);
			_exit(1);
		}
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
		exit(3);
	}
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 3);
	return 0;
}

/* A server that detaches itself and goes on until SIGTERM. */
int program_daemon(void)
{
	sigset_t term;
	int number;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	if (fork() > 0)
		return 0;
	setsid();
	if (fork() > 0)
		_exit(0);
	say("daemon");
	fclose(stdout);
	CHECK(sigwait(&term, &number) == 0);
	return 0;
}

/* The child of vfork() has the parent's memory: nothing that it does may be recorded. */
int program_vfork(void)
{
	volatile int seen = 0, i;
	int status;
	pid_t pid;

	for (i = 0; i < 50; i++) {
		pid = vfork();
		if (pid == 0) {
			seen++;
			usleep(100);
			if (i % 2)
				_exit(4);
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		CHECK(pid > 0);
		CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == (i % 2 ? 4 : 0));
	}
	CHECK(seen == 50);
	return 0;
}

/* ---- GLIBC_2.2.5's condition variables, which a program from before 2003 uses ---- */

#ifdef __x86_64__

int old_wait(pthread_cond_t *c, pthread_mutex_t *m);
int old_signal(pthread_cond_t *c);
int old_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until);
int old_broadcast(pthread_cond_t *c);

__asm__(".symver old_wait, pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver old_signal, pthread_cond_signal@GLIBC_2.2.5");
__asm__(".symver old_timedwait, pthread_cond_timedwait@GLIBC_2.2.5");
__asm__(".symver old_broadcast, pthread_cond_broadcast@GLIBC_2.2.5");

/* The old layout: one pointer, and behind it memory that the functions must not touch. */
static struct {
	long condition;
	long guard[16];
} old;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int rounds;

static void *turn(void *nothing)
{
	pthread_mutex_lock(&mutex);
	while (rounds < 100) {
		rounds++;
		if (rounds % 2)
			old_signal((pthread_cond_t *)&old);
		else
			old_broadcast((pthread_cond_t *)&old);
		if (rounds < 100)
			old_wait((pthread_cond_t *)&old, &mutex);
	}
	old_broadcast((pthread_cond_t *)&old);
	pthread_mutex_unlock(&mutex);
	return nothing;
}

int program_old_condition(void)
{
	const struct timespec past = {0};
	pthread_t a, b;

	for (int i = 0; i < 16; i++)
		old.guard[i] = 0x5a5a5a5a;
	CHECK(pthread_create(&a, NULL, turn, NULL) == 0);
	CHECK(pthread_create(&b, NULL, turn, NULL) == 0);
	CHECK(pthread_join(a, NULL) == 0 && pthread_join(b, NULL) == 0);
	pthread_mutex_lock(&mutex);
	CHECK(old_timedwait((pthread_cond_t *)&old, &mutex, &past) == ETIMEDOUT);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < 16; i++)
		CHECK(old.guard[i] == 0x5a5a5a5a);
	return rounds != 100;
}

#else

int program_old_condition(void)
{
	return 0;
}

#endif
