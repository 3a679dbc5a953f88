/*
 * Tables and JSON on standard output. Guests and users wrote the names and notes in them. So
 * table_add() escapes each cell, and json_put() escapes JSON.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cleanup.h"
#include "ctl.h"
#include "json.h"
#include "table.h"

void table_init(struct table *t, const char *const *heads, size_t columns)
{
	*t = (struct table){.columns = columns};
	for (size_t i = 0; i < columns; i++) {
		t->right[i] = heads[i][0] == '>';
		table_add(t, heads[i] + t->right[i]);
	}
}

void table_deinit(struct table *t)
{
	for (size_t i = 0; i < t->cells; i++)
		free(t->text[i]);
	free(t->text);
	*t = (struct table){0};
}

void table_cut(struct table *t)
{
	struct winsize size;
	int error = errno; /* of an earlier failure to write, which stdout_verdict() reports */

	t->most = TABLE_CELL_MAX;
	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 3)
		t->most = size.ws_col;
	errno = error;
}

/* Cut S, valid UTF-8, to MOST characters, the last of which are dots. MOST is at least 3. */
static void cut(char *s, int most)
{
	static const char dots[] = "...";
	char *end = s;
	int n = 0;

	for (; *s && n <= most; s++) {
		if (((unsigned char)*s & 0xc0) == 0x80)
			continue;
		/* The dots take the place of at least as many characters, of at least as many bytes. */
		if (n++ == most - (int)sizeof(dots) + 1)
			end = s;
	}
	if (n > most)
		memcpy(end, dots, sizeof(dots));
}

void table_add(struct table *t, const char *text)
{
	table_add_text(t, text, text ? strlen(text) : 0);
}

void table_add_text(struct table *t, const char *text, size_t n)
{
	size_t room = t->room ? t->room * 2 : 64;
	char **grown;

	if (!n) {
		text = "-";
		n = 1;
	}
	if (t->cells == t->room) {
		grown = realloc(t->text, room * sizeof(*grown));
		if (!grown) {
			t->failed = true;
			return;
		}
		t->text = grown;
		t->room = room;
	}
	t->text[t->cells] = printable(text, n);
	if (t->text[t->cells] && t->most)
		cut(t->text[t->cells], t->most);
	if (t->text[t->cells])
		t->cells++;
	else
		t->failed = true;
}

void table_add_number(struct table *t, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	table_add(t, text);
}

void bytes_text(uint64_t bytes, char *buf, size_t size)
{
	static const char units[] = "KMGTPE";
	double value = (double)bytes / 1024;
	size_t i = 0;

	if (bytes < 1024) {
		snprintf(buf, size, "%" PRIu64 " B", bytes);
		return;
	}
	for (; value >= 1023.95 && units[i + 1]; i++)
		value /= 1024;
	snprintf(buf, size, "%.1f %cB", value, units[i]);
}

void table_add_bytes(struct table *t, uint64_t bytes)
{
	char text[24];

	bytes_text(bytes, text, sizeof(text));
	table_add(t, text);
}

void time_text(const char *time, struct wall_zone *zone, char *buf, size_t size)
{
	char text[WALL_TEXT_MAX];
	struct wall_moment m;
	size_t begin, end;

	if (wall_parse(&m, time, zone, false) != WALL_OK || m.of_day) {
		snprintf(buf, size, "%s", time);
		return;
	}
	wall_text(zone, m.ns, true, text);
	begin = strcspn(text, ".");
	end = begin + (text[begin] == '.');
	end += strspn(text + end, "0123456789");
	snprintf(buf, size, "%.*s%s", (int)begin, text, text + end);
}

void table_add_time(struct table *t, const json_t *time, struct wall_zone *zone)
{
	char buf[48] = "";

	if (json_is_string(time))
		time_text(json_string_value(time), zone, buf, sizeof(buf));
	table_add(t, buf);
}

void table_add_json(struct table *t, const json_t *value)
{
	if (json_is_integer(value))
		table_add_number(t, (uint64_t)json_integer_value(value));
	else if (json_is_boolean(value))
		table_add(t, json_is_true(value) ? "yes" : "no");
	else
		table_add(t, json_string_value(value));
}

/* All bytes count except continuation bytes (10xxxxxx). */
int text_width(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void print_cell(const struct table *t, size_t cell, int wide)
{
	size_t column = cell % t->columns;
	bool last = column + 1 == t->columns;
	int pad = wide - text_width(t->text[cell]);

	if (t->right[column])
		printf("%*s%s", pad, "", t->text[cell]);
	else
		printf("%s%*s", t->text[cell], last ? 0 : pad, "");
	fputs(last ? "\n" : "  ", stdout);
}

int stdout_verdict(void)
{
	if (!ferror(stdout) && fflush(stdout) == 0)
		return CTL_OK;
	if (errno == EPIPE)
		return CTL_OK;
	say("cannot write standard output: %s", strerror(errno));
	return CTL_FAILED;
}

int table_print(const struct table *t)
{
	int widths[TABLE_COLUMNS_MAX] = {0};

	if (t->failed)
		return say_memory();
	for (size_t i = 0; i < t->cells; i++)
		if (text_width(t->text[i]) > widths[i % t->columns])
			widths[i % t->columns] = text_width(t->text[i]);
	for (size_t i = 0; i < t->cells; i++)
		print_cell(t, i, widths[i % t->columns]);
	return stdout_verdict();
}

int json_print(const json_t *json)
{
	if (!json_put(json, stdout, JSON_INDENT(2)) && !ferror(stdout))
		return say_memory();
	putchar('\n');
	return stdout_verdict();
}

const char *span_text(uint64_t ns, char *buf, size_t size)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}, {"ns", 1}};
	size_t i = 0;

	while (i < 3 && (double)ns < units[i].ns)
		i++;
	snprintf(buf, size, i == 3 ? "%.0f %s" : "%.3f %s", (double)ns / units[i].ns, units[i].name);
	return buf;
}
