/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target without libFuzzer: every file of a corpus, then seeded,
 * bounded mutations of them, so that `make check` fuzzes a little each time.
 *
 * usage: TARGET [-n MUTATIONS] [-s SEED] [-o CRASH_FILE] FILE|FOLDER...
 *
 * The seed is printed; the same seed and corpus give the same inputs. An input
 * that crashes, aborts or takes longer than 20 seconds is written to
 * CRASH_FILE (./crash-TARGET by default). TAP on standard output: one test for
 * the corpus, one for the mutations.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "random.h"

#define INPUT_BYTES	 (1u << 20)
#define SECONDS_AN_INPUT 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Of the sanitizers, if they are there: called before they end the process. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

struct input {
	uint8_t *data;
	size_t size;
};

static struct input *corpus;
static size_t corpus_count;
static struct input current;
static const char *crash_file;
static uint64_t random_state;

/* Async-signal-safe. */
static void save_current(void)
{
	int fd = open(crash_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	size_t done = 0;

	while (fd >= 0 && done < current.size) {
		ssize_t got = write(fd, current.data + done, current.size - done);

		if (got <= 0)
			break;
		done += (size_t)got;
	}
	if (fd >= 0)
		close(fd);
}

static void on_signal(int signal_number)
{
	static const char text[] = "not ok - an input crashed or hung; see the crash file\n";

	save_current();
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(1);
	signal(signal_number, SIG_DFL);
	raise(signal_number == SIGALRM ? SIGABRT : signal_number);
}

static size_t below(size_t limit)
{
	return limit ? (size_t)(random_next(&random_state) % limit) : 0;
}

static void run(const uint8_t *data, size_t size)
{
	/* Of exactly its size, so that reads beyond it are seen. */
	current.data = malloc(size ? size : 1);
	if (!current.data)
		abort();
	memcpy(current.data, data, size);
	current.size = size;
	alarm(SECONDS_AN_INPUT);
	LLVMFuzzerTestOneInput(current.data, size);
	alarm(0);
	free(current.data);
	current.data = NULL;
	current.size = 0;
}

static void remove_some(uint8_t *data, size_t *size)
{
	size_t at = below(*size), length = below(*size - at < 64 ? *size - at : 64) + 1;

	if (at + length > *size)
		return;
	memmove(data + at, data + at + length, *size - at - length);
	*size -= length;
}

static void insert_some(uint8_t *data, size_t *size, const uint8_t *from, size_t length)
{
	size_t at = below(*size + 1);

	if (*size + length > INPUT_BYTES)
		return;
	memmove(data + at + length, data + at, *size - at);
	memcpy(data + at, from, length);
	*size += length;
}

/* A piece of another input of the corpus. */
static void cross_over(uint8_t *data, size_t *size)
{
	const struct input *other = &corpus[below(corpus_count)];
	size_t at = below(other->size), length = below(256) + 1;

	if (at + length <= other->size)
		insert_some(data, size, other->data + at, length);
}

/* A number at the edge of something, in 1, 2 or 4 bytes. */
static void number(uint8_t *data, size_t size)
{
	static const uint32_t edges[] = { 0,	     1,		 2,	     3,		 4,
					  7,	     8,		 16,	     0x7f,	 0x80,
					  0xff,	     0x100,	 0x7fff,     0x8000,	 0xffff,
					  0x10000,   0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe,
					  0xfffffffc };
	uint32_t value = edges[below(sizeof(edges) / sizeof(*edges))];
	size_t bytes = (size_t)1 << below(3), at;

	if (size < bytes)
		return;
	at = below(size - bytes + 1);
	for (size_t i = 0; i < bytes; i++)
		data[at + i] = (uint8_t)(value >> (8 * i));
}

/* Replace a run of digits, as JSON has them. */
static void digits(uint8_t *data, size_t *size)
{
	static const char *const texts[] = { "0",
					     "1",
					     "-1",
					     "2",
					     "7",
					     "99",
					     "65536",
					     "2147483647",
					     "2147483648",
					     "4294967295",
					     "1099511627776",
					     "9223372036854775807",
					     "9223372036854775808",
					     "1.5",
					     "1e9",
					     "null",
					     "[]",
					     "true",
					     "\"x\"" };
	const char *text = texts[below(sizeof(texts) / sizeof(*texts))];
	size_t at = below(*size), end, length = strlen(text);

	while (at < *size && (data[at] < '0' || data[at] > '9'))
		at++;
	end = at;
	while (end < *size && data[end] >= '0' && data[end] <= '9')
		end++;
	if (end == at || *size + length > INPUT_BYTES)
		return;
	memmove(data + at + length, data + end, *size - end);
	for (size_t i = 0; i < length; i++)
		data[at + i] = (uint8_t)text[i];
	*size += length - (end - at);
}

static void mutate(uint8_t *data, size_t *size)
{
	for (size_t count = below(6) + 1; count; count--) {
		switch (below(8)) {
		case 0:
			if (*size)
				data[below(*size)] ^= (uint8_t)(1u << below(8));
			break;
		case 1:
			if (*size)
				data[below(*size)] = (uint8_t)random_next(&random_state);
			break;
		case 2:
			remove_some(data, size);
			break;
		case 3:
			cross_over(data, size);
			break;
		case 4:
			*size -= below(8) ? 0 : below(*size + 1);
			break;
		case 5:
			digits(data, size);
			break;
		default:
			number(data, *size);
			break;
		}
	}
}

static void add_file(const char *path)
{
	FILE *file = fopen(path, "re");
	struct input input = { .data = malloc(INPUT_BYTES) };
	struct input *grown = realloc(corpus, (corpus_count + 1) * sizeof(*corpus));

	if (!file || !input.data || !grown) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(2);
	}
	input.size = fread(input.data, 1, INPUT_BYTES, file);
	fclose(file);
	corpus = grown;
	corpus[corpus_count++] = input;
}

