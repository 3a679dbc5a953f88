/* All of a profile for programs: its stacks as a tree, and what its codes mean. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "mem-formats.h"
#include "mem-name.h"
#include "scope.h"
#include "write-json.h"
#include "writer.h"

static void put(struct writer *out, const char *text)
{
	writer_put(out, text, strlen(text));
}

static void put_string(struct writer *out, const struct mprof_mem *d, uint32_t i)
{
	size_t bytes;
	const char *text = mprof_mem_string(d, i, &bytes);

	put(out, "\"");
	write_json_text(out, text, bytes);
	put(out, "\"");
}

static void put_head(struct writer *out, const struct mem_load *l)
{
	const struct mprof_mem_info *info = mprof_mem_info(l->in.decoder);
	const struct mprof_profile_sums *s = mprof_profile_sums(l->profile);

	put(out, "{\"program\":\"");
	write_json_text(out, info->program, strlen(info->program));
	put(out, "\",\"context\":\"");
	write_json_text(out, info->context, strlen(info->context));
	mem_put_format(out,
		       "\",\"start_us\":\"%" PRIu64 "\",\"last_us\":\"%" PRIu64 "\",\"rate\":%.17g,\"word_bytes\":%u,",
		       info->start_us, l->whole.last_us, info->rate, info->word_bytes);
	mem_put_format(out,
		       "\"bytes_per_sample\":%.17g,\"samples\":%" PRIu64 ",\"live\":%" PRIu64 ",\"peak\":%" PRIu64
		       ",\"peak_us\":\"%" PRIu64 "\",\n",
		       mem_load_scale(l), s->samples[0] + s->samples[1] + s->samples[2], s->live, s->peak, s->peak_us);
}

static void put_codes(struct writer *out, const struct mprof_mem *d)
{
	uint32_t n = mprof_mem_codes(d);

	put(out, "\"codes\":[");
	for (uint32_t i = 0; i < n && !out->error; i++) {
		const struct mprof_mem_code *code = mprof_mem_code(d, i);

		mem_put_format(out, "%s{\"code\":\"%" PRId64 "\",\"locations\":[", i ? ",\n" : "",
			       (int64_t)(code->code << 1) >> 1);
		for (uint32_t k = 0; k < code->locations; k++) {
			const struct mprof_mem_location *l = mprof_mem_location(d, code->first_location + k);

			put(out, k ? ",{\"function\":" : "{\"function\":");
			put_string(out, d, l->function);
			put(out, ",\"file\":");
			put_string(out, d, l->file);
			mem_put_format(out, ",\"line\":%u,\"first\":%u,\"last\":%u}", l->line, l->first, l->last);
		}
		put(out, "]}");
	}
	put(out, "],\n");
}

static void put_node(struct writer *out, const struct mprof_profile_node *node)
{
	if (node->parent == MPROF_NONE)
		put(out, "{\"parent\":null,");
	else
		mem_put_format(out, ",\n{\"parent\":%u,", node->parent);
	if (node->code < MPROF_CODE_UNKNOWN)
		mem_put_format(out, "\"code\":%u,", node->code);
	else
		mem_put_format(out, "\"code\":%s,",
			       node->code == MPROF_CODE_TRUNCATED ? "\"truncated\""
			       : node->code == MPROF_CODE_UNKNOWN ? "\"unknown\""
								  : "null");
	mem_put_format(out, "\"allocs\":%" PRIu64 ",\"samples\":%" PRIu64 ",\"live\":%" PRIu64 ",\"peak\":%" PRIu64 "}",
		       node->allocs, node->samples, node->live, node->peak);
}

int mem_write_json(struct mem_formatting *f)
{
	SCOPED(writer_deinit) struct writer out = {0};
	const struct mprof_profile_node *nodes;
	uint32_t n, i;

	nodes = mprof_profile_nodes(f->l->profile, &n);
	if (!nodes || !writer_init(&out, f->out->fd))
		return -ENOMEM;
	put_head(&out, f->l);
	put_codes(&out, f->l->in.decoder);
	put(&out, "\"nodes\":[");
	for (i = 0; i < n && !out.error; i++)
		put_node(&out, &nodes[i]);
	put(&out, "]}\n");
	return writer_flush(&out);
}
