/*
 * The helper, as a real process: its answers about console logs, the requests that it refuses, and
 * that neither side is harmed if the other ends or hangs. On a machine that is no dom0, the states
 * of domains are unknown, and the test checks that. tests/xen checks the states on Xen.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "clock.h"
#include "helper.h"

#define WAIT_MS 300000

static char logs[64];

static int start(struct helper **helper, const char *console_logs)
{
	return helper_start(helper, &(struct helper_options){.console_logs = console_logs});
}

static void file_write(const char *name, const char *text, size_t len)
{
	CLEANUP(fclosep) FILE *file = NULL;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", logs, name);
	file = fopen(path, "we");
	CHECK(file && fwrite(text, 1, len, file) == len);
}

static void path_of(const char *name, char *path, size_t size)
{
	snprintf(path, size, "%s/%s", logs, name);
}

/* Wait for the next answer. Return false if none comes. */
static bool answer_wait(struct helper *helper, struct helper_answer *answer)
{
	struct pollfd pfd = {.fd = helper_fd(helper), .events = POLLIN};

	return CHECK_EQ_INT(poll(&pfd, 1, WAIT_MS), 1) && CHECK_EQ_INT(helper_next(helper, answer), 1);
}

static int console_error(struct helper *helper, const char *name, struct helper_answer *answer)
{
	static uint64_t tag = UINT64_C(1) << 40;

	if (!CHECK_EQ_INT(helper_ask_console(helper, ++tag, name), 0) || !answer_wait(helper, answer))
		return 1;
	CHECK(answer->is_console);
	CHECK_EQ_UINT(answer->tag, tag);
	if (answer->error) {
		CHECK_EQ_UINT(answer->n, 0);
		CHECK(!answer->complete);
	}
	return answer->error;
}

/* Return the process id of the helper, the only child of this process. */
static pid_t helper_pid(void)
{
	CLEANUP(fclosep) FILE *file = NULL;
	char path[64];
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	file = fopen(path, "re");
	CHECK(file && fscanf(file, "%d", &pid) == 1);
	return pid;
}

static void test_tails(void)
{
	CLEANUP(helper_stopp) struct helper *helper = NULL;
	static struct helper_answer answer;
	static char text[HELPER_CONSOLE_MAX + 1];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i * 31 >> 3);
	if (!CHECK_EQ_INT(start(&helper, logs), 0))
		return;
	file_write("guest-web.log", "boot\r\npanic\n", 12);
	CHECK_EQ_INT(console_error(helper, "web", &answer), 0);
	CHECK_EQ_UINT(answer.n, 12);
	CHECK(answer.complete);
	CHECK_EQ_MEM(answer.console, "boot\r\npanic\n", 12);
	file_write("guest-empty.log", "", 0);
	CHECK_EQ_INT(console_error(helper, "empty", &answer), 0);
	CHECK(answer.n == 0 && answer.complete);
	file_write("guest-full.log", text, HELPER_CONSOLE_MAX);
	CHECK_EQ_INT(console_error(helper, "full", &answer), 0);
	CHECK(answer.n == HELPER_CONSOLE_MAX && answer.complete);
	file_write("guest-full.log", text, sizeof(text));
	CHECK_EQ_INT(console_error(helper, "full", &answer), 0);
	CHECK(answer.n == HELPER_CONSOLE_MAX && !answer.complete);
	CHECK_EQ_MEM(answer.console, text + 1, HELPER_CONSOLE_MAX);
	CHECK_EQ_INT(console_error(helper, "absent", &answer), -ENOENT);
}

static void test_hostile_names(void)
{
	static const char *const bad[] = {"",	 ".",  "..",   "/etc/passwd", "../x",
					  "a/b", "a/", "a\nb", "a\x7f",	      "\x1b[0m"};
	CLEANUP(helper_stopp) struct helper *helper = NULL;
	static struct helper_answer answer;
	char name[HELPER_NAME_MAX + 2], path[256], to[256];

	if (!CHECK_EQ_INT(start(&helper, logs), 0))
		return;
	/* Make the file that a helper would read which accepted "../x" as a name. */
	path_of("guest-..", path, sizeof(path));
	mkdir(path, 0700);
	file_write("guest-../x.log", "secret", 6);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQ_INT(console_error(helper, bad[i], &answer), -EINVAL);
	memset(name, 'n', sizeof(name));
	name[HELPER_NAME_MAX + 1] = '\0';
	CHECK_EQ_INT(console_error(helper, name, &answer), -EINVAL);
	name[HELPER_NAME_MAX] = '\0';
	CHECK_EQ_INT(console_error(helper, name, &answer), -ENOENT);
	/* A name may begin with a dot; only "." and ".." are refused. */
	CHECK_EQ_INT(console_error(helper, ".x", &answer), -ENOENT);
	CHECK_EQ_INT(console_error(helper, "...", &answer), -ENOENT);
	/* A log must be a regular file. */
	path_of("guest-link.log", path, sizeof(path));
	path_of("guest-web.log", to, sizeof(to));
	CHECK_EQ_INT(symlink(to, path), 0);
	CHECK_EQ_INT(console_error(helper, "link", &answer), -ELOOP);
	path_of("guest-pipe.log", path, sizeof(path));
	CHECK_EQ_INT(mkfifo(path, 0600), 0);
	CHECK_EQ_INT(console_error(helper, "pipe", &answer), -EINVAL);
	path_of("guest-dir.log", path, sizeof(path));
	CHECK_EQ_INT(mkdir(path, 0700), 0);
	CHECK_EQ_INT(console_error(helper, "dir", &answer), -EINVAL);
	CHECK_EQ_INT(console_error(helper, "web", &answer), 0);
}

