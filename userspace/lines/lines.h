/* SPDX-License-Identifier: MIT */
/*
 * Text that is read line by line, where a line has a limit: a file that never ends its line, such
 * as /dev/zero, is refused before it takes all memory, as getline() would let it.
 *
 * Header only; used by npumemctl.
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/**
 * struct lines - a file, and the line that was read last; begin with @in and @most alone
 * @in: the file
 * @most: bytes that a line may have, without the one that ends it
 * @text: the line with what ends it, and a NUL behind
 * @length: bytes of @text, without that NUL
 * @number: of the line, from 1 on
 * @room: bytes that @text has room for
 */
struct lines {
	FILE *in;
	size_t most;
	char *text;
	size_t length;
	unsigned long number;
	size_t room;
};

/* Room for one more byte, and a NUL behind. */
static inline int lines_grow(struct lines *lines)
{
	size_t room = lines->room ? 2 * lines->room : 256;
	char *text;

	if (lines->length + 1 < lines->room)
		return 0;
	text = realloc(lines->text, room);
	if (!text)
		return -ENOMEM;
	lines->text = text;
	lines->room = room;
	return 0;
}

/**
 * lines_next() - read the next line into @lines->text
 * @lines: see struct lines
 *
 * Returns 1, or 0 at the end of the file. -E2BIG: the line is longer than @lines->most, and
 * @lines->number is its own; -ENOMEM, or what reading has failed with. After an error @lines->text
 * is no line, and nothing more can be read, but after -E2BIG and lines_skip().
 */
static inline int lines_next(struct lines *lines)
{
	int c = 0, err = 0;

	lines->length = 0;
	lines->number++;
	flockfile(lines->in);
	while (!err && c != '\n') {
		errno = 0;
		c = getc_unlocked(lines->in);
		if (c == EOF)
			break;
		if (c != '\n' && lines->length == lines->most)
			err = -E2BIG;
		else
			err = lines_grow(lines);
		if (!err)
			lines->text[lines->length++] = (char)c;
	}
	if (!err && c == EOF && ferror(lines->in))
		err = errno ? -errno : -EIO;
	funlockfile(lines->in);
	if (err || !lines->length)
		return err;
	lines->text[lines->length] = '\0';
	return 1;
}

/**
 * lines_skip() - after -E2BIG: leave out what is left of that line
 * @lines: see struct lines
 * @most: bytes that may be left of it, with the one that ends it
 *
 * Returns 0, also if the file ends before the line does; -E2BIG if more is left, or what reading
 * has failed with.
 */
static inline int lines_skip(struct lines *lines, size_t most)
{
	int c = 0;

	flockfile(lines->in);
	errno = 0;
	while (most && c != '\n' && c != EOF) {
		c = getc_unlocked(lines->in);
		most--;
	}
	funlockfile(lines->in);
	if (c == EOF && ferror(lines->in))
		return errno ? -errno : -EIO;
	return c == '\n' || c == EOF ? 0 : -E2BIG;
}

/** lines_free() - free the line; the file stays open */
static inline void lines_free(struct lines *lines)
{
	free(lines->text);
	lines->text = NULL;
	lines->room = 0;
}
