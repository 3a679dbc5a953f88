/*
 * Print the items of a ring file of OCaml 5 as the oracles in tests/traces/ocaml5 have them, ring by
 * ring: runtime-dump [-m HEAD TAIL] FILE...
 *
 * Several files stand for one file at several times: one reader reads them in turn. HEAD and TAIL stand
 * for a program that runs: ring 0 has them from the first load of its data on.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/runtime.h>

struct file {
	struct mprof_runtime_map map;
	uint64_t data; /* offset of the rings' words */
	bool moves, copied;
	uint64_t head[2];
};

/* The lines of one ring. */
struct lines {
	FILE *out;
	char *text;
	size_t bytes;
};

static bool load(void *context, uint64_t offset, void *to, size_t words)
{
	struct file *f = context;

	f->copied = f->copied || offset >= f->data;
	if (f->moves && f->copied && offset == 64 && words == 2) {
		memcpy(to, f->head, 16);
		return true;
	}
	return mprof_runtime_map_load(&f->map, offset, to, words);
}

/* As OCaml's %S. */
static void put_string(FILE *out, const char *p, size_t n)
{
	static const char from[] = "\n\t\r\b\"\\", to[] = "ntrb\"\\";

	putc('"', out);
	for (size_t i = 0; i < n; i++) {
		const char *simple = p[i] ? strchr(from, p[i]) : NULL;

		if (simple)
			fprintf(out, "\\%c", to[simple - from]);
		else if (p[i] >= ' ' && p[i] < 127)
			putc(p[i], out);
		else
			fprintf(out, "\\%03u", (unsigned char)p[i]);
	}
	putc('"', out);
}

static void put_runtime(FILE *out, const struct mprof_runtime_item *item)
{
	if (item->kind == MPROF_RUNTIME_LIFECYCLE)
		fprintf(out, item->value ? "lifecycle %s %" PRId64 : "lifecycle %s -", item->name, item->value);
	else if (item->kind == MPROF_RUNTIME_COUNTER)
		fprintf(out, "counter %s %" PRId64, item->name, item->value);
	else
		fprintf(out, "%s %s", item->kind == MPROF_RUNTIME_BEGIN ? "begin" : "end", item->name);
}

static void put_user(FILE *out, const struct mprof_runtime_item *item)
{
	static const char *const kinds[] = {"unit", "int", "span", "span", "custom"};

	fprintf(out, "user-%s ", kinds[item->kind - MPROF_RUNTIME_USER_UNIT]);
	put_string(out, item->name, strlen(item->name));
	if (item->kind == MPROF_RUNTIME_USER_INT)
		fprintf(out, " %" PRId64, item->value);
	else if (item->kind == MPROF_RUNTIME_USER_BEGIN || item->kind == MPROF_RUNTIME_USER_END)
		fprintf(out, " %s", item->kind == MPROF_RUNTIME_USER_BEGIN ? "begin" : "end");
	else if (item->kind == MPROF_RUNTIME_USER_CUSTOM)
		fputs(" hex:", out);
	for (size_t i = 0; item->kind == MPROF_RUNTIME_USER_CUSTOM && i < item->data_bytes; i++)
		fprintf(out, "%02x", item->data[i]);
}

static int on_item(void *context, uint32_t ring, const struct mprof_runtime_item *item)
{
	FILE *out = ((struct lines *)context)[ring].out;

	fprintf(out, "ring=%" PRIu32 " t=%" PRIu64 " ", ring, item->time);
	if (item->kind == MPROF_RUNTIME_ALLOC) {
		fputs("alloc", out);
		for (size_t i = 0; i < item->data_bytes; i += 8)
			fprintf(out, " %" PRIu64, mprof_load64(item->data + i));
	} else if (item->kind < MPROF_RUNTIME_USER_UNIT) {
		put_runtime(out, item);
	} else {
		put_user(out, item);
	}
	putc('\n', out);
	return 0;
}

static int on_lost(void *context, uint32_t ring, uint64_t words)
{
	fprintf(((struct lines *)context)[ring].out, "ring=%" PRIu32 " lost-words %" PRIu64 "\n", ring, words);
	return 0;
}

static int on_damage(void *context, uint32_t ring, uint64_t position, enum mprof_runtime_damage damage)
{
	fprintf(((struct lines *)context)[ring].out, "ring=%" PRIu32 " damage at %" PRIu64 ": %s\n", ring, position,
		mprof_runtime_damage_text(damage));
	return 0;
}

static bool read_file(struct file *f, const char *path)
{
	FILE *in = fopen(path, "rb");
	char *bytes;

	if (!in || fseek(in, 0, SEEK_END))
		return false;
	free((void *)f->map.bytes);
	f->map.len = (uint64_t)ftell(in);
	f->map.bytes = bytes = aligned_alloc(8, (f->map.len + 7) & ~7ull);
	rewind(in);
	return bytes && fread(bytes, 1, f->map.len, in) == f->map.len && !fclose(in);
}

/* Print the lines of each ring, and empty them. */
static void put_lines(struct lines *lines, uint32_t rings)
{
	for (uint32_t i = 0; i < rings; i++) {
		fclose(lines[i].out);
		fwrite(lines[i].text, 1, lines[i].bytes, stdout);
		free(lines[i].text);
		lines[i].out = open_memstream(&lines[i].text, &lines[i].bytes);
	}
}

static int dump(struct file *f, char **paths, int n)
{
	struct mprof_runtime_memory memory = {.load = load, .context = f};
	struct mprof_runtime_layout layout;
	struct mprof_runtime_sink sink = {.item = on_item, .lost = on_lost, .damage = on_damage};
	struct mprof_runtime *r;
	struct lines *lines;

	if (!read_file(f, paths[0]) || mprof_runtime_layout_load(&layout, &memory, f->map.len) != MPROF_OK) {
		fputs("no ring file of OCaml\n", stderr);
		return 1;
	}
	f->data = layout.data;
	sink.context = lines = calloc(layout.rings, sizeof(*lines));
	r = mprof_runtime_new(&memory, &layout);
	if (!r || !lines)
		return 1;
	for (uint32_t i = 0; i < layout.rings; i++)
		lines[i].out = open_memstream(&lines[i].text, &lines[i].bytes);
	for (int i = 0; i < n; i++) {
		if ((i && !read_file(f, paths[i])) || mprof_runtime_read(r, &sink, NULL) != MPROF_OK)
			return 1;
		put_lines(lines, layout.rings);
	}
	for (uint32_t i = 0; i < layout.rings; i++) {
		fclose(lines[i].out);
		free(lines[i].text);
	}
	mprof_runtime_free(r);
	free(lines);
	return 0;
}

int main(int argc, char **argv)
{
	struct file f = {.data = UINT64_MAX};
	int at = 1, r;

	if (argc > 4 && strcmp(argv[1], "-m") == 0) {
		f.moves = true;
		for (int i = 0; i < 2; i++)
			f.head[i] = strtoull(argv[2 + i], NULL, 10);
		at = 4;
	}
	if (at >= argc)
		return 2;
	r = dump(&f, argv + at, argc - at);
	free((void *)f.map.bytes);
	return r;
}