/* A file, or all files of a folder in the order of their names. */
static void add_path(const char *path)
{
	struct dirent **entries;
	struct stat info;
	int count;

	if (stat(path, &info)) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(2);
	}
	if (!S_ISDIR(info.st_mode)) {
		add_file(path);
		return;
	}
	count = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char *name;

		if (entries[i]->d_name[0] != '.') {
			if (asprintf(&name, "%s/%s", path, entries[i]->d_name) < 0)
				abort();
			add_file(name);
			free(name);
		}
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

static void watch(void)
{
	static const int signals[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM };

	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(save_current);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		signal(signals[i], on_signal);
}

int main(int argc, char **argv)
{
	uint64_t mutations = 0, seed = 1;
	const char *name = strrchr(argv[0], '/');
	uint8_t *data;
	char *file;
	int option;

	if (asprintf(&file, "crash-%s", name ? name + 1 : argv[0]) < 0)
		abort();
	crash_file = file;
	while ((option = getopt(argc, argv, "n:s:o:")) != -1) {
		switch (option) {
		case 'n':
			mutations = strtoull(optarg, NULL, 10);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 10);
			break;
		case 'o':
			crash_file = optarg;
			break;
		default:
			return 2;
		}
	}
	for (int i = optind; i < argc; i++)
		add_path(argv[i]);
	if (!corpus_count) {
		fprintf(stderr, "%s: no input\n", argv[0]);
		return 2;
	}
	watch();
	puts("TAP version 13\n1..2");
	fflush(stdout);
	for (size_t i = 0; i < corpus_count; i++)
		run(corpus[i].data, corpus[i].size);
	printf("ok 1 - %zu inputs of the corpus\n", corpus_count);
	fflush(stdout);
	random_state = seed;
	data = malloc(INPUT_BYTES);
	if (!data)
		abort();
	for (uint64_t i = 0; i < mutations; i++) {
		const struct input *from = &corpus[below(corpus_count)];
		size_t size = from->size;

		memcpy(data, from->data, size);
		mutate(data, &size);
		run(data, size);
	}
	printf("ok 2 - %" PRIu64 " mutations, seed %" PRIu64 "\n", mutations, seed);
	free(data);
	for (size_t i = 0; i < corpus_count; i++)
		free(corpus[i].data);
	free(corpus);
	free(file);
	return 0;
}
