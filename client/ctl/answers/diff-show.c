/*
 * Print the answer of the verb `diff` as sentences.
 *
 * The reader is a person on call. So threads that never resolved come first, with the step at
 * which the two runs diverge. Each list is short and gives the number of omitted entries. By
 * default times count from the first event of each trace, because the guests' clocks cannot be
 * compared.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "cleanup.h"
#include "ctl.h"
#include "diff-answer.h"
#include "json.h"
#include "table.h"

/* One of the two runs. */
struct side {
	const struct mprof_diff_report_run *run;
	const struct mprof_model_view *view;
	const struct mprof_why *why;
	struct timing *timing;
	const char *name; /* "good" or "bad" */
	uint64_t start;
	const struct mprof_coverage *coverage;
};

/* The answer, with the good run first. */
struct differences {
	const struct mprof_diff_view *v;
	struct side sides[2];
};

enum { GOOD, BAD };

CLEANUP_DEFINE(struct mprof_explanation, mprof_explanation_free)

static bool has_hole(const struct side *s)
{
	return s->coverage->hole != MPROF_HOLE_NONE;
}

/* Print threads, their counterparts in the other run, and the steps at which the two diverge. */

static uint64_t since_start(const struct side *s, uint64_t time)
{
	return time > s->start ? time - s->start : 0;
}

/* Write TIME of the run S to TEXT (TIMING_TEXT_MAX bytes). By default it counts from the first event of the trace. */
static void time_text_of(const struct side *s, uint64_t time, char *text)
{
	char span[SPAN_TEXT_MAX];

	if (s->timing->kind != TIME_RELATIVE)
		timing_text(s->timing, time, text);
	else
		snprintf(text, TIMING_TEXT_MAX, "+%s", span_text(since_start(s, time), span, sizeof(span)));
}

static void put_when(const struct side *s, uint64_t time)
{
	char text[TIMING_TEXT_MAX];

	time_text_of(s, time, text);
	fputs(text, stdout);
}

/*
 * Print a line that begins with HEAD: WHAT would not be here, because of the hole C of the run S. Without a hole print nothing. Return an
 * exit code.
 */
static int show_hole(const struct side *s, const char *head, const char *what, const struct mprof_coverage *c)
{
	CLEANUP(mprof_explanation_freep) struct mprof_explanation *e = NULL;
	const struct mprof_explanation_piece *pieces;
	uint32_t n;

	if (c->hole == MPROF_HOLE_NONE)
		return CTL_OK;
	e = mprof_explanation_new(s->view, s->why, s->run->streams);
	if (!e || mprof_explanation_hole(e, c) != MPROF_OK)
		return say_memory();
	printf("%s%s would not be here", head, what);
	pieces = mprof_explanation_pieces(e, &n);
	for (uint32_t i = 0; i < n; i++)
		if (pieces[i].time != MPROF_EXPLANATION_UNTIMED)
			put_when(s, pieces[i].time);
		else
			fwrite(mprof_explanation_text(e) + pieces[i].offset, 1, pieces[i].bytes, stdout);
	putchar('\n');
	return CTL_OK;
}

/* Return the bytes of string I of the run S, NULL for MPROF_NONE, and their number in *N. */
static const char *bytes_of(const struct side *s, uint32_t i, size_t *n)
{
	*n = i == MPROF_NONE ? 0 : s->view->strings[i].bytes;
	if (i == MPROF_NONE)
		return NULL;
	return *n ? s->view->text + s->view->strings[i].offset : "";
}

/* Print HEAD and the N bytes of TEXT in quotes, unless TEXT is NULL. */
static void print_quoted(const char *head, const char *text, size_t n)
{
	if (!text)
		return;
	printf("%s\"", head);
	print_text(text, n);
	putchar('"');
}

/* Print HEAD, and string I of the run S in quotes, unless I is MPROF_NONE. */
static void put_quoted(const struct side *s, const char *head, uint32_t i)
{
	size_t n;
	const char *text = bytes_of(s, i, &n);

	print_quoted(head, text, n);
}

/* Return the label that THREAD of the run S has at TIME, a string or MPROF_NONE. */
static uint32_t label_of(const struct side *s, uint32_t thread, uint64_t time)
{
	uint32_t label = mprof_why_label(s->why, thread, time);

	return label == MPROF_NONE ? MPROF_NONE : s->view->labels[label].text;
}

