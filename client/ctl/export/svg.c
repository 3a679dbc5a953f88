/*
 * This file writes a picture as SVG.
 *
 * Consecutive marks that look alike share one path element, so that a picture of ten thousand lines
 * stays small and opens at once. Numbers have a precision of 0.1 pixel.
 *
 * The scene's texts contain only printable characters. put_escaped() alone writes texts, and
 * escapes the characters that XML reserves.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "svg.h"

#define HEAD_HALF 4.0 /* half the width of a head, pixels */
#define CORNERS	  8u
#define STEEP	  10.0 /* an arrow that rises or falls by more pixels has an upright head */
#define BAR	  8.0  /* half the height of the bar at the end of a failed thread, pixels */
#define ALPHAS	  8u   /* steps of opacity */
#define LABEL_UP  4.0
#define TYPE_DOWN 12.0
#define RULER_UP  9.0
#define TAIL_HIGH 6.0 /* height of the hatched strip, pixels */

enum shape { SHAPE_BAND, SHAPE_LINE, SHAPE_ARROW, SHAPE_TEXT, SHAPE_HEAD, SHAPE_FAILED, SHAPE_HIGHLIGHT, SHAPE_TAIL };

struct look {
	enum shape shape;
	const char *style; /* attributes of the SVG element; for an arrow, its colour */
};

/*
 * Corners of the head of an arrow, the point first: pixels back along the line, and to the side. Each
 * kind has a shape of its own: a triangle, one with a notch, one before a bar, two strokes, a rhombus.
 */
struct head {
	unsigned n;
	signed char at[CORNERS][2];
};

static const struct head heads[MPROF_MARK_KINDS] = {
	[MPROF_MARK_RESOLVE] = {3, {{0, 0}, {10, -4}, {10, 4}}},
	[MPROF_MARK_READ] = {4, {{0, 0}, {10, -4}, {6, 0}, {10, 4}}},
	[MPROF_MARK_READ_FAILED] = {8, {{0, -4}, {2, -4}, {2, 0}, {10, -4}, {10, 4}, {2, 0}, {2, 4}, {0, 4}}},
	[MPROF_MARK_TRY_READ] = {6, {{0, 0}, {7, -4}, {10, -4}, {3, 0}, {10, 4}, {7, 4}}},
	[MPROF_MARK_SIGNAL] = {4, {{0, 0}, {5, -4}, {10, 0}, {5, 4}}},
};

static const struct look looks[MPROF_MARK_KINDS] = {
	[MPROF_MARK_SLEEPING] = {SHAPE_BAND, "fill=\"#ccc\""},
	[MPROF_MARK_COLLECTION] = {SHAPE_BAND, "fill=\"#b39999\""},
	[MPROF_MARK_GAP] = {SHAPE_BAND, "fill=\"url(#gap)\" stroke=\"#963\""},
	[MPROF_MARK_TAIL] = {SHAPE_TAIL, "fill=\"url(#tail)\""},
	[MPROF_MARK_GRID] = {SHAPE_LINE, "stroke=\"#b3b3b3\""},
	[MPROF_MARK_SHADE] = {SHAPE_BAND, "fill=\"#999\""},
	[MPROF_MARK_HIGHLIGHT] = {SHAPE_HIGHLIGHT, "stroke=\"#ff0\" stroke-width=\"8\" stroke-linecap=\"square\""},
	[MPROF_MARK_THREAD] = {SHAPE_LINE, "stroke=\"#333\" stroke-width=\"2\""},
	[MPROF_MARK_RUNNING] = {SHAPE_LINE, "stroke=\"#fff\" stroke-width=\"3\""},
	[MPROF_MARK_CREATION] = {SHAPE_LINE, "stroke=\"#333\""},
	[MPROF_MARK_BECOMES] = {SHAPE_LINE, "stroke=\"#333\""},
	[MPROF_MARK_OPEN_END] = {SHAPE_HEAD, "fill=\"#333\""},
	[MPROF_MARK_FAILED] = {SHAPE_FAILED, "stroke=\"#c00\" stroke-width=\"2\""},
	[MPROF_MARK_RESOLVE] = {SHAPE_ARROW, "#008000"},
	[MPROF_MARK_READ] = {SHAPE_ARROW, "#00f"},
	[MPROF_MARK_READ_FAILED] = {SHAPE_ARROW, "#d6001c"},
	[MPROF_MARK_TRY_READ] = {SHAPE_ARROW, "#6f6b00"},
	[MPROF_MARK_SIGNAL] = {SHAPE_ARROW, "#a85400"},
	[MPROF_MARK_LABEL] = {SHAPE_TEXT, "class=\"label\""},
	[MPROF_MARK_TYPE] = {SHAPE_TEXT, "class=\"type\""},
	[MPROF_MARK_COUNTER] = {SHAPE_LINE, "stroke-width=\"2\" stroke-linecap=\"square\""},
	[MPROF_MARK_COUNTER_NAME] = {SHAPE_TEXT, "class=\"counter\" text-anchor=\"end\""},
	[MPROF_MARK_BAND_NAME] = {SHAPE_TEXT, "class=\"band\" text-anchor=\"middle\""},
	[MPROF_MARK_TICK] = {SHAPE_LINE, "stroke=\"#000\""},
	/* Marks of tracks. */
	[MPROF_MARK_BUSY] = {SHAPE_BAND, "fill=\"#8c8\""},
	[MPROF_MARK_LANE] = {SHAPE_BAND, "fill=\"none\""},
	[MPROF_MARK_ENVELOPE] = {SHAPE_BAND, "fill=\"#888\""},
	[MPROF_MARK_DURATION] = {SHAPE_BAND, "fill=\"#8ad\" stroke=\"#fff\""},
};

