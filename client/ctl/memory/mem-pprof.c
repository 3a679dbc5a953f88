/*
 * The pprof format: protocol buffers, compressed with gzip.
 *
 * A protocol buffer with repeated fields may be written as several messages, one after the other. A
 * reader joins them. So each stack, place, function and string is written at once as a message of
 * type Profile that has nothing else, and the whole profile is never in memory.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "mem-formats.h"
#include "pprof.pb-c.h"
#include "utf8.h"

/*
 * Fixed strings, written before the strings of the profile. pprof demands that string 0 is empty.
 */
static const char *const own[] = {"",	   "samples",		"count",	   "allocated", "bytes", "live", "peak",
				  "space", "(truncated stack)", "(unknown stack)", "(...)"};
enum {
	OWN_EMPTY,
	OWN_SAMPLES,
	OWN_COUNT,
	OWN_ALLOCATED,
	OWN_BYTES,
	OWN_LIVE,
	OWN_PEAK,
	OWN_SPACE,
	OWN_TRUNCATED,
	OWN_N = 11
};

/* Fixed places for unknown parts of a stack. Their ids follow the ids of the codes' places. */
enum { PLACE_TRUNCATED, PLACE_UNKNOWN, PLACE_CUT, PLACES_OWN };

struct pprof_writer {
	struct mem_format_job *f;
	const struct mprof_mem *d;
	struct archive *zip;
	struct archive_entry *entry;
	uint8_t *packed;
	size_t room;
	struct utf8 text;
	char *terminated;
	uint64_t *stack;
	int error; /* -errno of the first failed write, or 0 */
};

static void pprof_writer_deinit(struct pprof_writer *w)
{
	archive_entry_free(w->entry);
	if (w->zip)
		archive_write_free(w->zip);
	free(w->packed);
	free(w->terminated);
	free(w->stack);
	utf8_deinit(&w->text);
}

static la_ssize_t take(struct archive *zip, void *context, const void *bytes, size_t n)
{
	struct pprof_writer *w = context;

	w->error = output_write(w->f->out, bytes, n);
	if (!w->error)
		return (la_ssize_t)n;
	archive_set_error(zip, -w->error, "write");
	return -1;
}

static bool zip_open(struct pprof_writer *w)
{
	w->zip = archive_write_new();
	w->entry = archive_entry_new();
	if (!w->zip || !w->entry)
		return false;
	archive_entry_set_filetype(w->entry, AE_IFREG);
	return archive_write_add_filter_gzip(w->zip) == ARCHIVE_OK &&
	       archive_write_set_filter_option(w->zip, "gzip", "timestamp", NULL) == ARCHIVE_OK &&
	       archive_write_set_format_raw(w->zip) == ARCHIVE_OK &&
	       archive_write_set_bytes_in_last_block(w->zip, 1) == ARCHIVE_OK &&
	       archive_write_open(w->zip, w, NULL, take, NULL) == ARCHIVE_OK &&
	       archive_write_header(w->zip, w->entry) == ARCHIVE_OK;
}

static int put(struct pprof_writer *w, const Pprof__Profile *piece)
{
	size_t n = pprof__profile__get_packed_size(piece);
	uint8_t *packed;

	if (n > w->room) {
		packed = realloc(w->packed, n * 2);
		if (!packed)
			return -ENOMEM;
		w->packed = packed;
		w->room = n * 2;
	}
	pprof__profile__pack(piece, w->packed);
	if (archive_write_data(w->zip, w->packed, n) == (la_ssize_t)n)
		return 0;
	return w->error ? w->error : -ENOMEM;
}

static int put_types(struct pprof_writer *w)
{
	static const int64_t types[][2] = {
		{OWN_SAMPLES, OWN_COUNT}, {OWN_ALLOCATED, OWN_BYTES}, {OWN_LIVE, OWN_BYTES}, {OWN_PEAK, OWN_BYTES}};
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	Pprof__ValueType list[4], period = PPROF__VALUE_TYPE__INIT, *pointers[4];
	const struct mem_load *l = w->f->l;

	for (size_t i = 0; i < 4; i++) {
		pprof__value_type__init(&list[i]);
		list[i].type = types[i][0];
		list[i].unit = types[i][1];
		pointers[i] = &list[i];
	}
	piece.sample_type = pointers;
	piece.n_sample_type = 4;
	period.type = OWN_SPACE;
	period.unit = OWN_BYTES;
	piece.period_type = &period;
	piece.period = (int64_t)mem_load_whole(mprof_mem_scale(l->in.decoder));
	piece.time_nanos = (int64_t)(l->start_us * 1000);
	piece.duration_nanos = (int64_t)(mem_load_length(l) * 1000);
	piece.default_sample_type = OWN_ALLOCATED;
	return put(w, &piece);
}

static int put_string(struct pprof_writer *w, const char *text, size_t bytes)
{
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	char *list[1];

	if (utf8_set(&w->text, text, bytes))
		return -ENOMEM;
	free(w->terminated);
	w->terminated = strndup(w->text.text, w->text.bytes);
	if (!w->terminated)
		return -ENOMEM;
	list[0] = w->terminated;
	piece.string_table = list;
	piece.n_string_table = 1;
	return put(w, &piece);
}

