#include "options.h"

#include <stdio.h>

bool option_directory(const char *program, const char *option, const char *value)
{
	if (*value)
		return true;
	fprintf(stderr, "%s: %s is empty: write a directory, or leave the option out for the default\n", program,
		option);
	return false;
}