static const char *const counter_colours[] = {"#c94444", "#c06400", "#2b8680", "#a64fd9"};
static const char *const name_colours[] = {"#b00000", "#8a4500", "#00686b", "#7a1fb8"};

static void put(struct writer *out, const char *text)
{
	writer_put(out, text, strlen(text));
}

static void put_escaped(struct writer *out, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		switch (text[i]) {
		case '&':
			put(out, "&amp;");
			break;
		case '<':
			put(out, "&lt;");
			break;
		case '>':
			put(out, "&gt;");
			break;
		case '"':
			put(out, "&quot;");
			break;
		default:
			writer_put(out, text + i, 1);
		}
}

/* Write BEFORE, which is a path letter or the beginning of an attribute, and then VALUE. */
static void put_number(struct writer *out, const char *before, double value)
{
	char text[48];
	int n = snprintf(text, sizeof(text), "%.1f", value);

	if (n > 2 && text[n - 1] == '0')
		n -= 2;
	put(out, before);
	writer_put(out, text, (size_t)n);
}

static void put_line(struct writer *out, double x0, double y0, double x1, double y1)
{
	put_number(out, "M", x0);
	put_number(out, " ", y0);
	if (y0 == y1) {
		put_number(out, "H", x1);
	} else if (x0 == x1) {
		put_number(out, "V", y1);
	} else {
		put_number(out, "L", x1);
		put_number(out, " ", y1);
	}
}

static void put_triangle(struct writer *out, double x, double y, double dx, double dy)
{
	/*
	 * The triangle's point is (X, Y). The middle of the opposite side is (DX, DY) away from the
	 * point.
	 */
	double side_x = dx != 0 ? 0 : HEAD_HALF, side_y = dx != 0 ? HEAD_HALF : 0;

	put_number(out, "M", x);
	put_number(out, " ", y);
	put_number(out, "l", dx - side_x);
	put_number(out, " ", dy - side_y);
	put_number(out, "l", 2 * side_x);
	put_number(out, " ", 2 * side_y);
	put(out, "z");
}

/*
 * Return the x coordinate of the line's right end. A horizontal line is at least one pixel long, so
 * that a reader sees it.
 */
static double least(const struct mprof_mark *m)
{
	return m->y0 == m->y1 && m->x1 - m->x0 < 1 ? m->x0 + 1.0 : m->x1;
}

static void put_shaft(struct writer *out, const struct mprof_mark *m)
{
	put_line(out, m->x0, m->y0, m->x1, m->y1);
}

static void put_head(struct writer *out, const struct mprof_mark *m)
{
	const struct head *head = &heads[m->kind];
	double rise = m->y1 - m->y0, back = rise < -STEEP ? 1 : -1;
	bool upright = fabs(rise) > STEEP;

	for (unsigned i = 0; i < head->n; i++) {
		double along = back * head->at[i][0], side = head->at[i][1];

		put_number(out, i ? "L" : "M", m->x1 + (upright ? side : along));
		put_number(out, " ", m->y1 + (upright ? along : side));
	}
	put(out, "z");
}

static void put_shape(struct writer *out, const struct mprof_mark *m)
{
	switch (looks[m->kind].shape) {
	case SHAPE_BAND:
		put_line(out, m->x0, m->y0, fmax(m->x1, m->x0 + 1.0), m->y0);
		put_number(out, "V", m->y1);
		put_number(out, "H", m->x0);
		put(out, "z");
		break;
	case SHAPE_TAIL:
		put_line(out, m->x0, m->y1 - TAIL_HIGH, fmax(m->x1, m->x0 + 1.0), m->y1 - TAIL_HIGH);
		put_number(out, "V", m->y1);
		put_number(out, "H", m->x0);
		put(out, "z");
		break;
	case SHAPE_HEAD:
		put_triangle(out, m->x0, m->y0, -6, 0);
		break;
	case SHAPE_FAILED:
		put_line(out, m->x0, m->y0, least(m), m->y1);
		put_line(out, m->x1, m->y0 - BAR, m->x1, m->y0 + BAR);
		break;
	default:
		put_line(out, m->x0, m->y0, least(m), m->y1);
	}
}

