/* Read and replace the files of the forwarder's state. Each has one line. */
#include "own-state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "regular.h"

#define EPOCH  "hub-epoch"
#define MEMORY "memory-part"
#define PIECES "hub-packets"
#define LINE   96u

/* Read the first line of the file NAME in DIRECTORY; "" if there is none. Return whether the file may be there. */
static bool read_line(const char *directory, const char *name, char line[LINE])
{
	CLEANUP(freep) char *path = NULL;
	CLEANUP(fclosep) FILE *f = NULL;

	int r;

	line[0] = '\0';
	if (asprintf(&path, "%s/%s", directory, name) < 0) {
		path = NULL;
		return true;
	}
	r = regular_open(path, &f);
	if (r != 0 || !fgets(line, LINE, f))
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return r != -ENOENT;
}

static int write_file(const char *path, const char *line)
{
	FILE *f = fopen(path, "we");
	int r;

	if (!f)
		return -errno;
	r = fprintf(f, "%s\n", line) < 0 || fflush(f) != 0 || fsync(fileno(f)) < 0 ? -errno : 0;
	return fclose(f) != 0 && r == 0 ? -errno : r;
}

static int write_line(const char *directory, const char *name, const char *line)
{
	CLEANUP(freep) char *path = NULL, *fresh = NULL;
	int r;

	if (asprintf(&path, "%s/%s", directory, name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (asprintf(&fresh, "%s.new", path) < 0) {
		fresh = NULL;
		return -ENOMEM;
	}
	r = write_file(fresh, line);
	if (r == 0 && rename(fresh, path) < 0)
		r = -errno;
	return r;
}

bool own_state_read(const char *directory, char epoch[HUB_UUID_BYTES])
{
	char line[LINE];
	bool is_there = read_line(directory, EPOCH, line);

	epoch[0] = '\0';
	if (strlen(line) == HUB_UUID_BYTES - 1 && strspn(line, "0123456789abcdef-") == HUB_UUID_BYTES - 1)
		memcpy(epoch, line, HUB_UUID_BYTES);
	return is_there;
}

int own_state_write(const char *directory, const char *epoch)
{
	return write_line(directory, EPOCH, epoch);
}

bool own_state_memory_read(const char *directory, int64_t capture, struct memory_part *memory)
{
	int64_t chosen, recording;
	uint64_t bytes;
	char line[LINE];
	int has_ended = 0; /* a line of an earlier version does not say it */

	read_line(directory, MEMORY, line);
	if (sscanf(line, "%" SCNd64 " %" SCNd64 " %" SCNu64 " %d", &chosen, &recording, &bytes, &has_ended) < 3 ||
	    chosen != capture || recording < 0)
		return false;
	*memory = (struct memory_part){recording, bytes, has_ended == 1};
	return true;
}

int own_state_memory_write(const char *directory, int64_t capture, const struct memory_part *memory)
{
	char line[LINE];

	snprintf(line, sizeof(line), "%" PRId64 " %" PRId64 " %" PRIu64 " %d", capture, memory->recording,
		 memory->bytes, memory->has_ended);
	return write_line(directory, MEMORY, line);
}

bool own_state_pieces_read(const char *directory, char keeps_since[HUB_MONTH_BYTES], uint64_t *pieces)
{
	char line[LINE];

	read_line(directory, PIECES, line);
	return sscanf(line, "%10s %" SCNu64, keeps_since, pieces) == 2;
}

int own_state_pieces_write(const char *directory, const char *keeps_since, uint64_t pieces)
{
	char line[LINE];

	snprintf(line, sizeof(line), "%s %" PRIu64, keeps_since, pieces);
	return write_line(directory, PIECES, line);
}
