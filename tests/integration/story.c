/*
 * story: record the lost ARP reply, an example for explanations: story good|bad|circle|unsaid FILE
 *
 * A program asks for a hardware address. It writes its question to the network's ring. When the
 * ring has acknowledged the question, the program begins to wait for the answer, on a condition.
 *
 * good: the answer comes after that. bad: the answer is in the ring together with the
 * acknowledgement, and is handled first. So the condition is signalled before any thread waits, and
 * the connection never resolves, which is marked as a thread that should. circle: two threads wait
 * on each other. unsaid: as bad, but the recorder writes no signal event when the thread begins to
 * wait.
 */
#include <stdio.h>
#include <string.h>

#include <mprof/recorder-file.h>
#include <mprof/recorder.h>

#define RING_BYTES 16384u

/* The ids of the threads. */
enum {
	MAIN,
	CONNECTION, /* waits for QUESTION, and so for the answer */
	CONDITION,
	SENT,	  /* resolves when the ring acknowledges the question */
	QUESTION, /* waits for SENT, and then for ANSWER */
	ANSWER,
	NETWORK, /* handles incoming packets */
};

static struct mprof_recorder recorder;
static uint64_t now = 1000000000;

static void say(int64_t thread, const char *text)
{
	mprof_recorder_label(&recorder, thread, text, strlen(text));
}

static void pass(uint64_t ns)
{
	now += ns;
	mprof_recorder_at(&recorder, now);
}

/* Create THREAD as a child of the thread that runs. */
static void begin(int64_t thread, enum mprof_thread_type type, const char *text)
{
	pass(1000);
	mprof_recorder_creates(&recorder, thread, type);
	if (text)
		say(thread, text);
}

/* SENDER signals the condition and continues to run. */
static void signal_by(int64_t sender)
{
	pass(1000);
	mprof_recorder_signal(&recorder, CONDITION, sender);
}

static void ask(void)
{
	mprof_recorder_switch(&recorder, MAIN);
	say(MAIN, "main");
	begin(NETWORK, MPROF_THREAD_Task, "network");
	begin(CONDITION, MPROF_THREAD_Condition, "ARP response");
	begin(SENT, MPROF_THREAD_Task, "ring.write");
	begin(QUESTION, MPROF_THREAD_Bind, NULL);
	mprof_recorder_try_read(&recorder, QUESTION, SENT);
	begin(CONNECTION, MPROF_THREAD_Bind, "TCP connect");
	say(CONNECTION, "__should_resolve");
	mprof_recorder_try_read(&recorder, CONNECTION, QUESTION);
	pass(1000);
	mprof_recorder_suspend(&recorder);
}

/*
 * The ring acknowledges the question, and QUESTION begins to wait for the answer. With UNSAID no
 * signal event says so.
 */
static void sent(bool unsaid)
{
	pass(1000);
	mprof_recorder_fulfills(&recorder, SENT);
	pass(1000);
	mprof_recorder_read(&recorder, QUESTION, SENT);
	if (unsaid)
		mprof_recorder_switch(&recorder, CONDITION);
	else
		signal_by(QUESTION);
	begin(ANSWER, MPROF_THREAD_Task, "ARP response");
	mprof_recorder_switch(&recorder, QUESTION);
	mprof_recorder_try_read(&recorder, QUESTION, ANSWER);
	pass(1000);
	mprof_recorder_switch(&recorder, NETWORK);
}

static void answered(bool waits)
{
	say(NETWORK, "arp.input");
	signal_by(NETWORK);
	if (waits) {
		pass(1000);
		mprof_recorder_fulfills(&recorder, ANSWER);
		pass(1000);
		mprof_recorder_read(&recorder, QUESTION, ANSWER);
		mprof_recorder_fulfills(&recorder, QUESTION);
		pass(1000);
		mprof_recorder_read(&recorder, CONNECTION, QUESTION);
		mprof_recorder_fulfills(&recorder, CONNECTION);
	}
	mprof_recorder_switch(&recorder, NETWORK);
}

static void wake(void)
{
	pass(1000000);
	mprof_recorder_switch(&recorder, NETWORK);
}

static void sleep_on(void)
{
	pass(1000);
	mprof_recorder_suspend(&recorder);
}

static void tell(const char *run)
{
	ask();
	wake();
	if (strcmp(run, "bad") == 0 || strcmp(run, "unsaid") == 0)
		answered(false);
	sent(strcmp(run, "unsaid") == 0);
	if (strcmp(run, "circle") == 0)
		mprof_recorder_try_read(&recorder, ANSWER, CONNECTION);
	sleep_on();
	wake();
	if (strcmp(run, "good") == 0)
		answered(true);
	sleep_on();
	wake();
}

int main(int argc, char **argv)
{
	struct mprof_recorder_file file;
	int r;

	if (argc != 3 || (strcmp(argv[1], "good") != 0 && strcmp(argv[1], "bad") != 0 &&
			  strcmp(argv[1], "circle") != 0 && strcmp(argv[1], "unsaid") != 0)) {
		fputs("usage: story good|bad|circle|unsaid FILE\n", stderr);
		return 2;
	}
	r = mprof_recorder_file_open(&file, argv[2], RING_BYTES);
	if (r < 0) {
		fprintf(stderr, "story: %s: %s\n", argv[2], strerror(-r));
		return 1;
	}
	if (mprof_recorder_init(&recorder, file.memory, file.size, 0, NULL, NULL) != MPROF_RECORDER_OK) {
		fputs("story: the ring cannot be made\n", stderr);
		return 1;
	}
	mprof_recorder_at(&recorder, now);
	tell(argv[1]);
	mprof_recorder_stop(&recorder);
	mprof_recorder_file_close(&file);
	return 0;
}