/* Return whether THREAD of the run S is one that has a name, and not the program itself. */
static bool is_thread(const struct side *s, uint32_t thread)
{
	return thread != MPROF_NONE && !(s->view->threads[thread].flags & MPROF_THREAD_ROOT);
}

static const char *stream_of(const struct side *s, uint32_t thread)
{
	return s->run->streams ? s->run->streams[s->view->threads[thread].stream] : NULL;
}

/* Print THREAD of the run S with its label at TIME: `4453 (Condition, "Wait for ARP response")`. */
static void print_thread(const struct side *s, uint32_t thread, uint64_t time)
{
	if (!is_thread(s, thread)) {
		fputs("the program itself", stdout);
		return;
	}
	printf("%" PRId64 " (%s", s->view->threads[thread].id, mprof_thread_type_name(s->view->threads[thread].type));
	put_quoted(s, ", ", label_of(s, thread, time));
	if (stream_of(s, thread)) {
		fputs(", of ", stdout);
		print_safe(stream_of(s, thread));
	}
	putchar(')');
}

/* Return whether thread I of A at TIME_A and thread K of B at TIME_B look the same. */
static bool look_same(const struct side *a, uint32_t i, uint64_t time_a, const struct side *b, uint32_t k,
		      uint64_t time_b)
{
	const char *label, *other, *stream, *beside;
	size_t n, m;

	if (!is_thread(a, i) || !is_thread(b, k))
		return !is_thread(a, i) && !is_thread(b, k);
	label = bytes_of(a, label_of(a, i, time_a), &n);
	other = bytes_of(b, label_of(b, k, time_b), &m);
	stream = stream_of(a, i);
	beside = stream_of(b, k);
	return a->view->threads[i].id == b->view->threads[k].id &&
	       a->view->threads[i].type == b->view->threads[k].type && !label == !other && n == m &&
	       (!n || memcmp(label, other, n) == 0) && !stream == !beside && (!stream || strcmp(stream, beside) == 0);
}

/*
 * Print thread I of the good run and its counterpart K of the bad run. If both look the same, print
 * one. One of the two may be MPROF_NONE.
 */
static void put_both(const struct differences *d, uint32_t i, uint32_t k)
{
	const struct side *good = &d->sides[GOOD], *bad = &d->sides[BAD];

	if (!is_thread(good, i) || !is_thread(bad, k)) {
		print_thread(is_thread(good, i) ? good : bad, is_thread(good, i) ? i : k, UINT64_MAX);
		printf(has_hole(is_thread(good, i) ? bad : good) ? ", which the trace of the %s run does not have"
								 : ", which the %s run does not have",
		       is_thread(good, i) ? "bad" : "good");
		return;
	}
	print_thread(good, i, UINT64_MAX);
	if (look_same(good, i, UINT64_MAX, bad, k, UINT64_MAX))
		return;
	fputs(", in the bad run ", stdout);
	print_thread(bad, k, UINT64_MAX);
}

static void put_step(const struct side *s, const struct mprof_diff_step *step)
{
	static const struct {
		const char *words, *self;
	} steps[] = {
		[MPROF_STEP_CREATES] = {"creates ", NULL},
		[MPROF_STEP_SIGNALS] = {"signals ", "signals itself"},
		[MPROF_STEP_SIGNALLED] = {"is signalled by ", NULL},
		[MPROF_STEP_RESOLVES] = {"resolves ", "is resolved"},
		[MPROF_STEP_RESOLVED] = {"is resolved by ", NULL},
		[MPROF_STEP_FAILS] = {"lets fail ", "fails"},
		[MPROF_STEP_FAILED] = {"is failed by ", NULL},
		[MPROF_STEP_READS] = {"reads ", "reads itself"},
		[MPROF_STEP_READ] = {"is read by ", NULL},
		[MPROF_STEP_BECOMES] = {"goes on as ", NULL},
	};

	if (step->kind == MPROF_STEP_LABEL) {
		put_quoted(s, "gets the label ", s->view->labels[step->label].text);
	} else if (steps[step->kind].self && step->other == step->thread) {
		fputs(steps[step->kind].self, stdout);
	} else {
		fputs(steps[step->kind].words, stdout);
		print_thread(s, step->other, step->time);
	}
}

/* Print STEP of the run S as a line that begins with HEAD. */
static void show_step(const char *head, const struct side *s, const struct mprof_diff_step *step)
{
	char when[TIMING_TEXT_MAX];

	time_text_of(s, step->time, when);
	printf("    %-6s%12s  ", head, when);
	put_step(s, step);
	putchar('\n');
}

