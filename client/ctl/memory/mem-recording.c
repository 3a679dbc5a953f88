/* Of one that grows it is what was there when it was asked for: all that is asked of it is asked of the same bytes. */
#include "mem-recording.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "download.h"
#include "scope.h"
#include "spool.h"

#define PREFIX "recording:"

static bool is_number(const char *s)
{
	return s[0] && strspn(s, "0123456789") == strlen(s) && strlen(s) <= 18;
}

bool mem_recording_is(const char *operand, const char **id)
{
	struct stat st;
	bool forced = strncmp(operand, PREFIX, strlen(PREFIX)) == 0;

	*id = forced ? operand + strlen(PREFIX) : operand;
	return forced || (is_number(operand) && stat(operand, &st) != 0);
}

int mem_recording_id(const char *operand, const char **id)
{
	*id = strncmp(operand, PREFIX, strlen(PREFIX)) == 0 ? operand + strlen(PREFIX) : operand;
	return is_number(*id) ? CTL_OK : say_usage("mem", "\"%s\" is not a recording's id, which is a number", *id);
}

static int put(void *data, const uint8_t *bytes, size_t len)
{
	const int *fd = data;

	while (len) {
		ssize_t n = write(*fd, bytes, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		n = n < 0 ? 0 : n;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

static int start_over(void *data)
{
	const int *fd = data;

	return ftruncate(*fd, 0) < 0 || lseek(*fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

int mem_recording_fetch(const char *host, const char *id, int *fd)
{
	SCOPED(http_close) struct http h = {.signals = -1};
	SCOPED(download_deinit) struct download d = {.write = put, .start_over = start_over, .data = fd};
	char path[64];
	int r;

	r = mem_recording_id(id, &id);
	if (r)
		return r;
	snprintf(path, sizeof(path), "/v1/memtraces/%s/data", id);
	r = http_open(&h, host);
	if (r)
		return r;
	*fd = spool_file();
	if (*fd < 0) {
		say("cannot write a file aside: %s; TMPDIR says where", strerror(-*fd));
		return CTL_FAILED;
	}
	r = download_run(&d, &h, path);
	if (r && d.refused)
		say("cannot write what was fetched aside: %s; TMPDIR says where", strerror(-d.refused));
	return r;
}
