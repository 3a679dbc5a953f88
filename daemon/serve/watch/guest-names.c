/* The table of guest names is a tree of the C library, ordered by the texts. */
#include <errno.h>
#include <search.h>
#include <string.h>

#include "guest-names.h"

struct guest_names {
	void *tree;	   /* of pointers to the texts of names */
	size_t count;	   /* names in the tree; each references the table */
	size_t references; /* COUNT, and one of the owner */
};

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static struct guest_name *name_of(const char *text)
{
	return (struct guest_name *)(text - offsetof(struct guest_name, text));
}

struct guest_names *guest_names_new(void)
{
	struct guest_names *names = calloc(1, sizeof(*names));

	if (names)
		names->references = 1;
	return names;
}

struct guest_names *guest_names_free(struct guest_names *names)
{
	if (names && --names->references == 0)
		free(names);
	return NULL;
}

size_t guest_names_count(const struct guest_names *names)
{
	return names->count;
}

static int name_add(struct guest_names *names, const char *text, struct guest_name **added)
{
	size_t bytes = strlen(text) + 1;
	struct guest_name *name = malloc(sizeof(*name) + bytes);

	if (!name)
		return -ENOMEM;
	*name = (struct guest_name){.references = 1, .names = names};
	memcpy(name->text, text, bytes);
	if (!tsearch(name->text, &names->tree, compare)) {
		free(name);
		return -ENOMEM;
	}
	names->count++;
	names->references++;
	*added = name;
	return 0;
}

int guest_name_get(struct guest_names *names, const char *text, struct guest_name **name)
{
	/* A node of the tree begins with its key. */
	char *const *found = text ? tfind(text, &names->tree, compare) : NULL;

	*name = found ? guest_name_ref(name_of(*found)) : NULL;
	return text && !found ? name_add(names, text, name) : 0;
}

struct guest_name *guest_name_ref(struct guest_name *name)
{
	if (name)
		name->references++;
	return name;
}

struct guest_name *guest_name_unref(struct guest_name *name)
{
	if (!name || --name->references)
		return NULL;
	tdelete(name->text, &name->names->tree, compare);
	name->names->count--;
	guest_names_free(name->names);
	free(name);
	return NULL;
}
