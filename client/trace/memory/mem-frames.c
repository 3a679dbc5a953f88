/* The functions of a memory profile as texts. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <mprof/flame.h>

/* Make *FRAME one without a name: TEXT, or the code CODE of M if TEXT is NULL. */
static void unnamed(const struct mprof_mem *m, uint32_t code, struct mprof_frame *frame)
{
	const char *text = code == MPROF_CODE_TRUNCATED ? "(truncated stack)"
			   : code == MPROF_CODE_UNKNOWN ? "(unknown stack)"
							: NULL;

	*frame = (struct mprof_frame){0};
	if (!text)
		snprintf(frame->code, sizeof(frame->code), "$%" PRId64,
			 (int64_t)(mprof_mem_code(m, code)->code << 1) >> 1);
	frame->function = text ? text : frame->code;
	frame->function_bytes = strlen(frame->function);
}

static void named(const struct mprof_mem *m, uint32_t function, uint32_t file, uint32_t line, struct mprof_frame *frame)
{
	*frame = (struct mprof_frame){.line = line};
	frame->function = mprof_mem_string(m, function, &frame->function_bytes);
	frame->file = mprof_mem_string(m, file, &frame->file_bytes);
}

void mprof_hotspot_frame(const struct mprof_mem *m, const struct mprof_hotspot *spot, struct mprof_frame *frame)
{
	if (spot->name == MPROF_NONE)
		unnamed(m, spot->code, frame);
	else
		named(m, spot->name, spot->file, 0, frame);
}

bool mprof_stack_next(struct mprof_stack_walk *w, struct mprof_frame *frame)
{
	const struct mprof_mem_location *l;
	const struct mprof_mem_code *code;
	uint32_t i;

	while (!w->left) {
		if (w->node == MPROF_NONE || w->frames >= w->most)
			return false;
		i = w->nodes[w->node].code;
		if (i < MPROF_CODE_UNKNOWN)
			w->left = mprof_mem_code(w->mem, i)->locations;
		if (w->left)
			break;
		w->node = w->nodes[w->node].parent;
		if (i == MPROF_NONE)
			continue;
		unnamed(w->mem, i, frame);
		w->frames++;
		return true;
	}
	code = mprof_mem_code(w->mem, w->nodes[w->node].code);
	l = mprof_mem_location(w->mem, code->first_location + --w->left);
	named(w->mem, l->function, l->file, l->line, frame);
	w->frames++;
	if (!w->left)
		w->node = w->nodes[w->node].parent;
	return true;
}