static void test_no_logs(void)
{
	static const char *const none[] = {"", "/nonexistent/console"};
	static struct helper_answer answer;

	for (size_t i = 0; i < 2; i++) {
		CLEANUP(helper_stopp) struct helper *helper = NULL;

		if (CHECK_EQ_INT(start(&helper, none[i]), 0))
			CHECK_EQ_INT(console_error(helper, "web", &answer), -ENOENT);
	}
}

/* The answer distinguishes a domain whose state is unknown from a domain that does not exist. */
static void test_states(void)
{
	CLEANUP(helper_stopp) struct helper *helper = NULL;
	static struct helper_answer answer;
	static uint32_t domids[HELPER_DOMIDS_MAX + 1];
	const char *sentence;

	if (!CHECK_EQ_INT(start(&helper, ""), 0))
		return;
	CHECK_EQ_INT(helper_ask_states(helper, 0, domids, HELPER_DOMIDS_MAX + 1), -EINVAL);
	CHECK_EQ_INT(helper_ask_states(helper, 77, domids, HELPER_DOMIDS_MAX), 0);
	if (!answer_wait(helper, &answer))
		return;
	CHECK(!answer.is_console);
	CHECK_EQ_UINT(answer.tag, 77);
	if (helper_knows_states(helper, &sentence)) {
		CHECK_EQ_UINT(answer.n, HELPER_DOMIDS_MAX);
		CHECK(answer.states[0].flags & DOMAIN_KNOWN);
	} else {
		CHECK(strstr(sentence, "libxenctrl"));
		CHECK_EQ_UINT(answer.n, 0);
	}
	CHECK_EQ_INT(helper_next(helper, &answer), 0);
}

static void test_bounded(void)
{
	CLEANUP(helper_stopp) struct helper *helper = NULL;
	static struct helper_answer answer;
	unsigned asked = 0;
	int r;

	if (!CHECK_EQ_INT(start(&helper, logs), 0))
		return;
	/*
	 * Answers that nobody has read count as open requests. This limits the bytes in both
	 * directions of the socket.
	 */
	while ((r = helper_ask_console(helper, asked, "full")) == 0 && asked < 1000)
		asked++;
	CHECK_EQ_INT(r, -EAGAIN);
	CHECK(asked > 1 && asked < 100);
	for (unsigned i = 0; i < asked; i++) {
		if (!answer_wait(helper, &answer))
			return;
		CHECK_EQ_UINT(answer.tag, i);
		CHECK_EQ_UINT(answer.n, HELPER_CONSOLE_MAX);
	}
	CHECK_EQ_INT(helper_next(helper, &answer), 0);
	CHECK_EQ_INT(console_error(helper, "web", &answer), 0);
}

static void test_death(void)
{
	CLEANUP(helper_stopp) struct helper *helper = NULL;
	struct pollfd pfd = {.events = POLLIN};
	static struct helper_answer answer;
	uint32_t domid = 1;
	pid_t pid;

	if (!CHECK_EQ_INT(start(&helper, logs), 0))
		return;
	pid = helper_pid();
	/* systemd sends these signals to all processes of a unit. The helper ignores them. */
	kill(pid, SIGTERM);
	kill(pid, SIGINT);
	kill(pid, SIGHUP);
	CHECK_EQ_INT(console_error(helper, "web", &answer), 0);
	kill(pid, SIGKILL);
	pfd.fd = helper_fd(helper);
	CHECK_EQ_INT(poll(&pfd, 1, WAIT_MS), 1);
	CHECK_EQ_INT(helper_next(helper, &answer), -EPIPE);
	CHECK_EQ_INT(helper_next(helper, &answer), -EPIPE);
	CHECK_EQ_INT(helper_ask_states(helper, 0, &domid, 1), -EPIPE);
	CHECK_EQ_INT(helper_ask_console(helper, 1, "web"), -EPIPE);
	CHECK(!helper_knows_states(helper, NULL));
}

