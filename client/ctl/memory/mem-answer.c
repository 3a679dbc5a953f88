#include "mem-answer.h"

#include "options.h"
#include "scope.h"
#include "table.h"

int mem_answer_run(const struct ctl *ctl, int argc, char **argv, const struct mem_answer *a)
{
	SCOPED(mem_load_deinit) struct mem_load l = {.in = {.fd = -1, .host = ctl->host}};
	SCOPED(mem_filter_deinit) struct mem_filter f = {0};
	SCOPED(json_decrefp) json_t *answer = NULL;
	struct mem_filter_options o = {0};
	const struct option_def defs[] = {MEM_FILTER_OPTIONS(o)};
	struct operands left;
	int r = options_parse(argc, argv, defs, sizeof(defs) / sizeof(defs[0]), &left, 1, 1), printed;

	r = r ? r : mem_filter_parse(&f, &o);
	r = r ? r : mem_load(&l, left.at[0], &f, true, NULL, 0);
	if (r != CTL_OK && r != CTL_DAMAGED)
		return r;
	answer = a->make(&l, !ctl->json, a);
	if (!answer)
		return say_memory();
	printed = ctl->json ? json_print(answer) : a->show(answer, a);
	return printed ? printed : r;
}
