/* How the time between two samples of a vCPU is divided. */
#include "check.h"
#include "vcpu-interval.h"

#define FROM 1000u
#define TO   1160u

static const struct vcpu_sample none;

/* Check the parts between FROM and TO, in which the vCPU ran for RAN. STATES ends with VCPU_STATES. */
static void divide(enum vcpu_state before, enum vcpu_state after, uint64_t ran, const enum vcpu_state *states,
		   uint64_t middle)
{
	const struct vcpu_sample a = {FROM, 77, before}, b = {TO, 77 + ran, after};
	struct vcpu_part parts[VCPU_PARTS];
	size_t n = vcpu_parts(&a, &b, parts), want = states[1] == VCPU_STATES ? 1 : 2;

	CHECK_EQ_UINT(vcpu_ran(&a, &b), ran < TO - FROM ? ran : TO - FROM);
	if (!CHECK_EQ_UINT(n, want))
		return;
	CHECK_EQ_UINT(parts[0].from, FROM);
	CHECK_EQ_UINT(parts[n - 1].until, TO);
	for (size_t i = 0; i < n; i++)
		CHECK_EQ_UINT(parts[i].state, states[i]);
	if (n == 2) {
		CHECK_EQ_UINT(parts[0].until, middle);
		CHECK_EQ_UINT(parts[1].from, middle);
	}
}

#define ONE(state)	   ((const enum vcpu_state[]){state, VCPU_STATES})
#define TWO(first, second) ((const enum vcpu_state[]){first, second})

static void test_whole(void)
{
	divide(VCPU_BLOCKED, VCPU_BLOCKED, 0, ONE(VCPU_BLOCKED), 0);
	divide(VCPU_WAITING, VCPU_WAITING, 0, ONE(VCPU_WAITING), 0);
	divide(VCPU_RUNNING, VCPU_RUNNING, 160, ONE(VCPU_RUNNING), 0);
	divide(VCPU_RUNNING, VCPU_RUNNING, 5000, ONE(VCPU_RUNNING), 0);
	divide(VCPU_RUNNING, VCPU_RUNNING, 0, ONE(VCPU_NOT_RUNNING), 0);
	divide(VCPU_PAUSED, VCPU_PAUSED, 0, ONE(VCPU_PAUSED), 0);
	divide(VCPU_OFFLINE, VCPU_OFFLINE, 0, ONE(VCPU_OFFLINE), 0);
	/* A sixteenth is left out. */
	divide(VCPU_BLOCKED, VCPU_BLOCKED, 10, ONE(VCPU_BLOCKED), 0);
	divide(VCPU_RUNNING, VCPU_BLOCKED, 150, ONE(VCPU_RUNNING), 0);
	/* It was woken, and has not run yet. */
	divide(VCPU_BLOCKED, VCPU_WAITING, 0, ONE(VCPU_WAITING), 0);
}

static void test_parts(void)
{
	divide(VCPU_RUNNING, VCPU_BLOCKED, 11, TWO(VCPU_RUNNING, VCPU_BLOCKED), FROM + 11);
	divide(VCPU_RUNNING, VCPU_WAITING, 149, TWO(VCPU_RUNNING, VCPU_WAITING), FROM + 149);
	divide(VCPU_WAITING, VCPU_RUNNING, 60, TWO(VCPU_WAITING, VCPU_RUNNING), TO - 60);
	divide(VCPU_BLOCKED, VCPU_RUNNING, 60, TWO(VCPU_BLOCKED, VCPU_RUNNING), TO - 60);
	divide(VCPU_RUNNING, VCPU_RUNNING, 60, TWO(VCPU_NOT_RUNNING, VCPU_RUNNING), TO - 60);
	divide(VCPU_BLOCKED, VCPU_BLOCKED, 60, TWO(VCPU_RUNNING, VCPU_BLOCKED), FROM + 60);
}

static void test_odd(void)
{
	const struct vcpu_sample late = {UINT64_MAX, UINT64_MAX, VCPU_RUNNING};
	struct vcpu_part parts[VCPU_PARTS];

	/* The time that it ran goes back; no time passes, or it goes back; the greatest numbers. */
	CHECK_EQ_UINT(vcpu_ran(&(struct vcpu_sample){1, 9, VCPU_RUNNING}, &(struct vcpu_sample){5, 8, VCPU_RUNNING}),
		      0);
	CHECK_EQ_UINT(vcpu_parts(&late, &late, parts), 0);
	CHECK_EQ_UINT(vcpu_parts(&late, &none, parts), 0);
	CHECK_EQ_UINT(vcpu_ran(&late, &none), 0);
	CHECK_EQ_UINT(vcpu_parts(&none, &late, parts), 1);
	CHECK_EQ_UINT(parts[0].state, VCPU_RUNNING);
	CHECK_EQ_UINT(parts[0].until, UINT64_MAX);
	/* An interval that is shorter than sixteen nanoseconds. */
	CHECK_EQ_UINT(
		vcpu_parts(&(struct vcpu_sample){5, 0, VCPU_BLOCKED}, &(struct vcpu_sample){6, 1, VCPU_BLOCKED}, parts),
		1);
}

int main(void)
{
	CHECK_RUN(test_whole);
	CHECK_RUN(test_parts);
	CHECK_RUN(test_odd);
	return check_done();
}