static uint32_t alpha_of(const struct mprof_mark *m)
{
	return (m->shade * ALPHAS + UINT16_MAX - 1) / UINT16_MAX;
}

/* Return true if B can stand in the same path as A. */
static bool alike(const struct mprof_mark *a, const struct mprof_mark *b)
{
	if (a->kind != b->kind || looks[a->kind].shape == SHAPE_TEXT)
		return false;
	switch (looks[a->kind].shape) {
	case SHAPE_BAND:
	case SHAPE_ARROW:
		return alpha_of(a) == alpha_of(b);
	default:
		return a->kind != MPROF_MARK_COUNTER || a->item == b->item;
	}
}

static void put_path(struct writer *out, const struct mprof_mark *marks, uint32_t n,
		     void (*each)(struct writer *out, const struct mprof_mark *m))
{
	put(out, " d=\"");
	for (uint32_t i = 0; i < n; i++)
		each(out, &marks[i]);
	put(out, "\"/>\n");
}

static void put_arrows(struct writer *out, const struct mprof_mark *marks, uint32_t n)
{
	const char *colour = looks[marks->kind].style;
	char alpha[32] = "";

	if (alpha_of(marks) < ALPHAS)
		snprintf(alpha, sizeof(alpha), " opacity=\"%.3f\"", alpha_of(marks) / (double)ALPHAS);
	put(out, "<path stroke=\"");
	put(out, colour);
	put(out, "\"");
	put(out, alpha);
	put_path(out, marks, n, put_shaft);
	put(out, "<path stroke=\"none\" fill=\"");
	put(out, colour);
	put(out, "\"");
	put(out, alpha);
	put_path(out, marks, n, put_head);
}

static void put_boundary(struct writer *out, const struct mprof_mark *m)
{
	put_line(out, m->x0, m->y0, m->x0, m->y1);
}

/* Write a counter's curve with a dark outline, which makes it visible on top of all other marks. */
static void put_counter(struct writer *out, const struct mprof_mark *marks, uint32_t n)
{
	put(out, "<path stroke=\"#000\" stroke-opacity=\".45\" stroke-width=\"4\" stroke-linecap=\"square\"");
	put_path(out, marks, n, put_shape);
	put(out, "<path stroke=\"");
	put(out, counter_colours[marks->shade % 4]);
	put(out, "\" ");
	put(out, looks[MPROF_MARK_COUNTER].style);
	put_path(out, marks, n, put_shape);
}

static void put_marks(struct writer *out, const struct mprof_mark *marks, uint32_t n)
{
	char alpha[32];

	if (looks[marks->kind].shape == SHAPE_ARROW) {
		put_arrows(out, marks, n);
		return;
	}
	if (marks->kind == MPROF_MARK_COUNTER) {
		put_counter(out, marks, n);
		return;
	}
	if (marks->kind == MPROF_MARK_TAIL) {
		put(out, "<path stroke=\"#8a6d1f\" stroke-dasharray=\"4 4\"");
		put_path(out, marks, n, put_boundary);
	}
	put(out, "<path ");
	put(out, looks[marks->kind].style);
	if (looks[marks->kind].shape == SHAPE_BAND && alpha_of(marks) < ALPHAS) {
		snprintf(alpha, sizeof(alpha), " opacity=\"%.3f\"", alpha_of(marks) / (double)ALPHAS);
		put(out, alpha);
	}
	put_path(out, marks, n, put_shape);
}

/* Return the number of bytes of the first N characters of a UTF-8 text. */
static size_t letters_end(const char *text, size_t bytes, uint32_t n)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		if (((uint8_t)text[i] & 0xc0) != 0x80 && !n--)
			break;
	return i;
}

/*
 * Write the text of mark M. Cut a label or type that is wider than the mark, and append an
 * ellipsis.
 */
static void put_cut(struct writer *out, const struct mprof_mark *m, const char *text)
{
	double room = (m->x1 - m->x0) / (double)SVG_LETTER;
	size_t end;

	if (m->kind != MPROF_MARK_LABEL && m->kind != MPROF_MARK_TYPE) {
		put_escaped(out, text, m->bytes);
		return;
	}
	end = letters_end(text, m->bytes, room > 1 ? (uint32_t)(room + 0.05) : 1);
	if (end < m->bytes || m->shade)
		end = letters_end(text, m->bytes, room > 2 ? (uint32_t)room - 1 : 1);
	put_escaped(out, text, end);
	if (end < m->bytes || m->shade)
		put(out, "\xe2\x80\xa6");
}