/*
 * Print the N steps from NEXT on, those that the run S takes after the two runs differ. If the run OTHER takes the
 * first of these steps later, LATER is that step of OTHER; else LATER is MPROF_NONE. Print the time of
 * LATER, and the step itself if it names another thread.
 */
static void show_next(const struct differences *d, const struct side *s, uint32_t next, uint32_t n, bool unknown,
		      uint32_t later, const struct side *other)
{
	const struct mprof_diff_step *steps = d->v->steps;

	if (!n)
		printf("    %-6s nothing more%s\n", s->name, unknown ? " in the trace" : "");
	for (uint32_t i = next; i < next + n; i++) {
		show_step(i > next ? "" : s->name, s, &steps[i]);
		if (i > next || later == MPROF_NONE)
			continue;
		printf("    %-6s%13s  (in the %s run at ", "", "", other->name);
		put_when(other, steps[later].time);
		if (!look_same(other, steps[later].other, steps[later].time, s, steps[i].other, steps[i].time)) {
			fputs(": ", stdout);
			put_step(other, &steps[later]);
		}
		puts(")");
	}
}

/*
 * Print where two counterparts diverge, divergence I. Complete the current line with both threads, then print a
 * line for each step.
 */
static void show_divergence(const struct differences *d, uint32_t i)
{
	const struct mprof_diff_divergence *p = &d->v->divergences[i];
	const struct side *good = &d->sides[GOOD], *bad = &d->sides[BAD];
	const struct mprof_diff_step *steps = d->v->steps;

	put_both(d, p->good, p->bad);
	puts(":");
	if (p->good_common != MPROF_NONE) {
		show_step("both", good, &steps[p->good_common]);
		if (since_start(good, steps[p->good_common].time) != since_start(bad, steps[p->bad_common].time)) {
			printf("    %-6s%13s  (in the bad run at ", "", "");
			put_when(bad, steps[p->bad_common].time);
			puts(")");
		}
	}
	show_next(d, good, p->good_next, p->good_n, p->good_unknown, p->bad_later, bad);
	show_next(d, bad, p->bad_next, p->bad_n, p->bad_unknown, p->good_later, good);
}

/* Most entries that are printed of each kind. */
#define OUTCOMES_MAX 5u
#define OTHERS_MAX   8u

/* ---- outcomes */

/* Return the end of THREAD of the run S, the thread whose end it is; NULL if it did not end, or is none. */
static const struct mprof_thread *end_of(const struct side *s, uint32_t thread)
{
	const struct mprof_thread *it =
		is_thread(s, thread) ? &s->view->threads[mprof_why_final(s->why, thread)] : NULL;

	return it && it->flags & MPROF_THREAD_RESOLVED ? it : NULL;
}

/* Print how THREAD of the run S ended, NS after its creation. */
static void show_end(const struct side *s, uint32_t thread, uint64_t ns)
{
	const struct mprof_thread *end = end_of(s, thread);

	printf("  in the %s run it %s ", s->name, end->failure == MPROF_NONE ? "was resolved" : "failed");
	print_span(0, ns);
	fputs(" after its creation, at ", stdout);
	put_when(s, end->end);
	if (is_thread(s, end->resolver) && s->view->threads[end->resolver].id != s->view->threads[thread].id) {
		fputs(", by ", stdout);
		print_thread(s, end->resolver, end->end);
	}
	put_quoted(s, ", with ", end->failure);
	putchar('\n');
}

static void show_missed(const struct side *s, const struct mprof_diff_outcome *o)
{
	const struct mprof_interaction *signal;

	if (o->lost_signal == MPROF_NONE)
		return;
	signal = &s->view->interactions[o->lost_signal];
	fputs("  missed wake-up: ", stdout);
	print_thread(s, o->condition, UINT64_MAX);
	fputs(" was signalled by ", stdout);
	print_thread(s, signal->thread, signal->time);
	fputs(" at ", stdout);
	put_when(s, signal->time);
	fputs(", when nobody waited for it yet\n", stdout);
}

