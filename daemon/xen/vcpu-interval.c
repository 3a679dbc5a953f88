/* Divide the time between two samples by the rules of schema/vcpu.md. */
#include "vcpu-interval.h"

#include <stdbool.h>

#define SMALL 16u /* a part of less than one in SMALL of the interval is left out */

uint64_t vcpu_ran(const struct vcpu_sample *before, const struct vcpu_sample *after)
{
	uint64_t length = after->at > before->at ? after->at - before->at : 0, ran;

	if (after->cpu_time <= before->cpu_time)
		return 0;
	ran = after->cpu_time - before->cpu_time;
	return ran < length ? ran : length;
}

/* Return the state for the time in which the vCPU did not run. */
static enum vcpu_state rest_state(const struct vcpu_sample *before, const struct vcpu_sample *after)
{
	if (after->state != VCPU_RUNNING)
		return after->state;
	return before->state != VCPU_RUNNING ? before->state : VCPU_NOT_RUNNING;
}

size_t vcpu_parts(const struct vcpu_sample *before, const struct vcpu_sample *after, struct vcpu_part *parts)
{
	uint64_t length = after->at - before->at, ran = vcpu_ran(before, after), small = length / SMALL;
	enum vcpu_state rest = rest_state(before, after);
	bool last = after->state == VCPU_RUNNING;

	if (after->at <= before->at)
		return 0;
	parts[0] = (struct vcpu_part){rest, before->at, after->at};
	if (ran >= length - small)
		parts[0].state = VCPU_RUNNING;
	if (ran >= length - small || ran <= small)
		return 1;
	parts[0].until = last ? after->at - ran : before->at + ran;
	parts[0].state = last ? rest : VCPU_RUNNING;
	parts[1] = (struct vcpu_part){last ? VCPU_RUNNING : rest, parts[0].until, after->at};
	return 2;
}