/* Write the text of mark M. HEIGHT is that of the picture. */
static void put_text(struct writer *out, const struct mprof_mark *m, const char *text, double height)
{
	double x = m->x0, y = m->y0;

	if (!m->bytes)
		return;
	if (m->kind == MPROF_MARK_LABEL)
		y -= LABEL_UP;
	else if (m->kind == MPROF_MARK_TYPE)
		y += TYPE_DOWN;
	else if (m->kind == MPROF_MARK_COUNTER_NAME)
		x = m->x1 - 2;
	else if (m->kind == MPROF_MARK_BAND_NAME)
		x = (m->x0 + m->x1) / 2;
	put(out, "<text ");
	put(out, m->kind == MPROF_MARK_GRID ? "class=\"ruler\"" : looks[m->kind].style);
	if (m->kind == MPROF_MARK_COUNTER_NAME) {
		put(out, " fill=\"");
		put(out, name_colours[m->shade % 4]);
		put(out, "\"");
	}
	put_number(out, " x=\"", m->kind == MPROF_MARK_GRID ? x + 3 : x);
	put_number(out, "\" y=\"", m->kind == MPROF_MARK_GRID ? height - RULER_UP : y);
	put(out, "\">");
	put_cut(out, m, text);
	put(out, "</text>\n");
}

static void put_top(const struct svg *svg)
{
	struct writer *out = svg->out;

	put_number(out,
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-labelledby=\"title desc\" width=\"",
		   svg->width);
	put_number(out, "\" height=\"", svg->height);
	put_number(out, "\" viewBox=\"0 0 ", svg->width);
	put_number(out, " ", svg->height);
	put(out, "\">\n<title id=\"title\">");
	put_escaped(out, svg->title, strlen(svg->title));
	put(out, "</title>\n<desc id=\"desc\">");
	put_escaped(out, svg->description, strlen(svg->description));
	put(out, "</desc>\n<style>\n"
		 "text{font:11px Verdana,\"DejaVu Sans\",sans-serif;stroke:#e6e6e6;stroke-opacity:.75;stroke-width:3;"
		 "stroke-linejoin:round;paint-order:stroke}\n"
		 ".label{fill:#000}.type{fill:#666}.ruler{fill:#333}.counter{font-weight:bold}"
		 ".band{fill:#fff;stroke:#999;stroke-opacity:.5}\n"
		 "</style>\n<defs>\n"
		 "<pattern id=\"gap\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">"
		 "<path d=\"M0 0H8V8H0z\" fill=\"#f2dfcb\"/>"
		 "<path d=\"M-2 2L2 -2M0 8L8 0M6 10L10 6\" stroke=\"#963\"/></pattern>\n"
		 "<pattern id=\"tail\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">"
		 "<path d=\"M-2 2L2 -2M0 8L8 0M6 10L10 6\" stroke=\"#888\" stroke-dasharray=\"2 2\"/></pattern>\n"
		 "</defs>\n");
	put_number(out, "<path fill=\"#e6e6e6\" d=\"M0 0H", svg->width);
	put_number(out, "V", svg->height);
	put(out, "H0z\"/>\n");
}

void svg_begin(const struct svg *svg)
{
	put_top(svg);
}

/* Write all texts after all lines, so that no line covers a text. */
void svg_picture(const struct svg *svg, const struct mprof_picture *picture, float top, float height, bool ruler)
{
	const struct mprof_mark *marks = picture->marks;
	uint32_t n;

	if (top > 0) {
		/* Nothing of the picture lies outside. */
		put_number(svg->out, "<svg y=\"", top);
		put_number(svg->out, "\" height=\"", height);
		put(svg->out, "\">\n");
	}
	put(svg->out, "<g fill=\"none\">\n");
	for (uint32_t i = 0; i < picture->n_marks; i += n) {
		for (n = 1; i + n < picture->n_marks && alike(&marks[i], &marks[i + n]);)
			n++;
		if (looks[marks[i].kind].shape != SHAPE_TEXT)
			put_marks(svg->out, marks + i, n);
	}
	put(svg->out, "</g>\n<g>\n");
	for (uint32_t i = 0; i < picture->n_marks; i++)
		if (ruler || marks[i].kind != MPROF_MARK_GRID)
			put_text(svg->out, &marks[i], picture->text + marks[i].text, height);
	put(svg->out, top > 0 ? "</g>\n</svg>\n" : "</g>\n");
}

void svg_end(const struct svg *svg)
{
	put(svg->out, "</svg>\n");
}
