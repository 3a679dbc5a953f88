/* Send the periods of the clocks, and judge stamps by them as fleet_store.taken() of schema/fleet does. */
#include "periods.h"
#include "json-whole.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "clock.h"

#define LOOK_NS	 (10 * NS_PER_S)
#define WRONG_NS ((int64_t)(86400 * NS_PER_S)) /* without a correction, a stamp so far away is wrong */

void periods_deinit(struct periods *p)
{
	age_deinit(&p->age);
	p->is_known = false;
}

/* Return the age clock now. The tables have it as of the last reading that mprofd stored. */
static int64_t age_now(const struct age *age)
{
	int64_t up = (int64_t)clock_boottime() - age->last.boottime;

	return age->now + (up > 0 ? up : 0);
}

static int64_t distance(int64_t a, int64_t b)
{
	return a < b ? b - a : a - b;
}

/* Return whether A and B say the same of stamps; the newest period grows. */
static bool same(const struct age *a, const struct age *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct age_period *p = &a->periods[i], *q = &b->periods[i];

		if (p->id != q->id || p->began_mono != q->began_mono || p->is_corrected != q->is_corrected ||
		    p->correction != q->correction || p->real_offset != q->real_offset ||
		    distance(p->age_offset, q->age_offset) > AGE_STEP_NS)
			return false;
	}
	return true;
}

static json_t *period_json(const struct age_period *p)
{
	json_t *json = json_pack("{s:I, s:I, s:I, s:I, s:I}", "id", (json_int_t)p->id, "began_mono",
				 (json_int_t)p->began_mono, "ended_mono", (json_int_t)p->ended_mono, "real_offset",
				 (json_int_t)p->real_offset, "age_offset", (json_int_t)p->age_offset);

	if (json && p->is_corrected)
		json_add_member(&json, "correction", json_integer((json_int_t)p->correction));
	return json;
}

/* Return the periods as the hub takes them, which the caller frees; NULL: no memory. */
static char *text_of(const struct age *age)
{
	json_t *list = json_array();
	char *text = NULL;
	bool ok = list;

	for (size_t i = 0; i < age->n && ok; i++)
		ok = json_array_append_new(list, period_json(&age->periods[i])) == 0;
	if (ok)
		text = json_whole_text(list, JSON_COMPACT);
	json_decref(list);
	return text;
}

/* Send what P has. Return as periods_send(). */
static int send_all(struct periods *p, struct hub *hub)
{
	CLEANUP(freep) char *text = text_of(&p->age);
	int64_t now = age_now(&p->age), hub_now;
	int r = text ? hub_put_clock(hub, now, text, &hub_now) : -ENOMEM;

	p->is_known = r == 0;
	p->hub_offset = r == 0 ? hub_now - now : 0;
	if (r == HUB_E_REFUSED)
		log_write_limited(&p->refused, LOG_LEVEL_WARNING, NULL,
				  "The hub does not take how the clock of this host was set: %s", hub_sentence(hub));
	return r == HUB_E_LOST || r == HUB_E_STRANGER ? r : 0;
}

int periods_send(struct periods *p, struct reader *r, struct hub *hub, bool always)
{
	struct age age = {0};
	bool is_new;

	p->looked_at = clock_mono();
	if (reader_ready(r) != 0 || reader_age(r, &age) != 0) {
		age_deinit(&age);
		return 0;
	}
	is_new = !same(&p->age, &age);
	age_deinit(&p->age);
	p->age = age;
	return is_new || always ? send_all(p, hub) : 0;
}

int periods_send_due(struct periods *p, struct reader *r, struct hub *hub)
{
	return p->looked_at && clock_mono() - p->looked_at < LOOK_NS ? 0 : periods_send(p, r, hub, false);
}

/* ---- stamps ----------------------------------------------------------------------------------- */

/* Return what is to be added to CLOCK_MONOTONIC in PERIOD to get the right time. */
static int64_t right_offset(const struct periods *p, const struct age_period *period)
{
	return period->is_corrected ? period->real_offset + period->correction : p->hub_offset + period->age_offset;
}

uint64_t periods_taken(const struct periods *p, uint64_t mono, uint64_t real)
{
	bool is_exact;
	const struct age_period *period =
		p->is_known ? age_period(&p->age, (int64_t)mono, (int64_t)real, &is_exact) : NULL;
	int64_t taken;

	if (!period)
		return real;
	taken = (int64_t)mono + right_offset(p, period);
	if (is_exact && period->is_corrected)
		return real + (uint64_t)period->correction;
	return distance(taken, (int64_t)real) < WRONG_NS || taken < 0 ? real : (uint64_t)taken;
}

uint64_t periods_taken_real(const struct periods *p, uint64_t real)
{
	const struct age_period *period = p->is_known ? age_period_at_real(&p->age, (int64_t)real) : NULL;

	return period ? periods_taken(p, real - (uint64_t)period->real_offset, real) : real;
}