/* The helper hangs. Further requests are refused, and helper_stop does not wait for it. */
static void test_hangs(void)
{
	struct helper *helper = NULL;
	unsigned asked = 0;

	if (!CHECK_EQ_INT(start(&helper, logs), 0))
		return;
	kill(helper_pid(), SIGSTOP);
	while (helper_ask_console(helper, asked, "web") == 0 && asked < 1000)
		asked++;
	CHECK(asked < 1000);
	CHECK_EQ_INT(helper_ask_console(helper, asked, "web"), -EAGAIN);
	helper = helper_stop(helper);
	CHECK_EQ_INT(waitpid(-1, NULL, WNOHANG), -1);
}

/* The collector dies. Its helper becomes a child of this process, and ends. */
static void test_collector_dies(void)
{
	int ready[2], code = -1;
	struct helper *helper;
	uint64_t until = clock_mono() + WAIT_MS * NS_PER_MS;
	pid_t collector, orphan;
	char byte;

	CHECK_EQ_INT(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	CHECK_EQ_INT(pipe(ready), 0);
	collector = fork();
	if (collector == 0) {
		_exit(start(&helper, logs) || write(ready[1], "r", 1) != 1 || pause());
	}
	CHECK_EQ_INT(read(ready[0], &byte, 1), 1);
	kill(collector, SIGKILL);
	CHECK_EQ_INT(waitpid(collector, &code, 0), collector);
	while ((orphan = waitpid(-1, &code, WNOHANG)) == 0 && clock_mono() < until)
		usleep(1000);
	CHECK(orphan > 0);
	close(ready[0]);
	close(ready[1]);
}

static unsigned files_open(pid_t pid)
{
	char path[64];
	unsigned n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		n += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

/*
 * The helper has a name of its own. It keeps the three standard files and its end of the socket,
 * and no other file.
 */
static void test_keeps_little(void)
{
	CLEANUP(helper_stopp) struct helper *helper = NULL;
	CLEANUP(closep) int spare = open("/dev/null", O_RDONLY);
	CLEANUP(fclosep) FILE *file = NULL;
	char path[64], name[32] = "";

	if (!CHECK(spare >= 0) || !CHECK_EQ_INT(start(&helper, logs), 0))
		return;
	snprintf(path, sizeof(path), "/proc/%d/comm", helper_pid());
	file = fopen(path, "re");
	CHECK(file && fgets(name, sizeof(name), file));
	CHECK_EQ_STR(name, "mprofd-helper\n");
	/*
	 * Only root may list the helper's files, so a program that took over the collector cannot.
	 */
	if (geteuid() != 0)
		CHECK_EQ_UINT(files_open(helper_pid()), 0);
	else if (!helper_knows_states(helper, NULL))
		CHECK_EQ_UINT(files_open(helper_pid()), 4);
}

/* Without memory to record into, each question about vCPUs is refused. */
static void test_vcpus_off(void)
{
	CLEANUP(helper_stopp) struct helper *helper = NULL;
	static struct helper_answer answer;

	if (!CHECK_EQ_INT(start(&helper, logs), 0))
		return;
	for (uint32_t domid = 0; domid < 2; domid++) {
		if (!CHECK_EQ_INT(helper_ask_vcpu(helper, 63, domid), 0) || !answer_wait(helper, &answer))
			return;
		CHECK(answer.is_vcpu && !answer.is_console);
		CHECK_EQ_UINT(answer.tag, 63);
		CHECK_EQ_INT(answer.error, -ENOSYS);
	}
	CHECK_EQ_INT(console_error(helper, "absent", &answer), -ENOENT);
}

/* A slot that does not exist ends the helper, as every malformed question does. */
static void test_hostile_slots(void)
{
	static const uint32_t slots[] = {64, UINT32_MAX};
	static struct helper_answer answer;

	for (size_t i = 0; i < 2; i++) {
		CLEANUP(helper_stopp) struct helper *helper = NULL;
		struct pollfd pfd = {.events = POLLIN};

		if (!CHECK_EQ_INT(start(&helper, logs), 0) || !CHECK_EQ_INT(helper_ask_vcpu(helper, slots[i], 1), 0))
			return;
		pfd.fd = helper_fd(helper);
		CHECK_EQ_INT(poll(&pfd, 1, WAIT_MS), 1);
		CHECK_EQ_INT(helper_next(helper, &answer), -EPIPE);
	}
}

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static void logs_remove(void)
{
	CHECK_EQ_INT(nftw(logs, entry_remove, 8, FTW_DEPTH | FTW_PHYS), 0);
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(logs, sizeof(logs), "%s/test-helper-XXXXXX", tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	if (!mkdtemp(logs))
		return 1;
	CHECK_RUN(test_tails);
	CHECK_RUN(test_hostile_names);
	CHECK_RUN(test_no_logs);
	CHECK_RUN(test_states);
	CHECK_RUN(test_bounded);
	CHECK_RUN(test_death);
	CHECK_RUN(test_hangs);
	CHECK_RUN(test_collector_dies);
	CHECK_RUN(test_keeps_little);
	CHECK_RUN(test_vcpus_off);
	CHECK_RUN(test_hostile_slots);
	logs_remove();
	return check_done();
}
