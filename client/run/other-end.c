/*
 * Other ends of descriptors, and children, as /proc and the kernel tell them: proc(5), sock_diag(7).
 *
 * Processes come and go while this reads: what it finds was so a moment ago.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "other-end.h"

#define PROCESSES_MAX	1024u /* processes whose descriptors are looked at */
#define RELATIVES_MAX	64u   /* of these the first ones: parents, siblings, children and their children */
#define DESCRIPTORS_MAX 16384u
#define CHILDREN_MAX	256u
#define TABLE_BYTES	(4u << 20) /* of the kernel's table of TCP sockets */
#define WATCHED_SHOWN	3u	   /* descriptors of epoll that are named */
#define ADDRESS_BYTES	64u
#define ANY_MODE	O_ACCMODE

/* A search for the descriptors that are the file TARGET. */
struct search {
	const char *target;
	int mode; /* O_RDONLY or O_WRONLY: those that can read or write; ANY_MODE = all */
	uint32_t processes, descriptors;
	bool cut; /* a process was not looked at, or not wholly */
	struct other_end *end;
};

/* Return the number that is the name of ENTRY, or 0. */
static uint32_t number_of(const struct dirent *entry)
{
	char *rest;
	unsigned long n = isdigit((unsigned char)entry->d_name[0]) ? strtoul(entry->d_name, &rest, 10) : 0;

	return n && n <= INT32_MAX && !*rest ? (uint32_t)n : 0;
}

/* Write to TEXT (SIZE bytes) what the descriptor FD of PID is. Return false if there is none. */
static bool link_read(pid_t pid, uint32_t fd, char *text, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%" PRIu32, (int)pid, fd);
	n = readlink(path, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Read the file PATH to TEXT (SIZE bytes), with a NUL behind it. Return the number of bytes. */
static size_t file_read(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, size - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = '\0';
	return n;
}

/* Return whether the descriptor FD of PID can do what MODE says. */
static bool mode_fits(pid_t pid, uint32_t fd, int mode)
{
	char path[64], text[512];
	const char *flags;
	int has;

	if (mode == ANY_MODE)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%" PRIu32, (int)pid, fd);
	file_read(path, text, sizeof(text));
	flags = strstr(text, "flags:");
	if (!flags)
		return false;
	has = (int)(strtoul(flags + strlen("flags:"), NULL, 8) & O_ACCMODE);
	return has == O_RDWR || has == mode;
}

/* Look for the file among the descriptors of PID. */
static void process_search(struct search *s, pid_t pid)
{
	char path[64], text[OTHER_END_TEXT];
	struct dirent *e;
	uint32_t fd;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	s->cut = s->cut || (!d && errno == EACCES);
	if (!d)
		return;
	s->processes++;
	while (s->descriptors < DESCRIPTORS_MAX && (e = readdir(d))) {
		fd = number_of(e);
		s->descriptors++;
		if ((!fd && strcmp(e->d_name, "0") != 0) || !link_read(pid, fd, text, sizeof(text)) ||
		    strcmp(text, s->target) != 0 || !mode_fits(pid, fd, s->mode))
			continue;
		if (s->end->pid)
			s->end->more++;
		else
			*s->end = (struct other_end){.pid = pid, .fd = fd};
	}
	s->cut = s->cut || s->descriptors == DESCRIPTORS_MAX;
	closedir(d);
}

/* Append the children of the process PID to the N processes at LIST, which has room for MOST. Return their number. */
static uint32_t children_append(pid_t pid, pid_t *list, uint32_t n, uint32_t most)
{
	char path[64], text[4096], *at, *rest;
	struct dirent *e;
	uint32_t tasks = 0;
	long child;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d && n < most && tasks < PROCESSES_MAX && (e = readdir(d))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%" PRIu32 "/children", (int)pid, number_of(e));
		tasks++;
		if (!number_of(e) || !file_read(path, text, sizeof(text)))
			continue;
		for (at = text; n < most && (child = strtol(at, &rest, 10)) > 0; at = rest)
			list[n++] = (pid_t)child;
	}
	if (d)
		closedir(d);
	return n;
}

/* Return the parent of the process PID, or 0. */
static pid_t parent_of(pid_t pid)
{
	char path[64], text[512];
	const char *behind;
	int parent;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file_read(path, text, sizeof(text));
	behind = strrchr(text, ')');
	return behind && sscanf(behind, ") %*c %d", &parent) == 1 && parent > 0 ? (pid_t)parent : 0;
}

/* Store the relatives of the process PID in LIST (RELATIVES_MAX), the nearest first. Return their number. */
static uint32_t relatives_find(pid_t pid, pid_t *list)
{
	pid_t parent = parent_of(pid);
	uint32_t n = children_append(pid, list, 0, RELATIVES_MAX), children = n;

	if (parent && n < RELATIVES_MAX)
		list[n++] = parent;
	if (parent > 1)
		n = children_append(parent, list, n, RELATIVES_MAX);
	for (uint32_t i = 0; i < children && n < RELATIVES_MAX; i++)
		n = children_append(list[i], list, n, RELATIVES_MAX);
	return n;
}

static bool is_listed(const pid_t *list, uint32_t n, pid_t pid)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i] == pid)
			return true;
	return false;
}