/* Print that THREAD of the run SIDE waits for NS, and how the same wait ended in the other run. */
static void show_wait(const struct differences *d, int side, const struct mprof_diff_outcome *o, uint32_t thread,
		      uint64_t ns)
{
	int waits = o->kind == MPROF_DIFF_BAD_WAITS || o->kind == MPROF_DIFF_BAD_FAILS ? BAD : GOOD;
	const struct side *s = &d->sides[waits],
			  *like = &d->sides[!waits]; /* the runs of the root, and of its counterpart */
	bool behind = !is_thread(s, o->root) || s->view->threads[o->root].id != d->sides[side].view->threads[thread].id;
	const struct mprof_thread *end = end_of(like, o->root_match);

	printf("  in the %s run it waits", d->sides[side].name);
	if (is_thread(s, o->root) && behind) {
		fputs(" on ", stdout);
		print_thread(s, o->root, UINT64_MAX);
	}
	fputs(o->coverage.hole == MPROF_HOLE_NONE ? ", for the " : ", and the trace has no end of that in the ",
	      stdout);
	print_span(0, ns);
	puts(o->coverage.hole == MPROF_HOLE_NONE ? " to the end of the trace" : " to its own end");
	if (end && behind) {
		printf("  in the %s run that was resolved at ", like->name);
		put_when(like, end->end);
		fputs(", by ", stdout);
		print_thread(like, end->resolver, end->end);
		putchar('\n');
	}
	show_missed(s, o);
}

/* Print WHAT happened, the thread to which it happened, and the number of other such threads. */
static void show_victim(const struct differences *d, const struct mprof_diff_outcome *o, const char *what)
{
	printf("%s: ", what);
	put_both(d, o->good, o->bad);
	if (o->should_resolve)
		fputs(", which should resolve", stdout);
	if (o->threads > 1) {
		fputs(", and for the same reason ", stdout);
		print_count(o->threads - 1, "thread");
		fputs(" more", stdout);
		if (o->should_resolve > 1)
			printf(" (%" PRIu32 " that should)", o->should_resolve - 1);
	}
	putchar('\n');
}

/* Return what happened by O. */
static const char *name_of(const struct mprof_diff_outcome *o)
{
	/* The second one: the trace may lack what is denied. */
	static const char *const whats[][2] = {
		[MPROF_DIFF_BAD_WAITS] = {"never resolved in the bad run",
					  "without a resolution in the trace of the bad run"},
		[MPROF_DIFF_BAD_FAILS] = {"failed in the bad run only", "failed in the trace of the bad run only"},
		[MPROF_DIFF_GOOD_WAITS] = {"never resolved in the good run",
					   "without a resolution in the trace of the good run"},
		[MPROF_DIFF_GOOD_FAILS] = {"failed in the good run only", "failed in the trace of the good run only"},
	};

	return whats[o->kind][o->coverage.hole != MPROF_HOLE_NONE];
}

static int show_outcome(const struct differences *d, const struct mprof_diff_outcome *o)
{
	const struct side *denied =
		&d->sides[o->kind == MPROF_DIFF_BAD_WAITS || o->kind == MPROF_DIFF_GOOD_FAILS ? BAD : GOOD];
	bool waits = o->kind == MPROF_DIFF_BAD_WAITS || o->kind == MPROF_DIFF_GOOD_WAITS;
	const uint32_t threads[] = {o->good, o->bad};
	const uint64_t spans[] = {o->good_ns, o->bad_ns};
	int r;

	show_victim(d, o, name_of(o));
	for (int i = GOOD; i <= BAD; i++) {
		if (end_of(&d->sides[i], threads[i]))
			show_end(&d->sides[i], threads[i], spans[i]);
		else if (is_thread(&d->sides[i], threads[i]))
			show_wait(d, i, o, threads[i], spans[i]);
	}
	r = show_hole(denied, "  ", waits ? "its resolution" : "such a failure", &o->coverage);
	if (o->divergence != MPROF_NONE) {
		fputs("  the runs part at ", stdout);
		show_divergence(d, o->divergence);
	}
	putchar('\n');
	return r;
}

/* ---- omitted entries and other differences */

