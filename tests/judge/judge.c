/*
 * judge: execute random programs, record and hide, ask, and compare each answer with the truth.
 *
 * It ends with 1 if the truth contradicts a sentence that is not in the list of known faults, more often than the
 * list says, or not at all with the seed of the list. One of the histories with new seeds may be wrong. Each failure
 * prints a seed, and a smaller history.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "history.h"
#include "known.h"

struct judge {
	struct figures figures;
	struct history history;
	struct known known;
	uint64_t seed, count;
	uint64_t fixed;	  /* histories from the seed 1 on that are judged before */
	bool fresh;	  /* SEED is that of the time */
	int stop;	  /* sentence with whose first fault the judge ends; -1 = none */
	bool show;	  /* print each history */
	const char *keep; /* directory in which the files stay; NULL = none */
	const char *list; /* of known faults; NULL = none */
};

static bool try_seed(struct judge *j, uint64_t seed)
{
	bool good;

	figures_begin(&j->figures, seed);
	history_make(&j->history, seed);
	if (j->show)
		history_print(&j->history, stdout);
	good = history_judge(&j->history, &j->figures);
	figures_end(&j->figures);
	return good;
}

/* Print how to see the first wrong SENTENCE again, and the smallest history found that shows it. */
static void print_fault(struct judge *j, enum sentence sentence)
{
	const struct figure *it = &j->figures.of[sentence];

	printf("\n\"%s\": %s\nagain: judge --seed %" PRIu64 " --count 1 --verbose --keep DIRECTORY\n",
	       figures_name(sentence), it->what, it->seed);
	history_make(&j->history, it->seed);
	if (history_minimize(&j->history, sentence))
		history_print(&j->history, stdout);
}

/* Return whether the seeds of the list still show what is known. */
static bool check_known(struct judge *j)
{
	bool good = true;

	for (int i = 0; i < SENTENCE_COUNT; i++) {
		struct figures f = {0};

		if (!j->known.most[i] || !j->known.seed[i])
			continue;
		history_make(&j->history, j->known.seed[i]);
		if (history_judge(&j->history, &f) && f.of[i].wrong)
			continue;
		good = false;
		printf("FAULT: the seed %" PRIu64
		       " shows no wrong \"%s\" (%s): take it out of the list of known faults\n",
		       j->known.seed[i], figures_name((enum sentence)i), j->known.issue[i]);
	}
	return good;
}

/* Judge COUNT histories from SEED. CHANCE of them may be wrong beyond the list. Return false after a fault. */
static bool judge_from(struct judge *j, uint64_t seed, uint64_t count, uint64_t chance)
{
	bool good;

	memset(&j->figures.of, 0, sizeof(j->figures.of));
	j->figures.wrong_histories = 0;
	for (uint64_t i = 0; i < count; i++) {
		if (!try_seed(j, seed + i)) {
			printf("FAULT: the seed %" PRIu64 " cannot be judged\n", seed + i);
			return false;
		}
		if (j->stop >= 0 && j->figures.of[j->stop].wrong) {
			printf("\"%s\" is wrong with the seed %" PRIu64 ": %s\n", figures_name((enum sentence)j->stop),
			       seed + i, j->figures.of[j->stop].what);
			return false;
		}
	}
	printf("%" PRIu64 " histories from the seed %" PRIu64 "\n", count, seed);
	figures_print(&j->figures, stdout);
	good = known_allows(&j->known, &j->figures, count, chance);
	for (int i = 0; i < SENTENCE_COUNT && !j->history.stops; i++)
		if (known_is_new(&j->known, &j->figures, (enum sentence)i, count, chance))
			print_fault(j, (enum sentence)i);
	return good;
}

/*
 * The fixed seeds are the same in each run, so none of them may be wrong. One history with new seeds may be: a sentence
 * that is wrong in one history of 5,000 would else fail each sixteenth run of 300. The table shows its seed.
 */
static int run(struct judge *j)
{
	bool good = !j->fixed || judge_from(j, 1, j->fixed, 0);

	good = (!j->count || judge_from(j, j->seed, j->count, j->fresh ? 1 : 0)) && good;
	return check_known(j) && good ? 0 : 1;
}

static int sentence_of(const char *name)
{
	int i = SENTENCE_COUNT - 1;

	while (i >= 0 && strcmp(figures_name((enum sentence)i), name) != 0)
		i--;
	return i;
}

static bool take_option(struct judge *j, const char *name, const char *value)
{
	if (strcmp(name, "--seed") == 0) {
		j->seed = strtoull(value, NULL, 10);
		j->fresh = false;
	} else if (strcmp(name, "--fixed") == 0)
		j->fixed = strtoull(value, NULL, 10);
	else if (strcmp(name, "--count") == 0)
		j->count = strtoull(value, NULL, 10);
	else if (strcmp(name, "--keep") == 0)
		j->keep = value;
	else if (strcmp(name, "--known") == 0)
		j->list = value;
	else if (strcmp(name, "--stop") == 0)
		return (j->stop = sentence_of(value)) >= 0;
	else
		return false;
	return true;
}

static bool parse(struct judge *j, int argc, char **argv)
{
	j->seed = (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
	j->fresh = true;
	j->stop = -1;
	j->count = 300;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--verbose") == 0)
			j->figures.verbose = true;
		else if (strcmp(argv[i], "--show") == 0)
			j->show = true;
		else if (i + 1 == argc || !take_option(j, argv[i], argv[i + 1]))
			return false;
		else
			i++;
	}
	return true;
}

int main(int argc, char **argv)
{
	static struct judge j;
	struct history *h = &j.history;
	int code;

	if (!parse(&j, argc, argv)) {
		fprintf(stderr,
			"usage: %s [--fixed N] [--seed N] [--count N] [--stop SENTENCE] [--known FILE] [--verbose] "
			"[--show] [--keep "
			"DIRECTORY]\n",
			argv[0]);
		return 2;
	}
	snprintf(h->path, sizeof(h->path), "%s/judge.%d", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
		 (int)getpid());
	if (j.keep)
		snprintf(h->path, sizeof(h->path), "%s", j.keep);
	h->stops = j.keep;
	if (mkdir(h->path, 0700) != 0 && errno != EEXIST) {
		perror(h->path);
		return 1;
	}
	if (j.list && !known_read(&j.known, j.list))
		return 1;
	code = run(&j);
	if (!j.keep) {
		history_clear(h);
		rmdir(h->path);
	}
	return code;
}