/*
 * Find the descriptors that are TARGET, first those of processes other than PID. The relatives of PID are looked at before all others:
 * these may have more descriptors than a search looks at. Return false if there is none.
 */
static bool holders_find(pid_t pid, const char *target, int mode, struct other_end *end)
{
	struct search s = {.target = target, .mode = mode, .end = end};
	pid_t other, relatives[RELATIVES_MAX + 1];
	uint32_t n = relatives_find(pid, relatives);
	struct dirent *e;
	DIR *d;

	*end = (struct other_end){0};
	for (uint32_t i = 0; i < n; i++)
		if (relatives[i] != pid && relatives[i] != getpid() && !is_listed(relatives, i, relatives[i]))
			process_search(&s, relatives[i]);
	relatives[n++] = pid;
	d = opendir("/proc");
	while (d && s.processes < PROCESSES_MAX && (e = readdir(d))) {
		other = (pid_t)number_of(e);
		if (other && other != getpid() && !is_listed(relatives, n, other))
			process_search(&s, other);
	}
	s.cut = s.cut || !d || s.processes == PROCESSES_MAX;
	if (d)
		closedir(d);
	s.descriptors = 0;
	process_search(&s, pid);
	snprintf(end->text, sizeof(end->text), "%s", target);
	end->cut = s.cut;
	return end->pid;
}

/* ---- sockets ---- */

/* Return the inode of the socket to which the kernel's answer of N bytes at HEADER says that another is connected, or 0. */
static uint32_t unix_peer_parse(const struct nlmsghdr *header, size_t n)
{
	const struct unix_diag_msg *answer = NLMSG_DATA(header);
	const struct rtattr *attribute;
	size_t left;
	uint32_t peer;

	if (!NLMSG_OK(header, n) || header->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    header->nlmsg_len < NLMSG_LENGTH(sizeof(*answer)))
		return 0;
	left = header->nlmsg_len - NLMSG_LENGTH(sizeof(*answer));
	for (attribute = (const struct rtattr *)(answer + 1); RTA_OK(attribute, left);
	     attribute = RTA_NEXT(attribute, left))
		if (attribute->rta_type == UNIX_DIAG_PEER && RTA_PAYLOAD(attribute) >= sizeof(peer)) {
			memcpy(&peer, RTA_DATA(attribute), sizeof(peer));
			return peer;
		}
	return 0;
}

