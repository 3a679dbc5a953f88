/*
 * Mangled names. The C++ library that a program needs has the function that reads them; a machine
 * without it runs no program with such names, so it is loaded when the first one comes.
 */
#include "demangle.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MOST 96u /* bytes; arguments of templates are left out of a longer name */
#define RUST_HASH 19u /* "::h" and 16 hexadecimal digits, which the compiler appends */

/* The function of the ABI of C++, which allocates its result. */
typedef char *demangler(const char *name, char *buffer, size_t *size, int *status);

static demangler *demangler_get(void)
{
	static bool tried;
	static demangler *found;
	void *library;

	if (tried)
		return found;
	tried = true;
	library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	if (library)
		*(void **)&found = dlsym(library, "__cxa_demangle");
	return found;
}

/* Cut the parameters, and what stands behind them, off NAME. Return whether there were some. */
static bool parameters_cut(char *name)
{
	char *p = strrchr(name, ')');
	int depth = 0;

	for (; p && p > name; p--) {
		depth += *p == ')' ? 1 : *p == '(' ? -1 : 0;
		if (!depth)
			break;
	}
	if (!p || p == name)
		return false;
	*p = '\0';
	return true;
}

/* Return NAME behind the type that an instance of a template returns. */
static const char *behind_result(const char *name)
{
	const char *last = name;
	int depth = 0;

	if (strstr(name, "operator"))
		return name;
	for (const char *p = name; *p; p++) {
		depth += strchr("<({", *p) ? 1 : strchr(">)}", *p) ? -1 : 0;
		if (*p == ' ' && depth == 0)
			last = p + 1;
	}
	return last;
}

/* Leave the arguments of templates out of NAME. */
static void arguments_cut(char *name)
{
	char *to = name;
	int depth = 0;

	if (strstr(name, "operator"))
		return;
	for (const char *p = name; *p; p++) {
		depth -= *p == '>' && depth;
		if (!depth)
			*to++ = *p;
		depth += *p == '<';
	}
	*to = '\0';
}

static void hash_cut(char *name)
{
	size_t n = strlen(name);

	if (n <= RUST_HASH || strncmp(name + n - RUST_HASH, "::h", 3) != 0)
		return;
	for (size_t i = n - RUST_HASH + 3; i < n; i++)
		if (!isxdigit((unsigned char)name[i]))
			return;
	name[n - RUST_HASH] = '\0';
}

void demangle(const char *name, bool function, char *text, size_t size)
{
	demangler *read = strncmp(name, "_Z", 2) == 0 ? demangler_get() : NULL;
	int status = 0;
	char *plain = read ? read(name, NULL, NULL, &status) : NULL;
	const char *shown = name;

	if (plain) {
		hash_cut(plain);
		function |= parameters_cut(plain);
		if (strlen(plain) > NAME_MOST)
			arguments_cut(plain);
		shown = behind_result(plain);
	}
	snprintf(text, size, "%s%s", shown, function ? "()" : "");
	free(plain);
}