static void show_rest(uint32_t n, const char *noun)
{
	if (!n)
		return;
	fputs("  and ", stdout);
	print_count(n, noun);
	puts("; see --json");
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static int show_outcomes(const struct differences *d)
{
	uint32_t n = least(d->v->n_outcomes, OUTCOMES_MAX), rest = d->v->all_outcomes - n;
	int r = CTL_OK;

	for (uint32_t i = 0; i < n && !r; i++)
		r = show_outcome(d, &d->v->outcomes[i]);
	if (rest) {
		fputs("threads end differently for ", stdout);
		print_count(rest, "other reason");
		puts("; see --json\n");
	}
	return r;
}

/* Print the first divergence, unless one of the printed outcomes contains it. */
static void show_first(const struct differences *d)
{
	const struct mprof_diff_view *v = d->v;

	if (v->first == MPROF_NONE)
		return;
	for (uint32_t i = 0; i < least(v->n_outcomes, OUTCOMES_MAX); i++)
		if (v->outcomes[i].divergence == v->first)
			return;
	fputs(v->n_outcomes ? "the first step that differs at all, which may not be the cause, is of "
			    : "the order of steps first parts at ",
	      stdout);
	show_divergence(d, v->first);
	if (v->all_divergences > 1) {
		fputs("  in all ", stdout);
		print_count(v->all_divergences, "thread");
		puts(" part from their counterparts");
	}
	putchar('\n');
}

static void show_slower(const struct differences *d)
{
	uint32_t n = least(d->v->n_slower, OTHERS_MAX);

	if (!n)
		return;
	printf("took much longer in the bad run (%g times as long or more, and ", (double)d->v->slower_percent / 100);
	print_span(0, d->v->slower_ns);
	puts(" or more):");
	for (uint32_t i = 0; i < n; i++) {
		const struct mprof_diff_slower *one = &d->v->slower[i];

		fputs("  ", stdout);
		print_span(0, one->good_ns);
		fputs(", then ", stdout);
		print_span(0, one->bad_ns);
		fputs(": ", stdout);
		put_both(d, one->good, one->bad);
		if (one->followers) {
			fputs("; with it ", stdout);
			print_count(one->followers, "thread");
			fputs(" that read it", stdout);
		}
		putchar('\n');
	}
	show_rest(d->v->all_slower - n, "other");
	putchar('\n');
}

/* Print TEXT with `#` for each number, in quotes: the label of threads whose labels differ only in their numbers. */
static int put_shape(const char *text, size_t bytes)
{
	CLEANUP(freep) char *shape = mprof_diff_shape(text, &bytes);

	if (!shape)
		return say_memory();
	print_quoted(", ", shape, bytes);
	return CTL_OK;
}

/* Print the number N of threads of the run S: 0 is unknown if the run has a hole. */
static void put_number(const struct side *s, uint32_t n)
{
	if (n || !has_hole(s))
		printf("%6" PRIu32, n);
	else
		printf("%6s", "?");
}

static int show_unmatched(const struct differences *d)
{
	uint32_t n = least(d->v->n_unmatched, OTHERS_MAX), label;
	const char *text;
	size_t bytes;
	int r = CTL_OK;

	if (!n)
		return CTL_OK;
	puts("threads without a counterpart, good and bad:");
	for (uint32_t i = 0; i < n && r == CTL_OK; i++) {
		const struct mprof_diff_unmatched *one = &d->v->unmatched[i];
		const struct side *s = &d->sides[one->good == MPROF_NONE ? BAD : GOOD];
		uint32_t thread = one->good == MPROF_NONE ? one->bad : one->good;

		fputs("  ", stdout);
		put_number(&d->sides[GOOD], one->good_n);
		putchar(' ');
		put_number(&d->sides[BAD], one->bad_n);
		printf("  %s", mprof_thread_type_name(s->view->threads[thread].type));
		label = label_of(s, thread, 0);
		text = bytes_of(s, label, &bytes);
		if (text && one->good_n + one->bad_n > 1)
			r = put_shape(text, bytes);
		else
			put_quoted(s, ", ", label);
		putchar('\n');
	}
	show_rest(d->v->all_unmatched - n, "other kind");
	putchar('\n');
	return r;
}

/* Print the last value of counter I of the run S, or its sum if it is SUMMED, or - if I is MPROF_NONE or has no sum. */
static void put_final(const struct side *s, uint32_t i, bool summed)
{
	const struct mprof_counter *c = i == MPROF_NONE ? NULL : &s->view->counters[i];

	if (!c)
		putchar(has_hole(s) ? '?' : '-');
	else if (summed)
		printf("%" PRId64, c->kind == MPROF_COUNTER_AMOUNT ? c->sum : 0);
	else
		printf("%" PRId64, s->view->samples[c->last].value);
}

static void put_largest(const struct side *s, uint32_t i)
{
	if (i == MPROF_NONE)
		putchar(has_hole(s) ? '?' : '-');
	else
		printf("%" PRId64, s->view->counters[i].max);
}

static bool is_amount(const struct side *s, uint32_t i)
{
	return i != MPROF_NONE && s->view->counters[i].kind == MPROF_COUNTER_AMOUNT;
}

static void show_counter(const struct differences *d, const struct mprof_diff_counter *one)
{
	const struct side *good = &d->sides[GOOD], *bad = &d->sides[BAD];
	bool summed = is_amount(good, one->good) || is_amount(bad, one->bad);
	size_t n;
	const char *name = one->good == MPROF_NONE ? bytes_of(bad, bad->view->counters[one->bad].name, &n)
						   : bytes_of(good, good->view->counters[one->good].name, &n);

	fputs("  ", stdout);
	print_text(name, n);
	printf(": %s ", summed ? "sum" : "last");
	put_final(good, one->good, summed);
	fputs(" and ", stdout);
	put_final(bad, one->bad, summed);
	fputs(", largest ", stdout);
	put_largest(good, one->good);
	fputs(" and ", stdout);
	put_largest(bad, one->bad);
	putchar('\n');
}

static void show_counters(const struct differences *d)
{
	uint32_t n = least(d->v->n_counters, OTHERS_MAX);

	if (!n)
		return;
	puts("counters, good and bad:");
	for (uint32_t i = 0; i < n; i++)
		show_counter(d, &d->v->counters[i]);
	show_rest(d->v->all_counters - n, "other");
	putchar('\n');
}

static void show_run(const struct side *s, uint32_t threads, uint64_t end)
{
	printf("%-5s ", s->name);
	print_safe(s->run->name);
	fputs(": ", stdout);
	print_count(threads, "thread");
	fputs(" in ", stdout);
	print_span(s->start, end);
	if (s->timing->kind != TIME_RELATIVE) {
		fputs(" from ", stdout);
		timing_print(s->timing, s->start);
	}
	if (s->run->lost_packets) {
		fputs("; ", stdout);
		print_missing((json_int_t)s->run->lost_packets);
		fputs(", and what happened there is unknown", stdout);
	}
	putchar('\n');
}

/* Say what the trace of each run can lack. Return an exit code. */
static int show_holes(const struct differences *d)
{
	int r = show_hole(&d->sides[GOOD], "of the good run ", "a thread, a step or a counter",
			  d->sides[GOOD].coverage);

	return r ? r
		 : show_hole(&d->sides[BAD], "of the bad run ", "a thread, a step or a counter",
			     d->sides[BAD].coverage);
}

static void show_verdict(const struct differences *d)
{
	const struct mprof_diff_view *v = d->v;

	/* In missing packets the runs can differ. */
	if (v->alike && (d->sides[GOOD].run->lost_packets || d->sides[BAD].run->lost_packets))
		puts("no difference is in the traces; the two may differ in the missing packets");
	else if (v->alike && (has_hole(&d->sides[GOOD]) || has_hole(&d->sides[BAD])))
		puts("no difference is in the traces; the two may differ in what these lack");
	else if (v->alike && !v->n_slower)
		puts("the two are alike: the same threads, each with the same steps in the same order");
	else if (v->alike)
		puts("the two are alike but for the time that they took");
	else if (!v->n_outcomes)
		puts("no thread ended differently in the two runs, as far as the traces go");
	if (v->not_due) {
		print_count(v->not_due, "thread");
		puts(" were not resolved in one run because its trace ended first; that is not counted");
	}
}

int diff_show(const struct mprof_diff_report *report)
{
	static const char *const names[] = {"good", "bad"};
	const struct mprof_diff_view *v = mprof_diff_view(report->diff);
	struct differences d = {.v = v};
	int r;

	for (int i = GOOD; i <= BAD; i++)
		d.sides[i] = (struct side){.run = &report->runs[i],
					   .view = report->runs[i].view,
					   .why = mprof_diff_why(report->diff, i == BAD),
					   .timing = report->runs[i].clock,
					   .name = names[i],
					   .start = i == GOOD ? v->good_start : v->bad_start,
					   .coverage = i == GOOD ? &v->good_coverage : &v->bad_coverage};
	show_run(&d.sides[GOOD], v->good_threads, v->good_end);
	show_run(&d.sides[BAD], v->bad_threads, v->bad_end);
	printf("      ");
	print_count(v->matched, "thread");
	puts(" are in both\n");
	r = show_outcomes(&d);
	if (r)
		return r;
	show_first(&d);
	show_slower(&d);
	r = show_unmatched(&d);
	show_counters(&d);
	r = r ? r : show_holes(&d);
	show_verdict(&d);
	return r ? r : stdout_verdict();
}