static int put_strings(struct pprof_writer *w)
{
	uint32_t n = mprof_mem_strings(w->d);
	int r = 0;

	for (size_t i = 0; !r && i < OWN_N; i++)
		r = put_string(w, own[i], strlen(own[i]));
	for (uint32_t i = 0; !r && i < n; i++) {
		size_t bytes;
		const char *text = mprof_mem_string(w->d, i, &bytes);

		r = put_string(w, text, bytes);
	}
	return r;
}

static int put_function(struct pprof_writer *w, uint64_t id, int64_t name, int64_t file)
{
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	Pprof__Function function = PPROF__FUNCTION__INIT, *list[1] = {&function};

	function.id = id;
	function.name = function.system_name = name;
	function.filename = file;
	piece.function = list;
	piece.n_function = 1;
	return put(w, &piece);
}

/*
 * Write the place ID, which stands for N functions of the program, one inlined in the other. FIRST
 * is the number of the outermost function, FIRST + N - 1 of the innermost. If KNOWN is true, these
 * numbers are locations of the decoder, and their lines and columns are written, too. Return 0 or
 * -errno.
 */
static int put_place(struct pprof_writer *w, uint64_t id, uint64_t address, uint32_t first, uint32_t n, bool known)
{
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	Pprof__Location place = PPROF__LOCATION__INIT, *list[1] = {&place};
	Pprof__Line lines[256], *pointers[256];

	place.id = id;
	place.address = address;
	for (uint32_t i = 0; i < n && i < 256; i++) {
		uint32_t at = first + n - 1 - i;

		pprof__line__init(&lines[i]);
		lines[i].function_id = at + 1u;
		if (known) {
			lines[i].line = mprof_mem_location(w->d, at)->line;
			lines[i].column = mprof_mem_location(w->d, at)->first;
		}
		pointers[i] = &lines[i];
	}
	place.line = pointers;
	place.n_line = n;
	piece.location = list;
	piece.n_location = 1;
	return put(w, &piece);
}

static int put_places(struct pprof_writer *w)
{
	uint32_t codes = mprof_mem_codes(w->d), n = mprof_mem_locations(w->d);
	int r = 0;

	for (uint32_t i = 0; !r && i < n; i++) {
		const struct mprof_mem_location *l = mprof_mem_location(w->d, i);

		r = put_function(w, i + 1u, OWN_N + (int64_t)l->function, OWN_N + (int64_t)l->file);
	}
	for (uint32_t i = 0; !r && i < codes; i++) {
		const struct mprof_mem_code *code = mprof_mem_code(w->d, i);

		r = put_place(w, i + 1u, code->code, code->first_location, code->locations, true);
	}
	for (uint32_t i = 0; !r && i < PLACES_OWN; i++) {
		r = put_function(w, n + i + 1u, OWN_TRUNCATED + i, OWN_EMPTY);
		r = r ? r : put_place(w, codes + i + 1u, 0, n + i, 1, false);
	}
	return r;
}

static uint64_t place_of(const struct pprof_writer *w, uint32_t code)
{
	uint32_t codes = mprof_mem_codes(w->d);

	if (code == MPROF_CODE_TRUNCATED)
		return codes + PLACE_TRUNCATED + 1u;
	return code >= MPROF_CODE_UNKNOWN ? codes + PLACE_UNKNOWN + 1u : code + 1u;
}

static int put_stack(struct pprof_writer *w, const struct mprof_profile_node *nodes, uint32_t at)
{
	const struct mprof_profile_node *node = &nodes[at];
	double scale = mprof_mem_scale(w->f->l->in.decoder);
	Pprof__Profile piece = PPROF__PROFILE__INIT;
	Pprof__Sample sample = PPROF__SAMPLE__INIT, *list[1] = {&sample};
	int64_t values[4] = {(int64_t)node->samples, (int64_t)mem_load_whole((double)node->samples * scale),
			     (int64_t)mem_load_whole((double)node->live * scale),
			     (int64_t)mem_load_whole((double)node->peak * scale)};
	uint32_t most = mem_frames_most(w->f), n = 0;

	for (; nodes[at].parent != MPROF_NONE && n < most; at = nodes[at].parent)
		w->stack[n++] = place_of(w, nodes[at].code);
	w->f->frames += n;
	if (!n)
		w->stack[n++] = place_of(w, MPROF_CODE_UNKNOWN);
	if (nodes[at].parent != MPROF_NONE) {
		w->f->cut++;
		w->stack[n++] = mprof_mem_codes(w->d) + PLACE_CUT + 1u;
	}
	sample.location_id = w->stack;
	sample.n_location_id = n;
	sample.value = values;
	sample.n_value = 4;
	piece.sample = list;
	piece.n_sample = 1;
	return put(w, &piece);
}

int mem_write_pprof(struct mem_format_job *f)
{
	CLEANUP(pprof_writer_deinit) struct pprof_writer w = {.f = f, .d = f->l->in.decoder};
	const struct mprof_profile_node *nodes;
	uint32_t n;
	int r;

	w.stack = malloc((MEM_FRAMES_MAX + 2u) * sizeof(*w.stack));
	nodes = mprof_profile_nodes(f->l->profile, &n);
	if (!w.stack || !nodes || !zip_open(&w))
		return w.error ? w.error : -ENOMEM;
	r = put_types(&w);
	r = r ? r : put_strings(&w);
	r = r ? r : put_places(&w);
	for (uint32_t i = 0; !r && i < n; i++)
		if (nodes[i].samples)
			r = put_stack(&w, nodes, i);
	if (!r && archive_write_close(w.zip) != ARCHIVE_OK)
		r = w.error ? w.error : -EIO;
	return r;
}
