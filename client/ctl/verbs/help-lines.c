#include <string.h>

#include "help-lines.h"
#include "options.h"

bool help_line_next(const char **text, const char **line, size_t *len)
{
	*line = *text;
	*len = strcspn(*text, "\n");
	*text += *len + ((*text)[*len] == '\n');
	return *line != *text;
}

bool help_line_is_option(const char *line, size_t len)
{
	return len > 3 && strncmp(line, "  -", 3) == 0;
}

const char *help_line_what(const char *line, size_t len, size_t *what_len)
{
	const char *gap = memmem(line + 2, len - 2, "  ", 2), *text = line + len;

	if (!gap && *text++) {
		len = strcspn(text, "\n");
		gap = text;
		line = text;
	}
	if (!gap)
		gap = line + len;
	*what_len = len - (size_t)(gap - line);
	while (*what_len && *gap == ' ') {
		gap++;
		--*what_len;
	}
	return gap;
}

size_t help_word_len(const char *word)
{
	return strcspn(word, " ,\n");
}

/* Is there a word in capitals behind the option NAME somewhere in TEXT?  Then it takes a value. */
static const char *value_in(const char *text, const char *name)
{
	size_t len = strlen(name);

	while (text && (text = strstr(text, name))) {
		text += len;
		if (text[0] == ' ' && text[1] >= 'A' && text[1] <= 'Z')
			return text + 1;
	}
	return NULL;
}

const char *help_value(const char *verb, const char *option)
{
	const char *value;

	if (strcmp(option, "-o") == 0)
		option = "--output";
	value = verb ? value_in(help_text(verb), option) : NULL;
	return value ? value : value_in(help_text(NULL), option);
}