/* Return the inode of the socket to which the local socket INODE is connected, or 0. */
static uint32_t unix_peer(uint32_t inode)
{
	struct {
		struct nlmsghdr header;
		struct unix_diag_req request;
	} question = {
		.header = {.nlmsg_len = sizeof(question),
			   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			   .nlmsg_flags = NLM_F_REQUEST},
		.request = {.sdiag_family = AF_UNIX,
			    .udiag_states = UINT32_MAX,
			    .udiag_ino = inode,
			    .udiag_show = UDIAG_SHOW_PEER,
			    .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
	};
	union {
		struct nlmsghdr header;
		char bytes[4096];
	} answer;
	int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	ssize_t n = -1;

	/* The kernel answers a question about one socket before send() returns. */
	if (s >= 0 && send(s, &question, sizeof(question), 0) == (ssize_t)sizeof(question))
		n = recv(s, &answer, sizeof(answer), MSG_DONTWAIT);
	if (s >= 0)
		close(s);
	return n > 0 ? unix_peer_parse(&answer.header, (size_t)n) : 0;
}

/*
 * Write to TEXT the address and port at HEX, in the form of /proc/net/tcp: 32-bit words of the host's byte order, and the port. An IPv4
 * address in IPv6 is written as the former, so that both ends of a connection are written alike.
 */
static bool address_parse(const char *hex, char text[ADDRESS_BYTES])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const char *colon = strchr(hex, ':');
	size_t words = colon ? (size_t)(colon - hex) / 8 : 0;
	uint8_t b[16];
	char word[9] = "";
	uint32_t value;
	unsigned long port;
	int n = 0;

	if (words != 1 && words != 4)
		return false;
	for (size_t i = 0; i < words; i++) {
		memcpy(word, hex + 8 * i, 8);
		value = (uint32_t)strtoul(word, NULL, 16);
		memcpy(b + 4 * i, &value, 4);
	}
	port = strtoul(colon + 1, NULL, 16);
	if (words == 1 || memcmp(b, mapped, sizeof(mapped)) == 0) {
		const uint8_t *v4 = b + 4 * (words - 1);

		snprintf(text, ADDRESS_BYTES, "%d.%d.%d.%d:%lu", v4[0], v4[1], v4[2], v4[3], port);
		return true;
	}
	for (size_t i = 0; i < sizeof(b); i += 2)
		n += snprintf(text + n, ADDRESS_BYTES - (size_t)n, "%s%x", i ? ":" : "[",
			      (unsigned)(b[i] << 8 | b[i + 1]));
	snprintf(text + n, ADDRESS_BYTES - (size_t)n, "]:%lu", port);
	return true;
}

/* A connection of TCP, as the kernel's table has it. */
struct connection {
	char local[ADDRESS_BYTES], remote[ADDRESS_BYTES];
	uint64_t inode;
};

/* Parse the line LINE of the table. */
static bool connection_parse(const char *line, struct connection *c)
{
	char local[ADDRESS_BYTES], remote[ADDRESS_BYTES];

	return sscanf(line, " %*[^:]: %63s %63s %*s %*s %*s %*s %*s %*s %" SCNu64, local, remote, &c->inode) == 3 &&
	       address_parse(local, c->local) && address_parse(remote, c->remote);
}

/*
 * Find in the table TEXT the connection whose inode is that of WANTED, if that is not 0, else the one whose ends are those of WANTED
 * exchanged. Store it in *FOUND.
 */
static bool connection_find(const char *text, const struct connection *wanted, struct connection *found)
{
	/* The first line has the names of the columns. */
	for (const char *line = strchr(text, '\n'); line; line = strchr(line, '\n')) {
		line++;
		if (connection_parse(line, found) &&
		    (wanted->inode
			     ? found->inode == wanted->inode
			     : strcmp(found->local, wanted->remote) == 0 && strcmp(found->remote, wanted->local) == 0))
			return true;
	}
	return false;
}

/* Find the socket INODE of PID's network, and the socket at the other end: in *NEAR and *FAR, whose inode is 0 if it is not here. */
static bool connection_ends(pid_t pid, uint64_t inode, struct connection *near, struct connection *far)
{
	static const char *const names[] = {"tcp", "tcp6"};
	const struct connection wanted = {.inode = inode};
	struct connection ends;
	char *tables[2], path[64];
	bool found = false;

	far->inode = 0;
	for (int i = 0; i < 2; i++) {
		tables[i] = malloc(TABLE_BYTES);
		snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, names[i]);
		if (tables[i])
			file_read(path, tables[i], TABLE_BYTES);
		found = found || (tables[i] && connection_find(tables[i], &wanted, near));
	}
	ends = *near;
	ends.inode = 0;
	for (int i = 0; i < 2; i++) {
		if (found && !far->inode && tables[i] && !connection_find(tables[i], &ends, far))
			far->inode = 0;
		free(tables[i]);
	}
	return found;
}

