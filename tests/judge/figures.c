#include "figures.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

static const char *const names[] = {
#define X(id, name, text) [SENTENCE_##id] = name,
	SENTENCES(X)
#undef X
};

static const char *const texts[] = {
#define X(id, name, text) [SENTENCE_##id] = text,
	SENTENCES(X)
#undef X
};

void figures_note(struct figures *f, enum sentence sentence, bool good, const char *format, ...)
{
	struct figure *it = &f->of[sentence];
	char what[sizeof(it->what)];
	va_list list;

	it->said++;
	f->here[sentence] = true;
	if (good)
		return;
	va_start(list, format);
	vsnprintf(what, sizeof(what), format, list);
	va_end(list);
	if (!it->wrong++) {
		it->seed = f->seed;
		memcpy(it->what, what, sizeof(what));
	}
	f->wrong_here[sentence] = true;
	it->wrong_whole += f->whole;
	f->wrong += figures_most(sentence) == 0;
	if (f->verbose)
		fprintf(stderr, "seed %" PRIu64 ": %s: %s\n", f->seed, names[sentence], what);
}

void figures_begin(struct figures *f, uint64_t seed)
{
	f->seed = seed;
	f->wrong = 0;
	memset(f->here, 0, sizeof(f->here));
	memset(f->wrong_here, 0, sizeof(f->wrong_here));
}

void figures_end(struct figures *f)
{
	for (unsigned i = 0; i < SENTENCE_COUNT; i++) {
		f->of[i].answers += f->here[i];
		f->of[i].wrong_answers += f->wrong_here[i];
	}
	f->wrong_histories += f->wrong > 0;
}

unsigned figures_most(enum sentence sentence)
{
	switch (sentence) {
	case SENTENCE_NAMED_WHOLE:
		return 10;
	case SENTENCE_NAMED_HIDDEN:
		return 50;
	case SENTENCE_NAMED_UNTOLD:
		return 1000;
	default:
		return 0;
	}
}

const char *figures_name(enum sentence sentence)
{
	return names[sentence];
}

void figures_print(const struct figures *f, FILE *out)
{
	fprintf(out, "the truth contradicts answers of %" PRIu64 " histories\n", f->wrong_histories);
	fprintf(out, "%-18s %10s %10s %10s %10s %10s  %s\n", "sentence", "histories", "wrong", "said", "wrong",
		"unhidden", "wording");
	for (unsigned i = 0; i < SENTENCE_COUNT; i++) {
		const struct figure *it = &f->of[i];

		fprintf(out, "%-18s %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "  %s\n",
			names[i], it->answers, it->wrong_answers, it->said, it->wrong, it->wrong_whole, texts[i]);
		if (it->wrong)
			fprintf(out, "%18s first with the seed %" PRIu64 ": %s\n", "", it->seed, it->what);
	}
}
