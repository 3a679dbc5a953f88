/* Programs are told apart by their ELF headers. The file is anybody's: each offset is checked. */
#include "program.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCRIPTS_MAX  4 /* interpreters that are scripts */
#define SEGMENTS_MAX 128u
#define SECTIONS_MAX 4096u
#define NAMES_MAX    65536u

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

static bool read_at(int fd, void *to, size_t n, uint64_t at)
{
	return at <= INT64_MAX && pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

/* Open COMMAND as execvp() would find it. Return -1 if there is no such file. */
static int command_open(const char *command)
{
	const char *path = getenv("PATH");
	char *all, *save = NULL, *file;
	int fd = -1;

	if (strchr(command, '/'))
		return open(command, O_RDONLY | O_CLOEXEC);
	all = strdup(path ? path : "/bin:/usr/bin");
	for (char *dir = all ? strtok_r(all, ":", &save) : NULL; dir && fd < 0; dir = strtok_r(NULL, ":", &save)) {
		if (asprintf(&file, "%s/%s", dir, command) < 0)
			break;
		if (access(file, X_OK) == 0)
			fd = open(file, O_RDONLY | O_CLOEXEC);
		free(file);
	}
	free(all);
	return fd;
}

/* Return whether the file has a section that only Go's linker makes. */
static bool is_go(int fd, const ElfW(Ehdr) * header)
{
	ElfW(Shdr) section, names;
	char *text;
	bool found = false;

	if (header->e_shentsize != sizeof(section) || header->e_shnum > SECTIONS_MAX ||
	    !read_at(fd, &names, sizeof(names), header->e_shoff + (uint64_t)header->e_shstrndx * sizeof(section)) ||
	    names.sh_size > NAMES_MAX || !names.sh_size)
		return false;
	text = malloc(names.sh_size);
	if (text && read_at(fd, text, names.sh_size, names.sh_offset)) {
		text[names.sh_size - 1] = '\0';
		for (size_t i = 0; i < names.sh_size && !found; i += strlen(text + i) + 1)
			found = strcmp(text + i, ".go.buildinfo") == 0 || strcmp(text + i, ".note.go.buildid") == 0;
	}
	free(text);
	return found;
}

static enum program_kind elf_kind(int fd, const ElfW(Ehdr) * header)
{
	ElfW(Phdr) segment;
	char interpreter[256] = "";

	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != MACHINE)
		return PROGRAM_FOREIGN;
	if (is_go(fd, header))
		return PROGRAM_GO;
	for (uint64_t i = 0; i < header->e_phnum && i < SEGMENTS_MAX; i++) {
		if (!read_at(fd, &segment, sizeof(segment), header->e_phoff + i * sizeof(segment)))
			return PROGRAM_UNKNOWN;
		if (segment.p_type != PT_INTERP)
			continue;
		if (segment.p_filesz < sizeof(interpreter) &&
		    read_at(fd, interpreter, segment.p_filesz, segment.p_offset) && strstr(interpreter, "ld-linux"))
			return PROGRAM_DYNAMIC;
		return PROGRAM_FOREIGN;
	}
	return PROGRAM_STATIC;
}

enum program_kind program_kind(const char *command)
{
	char line[256], name[256];
	enum program_kind kind = PROGRAM_UNKNOWN;

	snprintf(name, sizeof(name), "%s", command);
	for (int i = 0; i < SCRIPTS_MAX; i++) {
		ElfW(Ehdr) header;
		int fd = command_open(name);
		ssize_t n;
		const char *interpreter;

		if (fd < 0)
			return PROGRAM_UNKNOWN;
		n = pread(fd, line, sizeof(line) - 1, 0);
		line[n > 0 ? n : 0] = '\0';
		if (n > 2 && line[0] == '#' && line[1] == '!') {
			close(fd);
			interpreter = strtok(line + 2, " \t\n");
			if (!interpreter)
				return PROGRAM_UNKNOWN;
			snprintf(name, sizeof(name), "%s", interpreter);
			continue;
		}
		if (read_at(fd, &header, sizeof(header), 0) && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0)
			kind = elf_kind(fd, &header);
		close(fd);
		return kind;
	}
	return PROGRAM_UNKNOWN;
}
