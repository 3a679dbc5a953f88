#include "known.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool take_line(struct known *k, const char *line)
{
	char name[32], issue[32];
	unsigned most;
	uint64_t seed;

	if (sscanf(line, "%31s %u %" SCNu64 " %31s", name, &most, &seed, issue) != 4 || !most)
		return false;
	for (int i = 0; i < SENTENCE_COUNT; i++) {
		if (strcmp(figures_name((enum sentence)i), name) != 0)
			continue;
		k->most[i] = most;
		k->seed[i] = seed;
		memcpy(k->issue[i], issue, sizeof(issue));
		return true;
	}
	return false;
}

bool known_read(struct known *k, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[256];
	bool good = true;

	if (!f) {
		perror(path);
		return false;
	}
	while (good && fgets(line, sizeof(line), f)) {
		if (line[0] != '#' && line[0] != '\n')
			good = take_line(k, line);
		if (!good)
			fprintf(stderr, "%s: not a known fault: %s", path, line);
	}
	fclose(f);
	return good;
}

bool known_is_new(const struct known *k, const struct figures *f, enum sentence sentence, uint64_t count,
		  uint64_t chance)
{
	const struct figure *it = &f->of[sentence];
	uint64_t wrong = it->wrong_answers, most = k->most[sentence] * count + figures_most(sentence) * it->answers;

	return wrong > chance && (wrong - chance) * 1000 > most;
}

bool known_allows(const struct known *k, const struct figures *f, uint64_t count, uint64_t chance)
{
	bool good = true;

	for (int i = 0; i < SENTENCE_COUNT; i++) {
		const struct figure *it = &f->of[i];

		if (!known_is_new(k, f, (enum sentence)i, count, chance))
			continue;
		good = false;
		printf("FAULT: \"%s\" is wrong in %" PRIu64 " of %" PRIu64 " histories, first with the seed %" PRIu64
		       "; %u of 1,000 are known\n",
		       figures_name((enum sentence)i), it->wrong_answers, count, it->seed, k->most[i]);
	}
	return good;
}