/* Store in *END the other end of the socket INODE of PID. */
static bool socket_find(pid_t pid, uint64_t inode, struct other_end *end)
{
	struct connection near = {0}, far = {0};
	char target[OTHER_END_TEXT];
	uint32_t peer_inode = inode <= UINT32_MAX ? unix_peer((uint32_t)inode) : 0;

	if (peer_inode) {
		snprintf(target, sizeof(target), "socket:[%" PRIu32 "]", peer_inode);
		return holders_find(pid, target, ANY_MODE, end);
	}
	if (!connection_ends(pid, inode, &near, &far) || strcmp(strrchr(near.remote, ':'), ":0") == 0)
		return false;
	snprintf(target, sizeof(target), "socket:[%" PRIu64 "]", far.inode);
	if (!far.inode || !holders_find(pid, target, ANY_MODE, end))
		*end = (struct other_end){0};
	snprintf(end->text, sizeof(end->text), "%s", near.remote);
	return true;
}

bool other_end_find(pid_t pid, uint32_t fd, bool writes, struct other_end *end)
{
	static const char sockets[] = "socket:[", pipes[] = "pipe:[";
	char target[OTHER_END_TEXT];

	if (!link_read(pid, fd, target, sizeof(target)))
		return false;
	if (strncmp(target, pipes, sizeof(pipes) - 1) == 0)
		return holders_find(pid, target, writes ? O_RDONLY : O_WRONLY, end);
	if (strncmp(target, sockets, sizeof(sockets) - 1) == 0)
		return socket_find(pid, strtoull(target + sizeof(sockets) - 1, NULL, 10), end);
	return false;
}

/* ---- epoll ---- */

/* Append to TEXT (SIZE bytes) the descriptor FD of PID, which epoll watches for EVENTS. */
static void watched_append(pid_t pid, uint32_t fd, unsigned long events, char *text, size_t size)
{
	char target[OTHER_END_TEXT];
	size_t n = strlen(text);

	if (!link_read(pid, fd, target, sizeof(target)))
		target[0] = '\0';
	snprintf(text + n, size - n, "%sfd %" PRIu32 "%s%s%s", n ? ", " : "", fd, target[0] ? " " : "", target,
		 events & EPOLLET ? " (edge-triggered)" : "");
}

bool other_end_watched(pid_t pid, uint32_t fd, char *text, size_t size)
{
	static const char entry[] = "\ntfd:";
	char path[64], target[OTHER_END_TEXT], info[8192];
	uint32_t n = 0, watched;
	unsigned long events;
	size_t bytes;

	*text = '\0';
	if (!link_read(pid, fd, target, sizeof(target)) || strcmp(target, "anon_inode:[eventpoll]") != 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%" PRIu32, (int)pid, fd);
	bytes = file_read(path, info, sizeof(info));
	for (const char *at = strstr(info, entry); at; at = strstr(at + 1, entry)) {
		if (sscanf(at + sizeof(entry) - 1, "%" SCNu32 " events: %lx", &watched, &events) != 2)
			continue;
		if (n++ < WATCHED_SHOWN)
			watched_append(pid, watched, events, text, size);
	}
	if (n > WATCHED_SHOWN)
		snprintf(text + strlen(text), size - strlen(text), ", and %s%" PRIu32 " more",
			 bytes == sizeof(info) - 1 ? "at least " : "", n - WATCHED_SHOWN);
	return n;
}

/* ---- children ---- */

/*
 * Store in *CHILD the process for whose end the thread TID of PID waits, as its system call says, or 0 for any child. Return
 * false if the call is for some of the children, or no such call.
 */
static bool child_named(pid_t pid, pid_t tid, pid_t *child)
{
	char path[64], text[256];
	long number;
	unsigned long first, second;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	file_read(path, text, sizeof(text));
	if (sscanf(text, "%ld %lx %lx", &number, &first, &second) != 3)
		return false;
	if (number == SYS_wait4) {
		*child = (int32_t)first > 0 ? (int32_t)first : 0;
		return (int32_t)first > 0 || (int32_t)first == -1;
	}
	*child = first == P_PID ? (int32_t)second : 0;
	return number == SYS_waitid && (first == P_PID || first == P_ALL);
}

pid_t other_end_child(pid_t pid, pid_t tid, uint32_t *more)
{
	pid_t child, children[CHILDREN_MAX];
	uint32_t n;

	*more = 0;
	if (!child_named(pid, tid, &child))
		return 0;
	if (child)
		return child;
	n = children_append(pid, children, 0, CHILDREN_MAX);
	*more = n ? n - 1 : 0;
	return n ? children[0] : 0;
}

void other_end_name(pid_t pid, char *name, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	file_read(path, name, size);
	name[strcspn(name, "\n")] = '\0';
}
