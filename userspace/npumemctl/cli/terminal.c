/* SPDX-License-Identifier: MIT */
/* How wide the terminal is that text goes to, and text that is cut to fit. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"

/* A terminal that does not know its width has this one, in characters. */
#define USUAL_WIDTH  80
/* And so many lines. */
#define USUAL_HEIGHT 24

unsigned int terminal_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	unsigned long said;
	char *end;

	if (columns) {
		said = strtoul(columns, &end, 10);
		if (*columns && !*end && said && said <= 10000)
			return (unsigned int)said;
	}
	return isatty(fd) ? terminal_columns(fd) : 0;
}

unsigned int terminal_columns(int fd)
{
	struct winsize size = { 0 };

	return ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col ? USUAL_WIDTH : size.ws_col;
}

unsigned int terminal_height(int fd)
{
	struct winsize size = { 0 };

	return ioctl(fd, TIOCGWINSZ, &size) || size.ws_row < 2 ? USUAL_HEIGHT : size.ws_row;
}

bool terminal_rewrites(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

/* Places that a character takes: at most, where it may be a wide one. */
static unsigned int places(uint32_t character)
{
	return character < 0x1100 ? 1 : 2;
}

/* Bytes of the beginning of @line, of @length bytes, that take at most @width places. */
static size_t fitting(const char *line, size_t length, unsigned int width)
{
	size_t used = 0;

	while (used < length) {
		uint32_t character = 0;
		size_t bytes = utf8_character(line + used, &character);

		if (places(character) > width)
			break;
		width -= places(character);
		used += bytes ? bytes : 1;
	}
	return used < length ? used : length;
}

void print_cut(FILE *out, const char *text, unsigned int width)
{
	while (*text) {
		size_t length = strcspn(text, "\n"), kept = fitting(text, length, width);

		if (kept < length && width > 3)
			fprintf(out, "%.*s...", (int)fitting(text, length, width - 3), text);
		else
			fwrite(text, 1, kept, out);
		text += length;
		if (*text)
			fputc(*text++, out);
	}
}
