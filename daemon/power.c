// SPDX-License-Identifier: MIT
#include "power.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Whether a file of a supply has just this word in it. */
static bool says(int dir, const char *name, const char *word)
{
	size_t length = strlen(word);
	char text[64];
	ssize_t n;
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text));
	close(fd);
	return n >= (ssize_t)length && !memcmp(text, word, length) &&
	       (n == (ssize_t)length || text[length] == '\n');
}

bool power_is_battery(const char *folder)
{
	DIR *list = opendir(folder);
	const struct dirent *entry;
	bool battery = false;
	int at = list ? dirfd(list) : -1;

	if (at < 0)
		return false;
	while (!battery && (entry = readdir(list))) {
		int dir;

		if (entry->d_name[0] == '.')
			continue;
		dir = openat(at, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			continue;
		/* A mouse has a battery, too: of scope "Device". */
		battery = says(dir, "type", "Battery") && says(dir, "status", "Discharging") &&
			  !says(dir, "scope", "Device");
		close(dir);
	}
	closedir(list);
	return battery;
}
