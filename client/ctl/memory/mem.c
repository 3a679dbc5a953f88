/* The frame of the verbs of `mprofctl mem` that give one answer. */
#include "mem.h"
#include "array.h"
#include "cleanup.h"
#include "options.h"
#include "table.h"

int mem_answer_run(const struct ctl *ctl, int argc, char **argv, const struct mem_answer *a)
{
	CLEANUP(mem_load_deinit) struct mem_load l = {.in = {.fd = -1, .hosts = ctl->hosts}};
	CLEANUP(mem_filter_deinit) struct mem_filter f = {0};
	struct options o;
	struct operands left;
	int r = options_parse(ctl, argc, argv, &o, &left), printed;

	r = r ? r : mem_filter_parse(&f, &o);
	r = r ? r : mem_load(&l, left.at[0], &f, true, NULL, 0);
	if (r != CTL_OK && r != CTL_DAMAGED)
		return r;
	printed = a->print(&l, ctl->json, a);
	return printed ? printed : r;
}
