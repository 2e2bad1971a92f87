/* SPDX-License-Identifier: MIT */
/* What npumemctl top shows, of a made-up folder of processes and made-up times. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auto.h"
#include "cli/cli.h"
#include "live/top.h"
#include "unit.h"

#define DEVICE "/dev/accel/accel7"

static const char *text_of(uint64_t carveout, uint64_t ns, uint64_t jobs, uint64_t moved)
{
	static char text[1024];

	snprintf(text, sizeof(text),
		 "pos:\t0\nflags:\t02100002\ndrm-driver:\tnpumem\ndrm-client-id:\t12\n"
		 "drm-memory-carveout:\t1 KiB\ndrm-resident-carveout:\t1 KiB\n"
		 "drm-resident-system:\t3 MiB\nnpumem-kernel-memory:\t5 KiB\nnpumem-client:\t4\n"
		 "npumem-carveout-0:\t%llu bytes\nnpumem-carveout-1:\t1000 bytes\n"
		 "drm-engine-sim:\t%llu ns\nnpumem-jobs-sim:\t%llu\n"
		 "drm-engine-process:\t7 ns\ndrm-engine-capacity-process:\t4\n"
		 "npumem-moved:\t%llu bytes\n",
		 (unsigned long long)carveout, (unsigned long long)ns, (unsigned long long)jobs,
		 (unsigned long long)moved);
	return text;
}

/* ------------------------------------------------------------------------ one file */

TEST(file)
{
	struct live_file file;

	assert_true(live_parse(text_of(64000, 2000, 3, 99), &file));
	assert_int_equal(file.drm_client, 12);
	assert_int_equal(file.client, 4);
	assert_int_equal(file.carveout, 65000);
	assert_int_equal(file.system, 3 << 20);
	assert_int_equal(file.kernel, 5 << 10);
	assert_int_equal(file.moved, 99);
	assert_int_equal(file.engine_count, 2);
	assert_string_equal(file.engines[0].name, "sim");
	assert_int_equal(file.engines[0].ns, 2000);
	assert_int_equal(file.engines[0].jobs, 3);
	assert_string_equal(file.engines[1].name, "process");
	assert_int_equal(file.engines[1].ns, 7);
	assert_int_equal(file.engines[1].jobs, 0);
}

/* Files of other drivers, and numbers that are none. */
TEST(other_files)
{
	struct live_file file;

	assert_false(live_parse("", &file));
	assert_false(live_parse("pos:\t0\n", &file));
	assert_false(live_parse("drm-driver:\tnpumem2\nnpumem-moved:\t1 bytes\n", &file));
	assert_false(live_parse("drm-driver:\tnpu\n", &file));
	assert_true(live_parse("npumem-moved:\t-1\nnpumem-client:\t\ndrm-client-id:\tx\n"
			       "npumem-kernel-memory:\t99999999999999999999 KiB\n"
			       "drm-resident-system:\t18446744073709551615 KiB\n"
			       "drm-engine-:\t5 ns\nno colon\ndrm-driver:\tnpumem",
			       &file));
	assert_int_equal(file.moved + file.client + file.drm_client + file.kernel + file.system, 0);
	assert_int_equal(file.engine_count, 0);
}

/* Names that have no room are left out, and more engines than are told apart. */
TEST(many_engines)
{
	char text[8192] = "drm-driver:\tnpumem\n";
	struct live_file file;

	strcat(text, "drm-engine-a-name-of-thirty-two-characters-:\t5 ns\n");
	for (int i = 0; i < 100; i++)
		sprintf(text + strlen(text), "drm-engine-e%d:\t5 ns\n", i);
	assert_true(live_parse(text, &file));
	assert_int_equal(file.engine_count, LIVE_ENGINES);
	assert_string_equal(file.engines[0].name, "e0");
}

/* ----------------------------------------------------------------------- processes */

static void put(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* A process that has @device open as descriptor 3. */
static void process(const char *proc, const char *pid, const char *command, const char *device,
		    const char *text)
{
	char folder[128], path[256];

	snprintf(folder, sizeof(folder), "%s/%s", proc, pid);
	assert_int_equal(mkdir(folder, 0755), 0);
	put(folder, "comm", command);
	snprintf(path, sizeof(path), "%s/fd", folder);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/fd/3", folder);
	assert_int_equal(symlink(device, path), 0);
	snprintf(path, sizeof(path), "%s/fdinfo", folder);
	assert_int_equal(mkdir(path, 0755), 0);
	put(path, "3", text);
}

static void remove_all(const char *folder)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	assert_int_equal(system(command), 0);
}

/* A text of another client. */
static const char *text_of_other(unsigned int drm_client, unsigned int client)
{
	static char text[1024];

	snprintf(text, sizeof(text),
		 "drm-driver:\tnpumem\ndrm-client-id:\t%u\nnpumem-client:\t%u\n"
		 "npumem-carveout-0:\t1000 bytes\n",
		 drm_client, client);
	return text;
}

/* Here /dev/null is the device: a test has no other that is there and may be opened. */
TEST(processes)
{
	char proc[] = "/tmp/npumem-proc-XXXXXX";
	struct drm_npumem_holder holders[] = {
		/* Whose file was found, and one whose is not to be seen, in two banks. */
		{ .client = 5, .bytes = 600000, .memory_bytes = 7, .uid = 9, .comm = "closed" },
		{ .client = 4, .bytes = 9, .pid = 100, .uid = 77, .comm = "found" },
		{ .client = 5, .bytes = 400000, .memory_bytes = 7, .uid = 9, .bank = 1 },
	};
	const struct live_client *client;
	struct live_list list;
	char node[64], file[64];

	assert_non_null(mkdtemp(proc));
	snprintf(node, sizeof(node), "%s/node", proc);
	assert_int_equal(symlink("/dev/null", node), 0);
	snprintf(file, sizeof(file), "%s/null", proc);
	put(proc, "null", "no device\n");
	process(proc, "100", "found\n", "/dev/null", text_of(64000, 2000, 3, 99));
	/* It shares the file with its parent. */
	process(proc, "101", "child\n", "/dev/null", text_of(64000, 2000, 3, 99));
	/* It has another device, a file of the same name, no driver of ours; this is no process. */
	process(proc, "102", "other\n", "/dev/zero", text_of_other(20, 20));
	process(proc, "103", "file\n", file, text_of_other(21, 21));
	process(proc, "104", "foreign\n", "/dev/null", "drm-driver:\tnpumem2\n");
	process(proc, "irq", "none\n", "/dev/null", text_of_other(23, 23));
	/* It has the device by another name. */
	process(proc, "106", "a\nlias\n\n", node, text_of_other(11, 9));
	/* The device is asked for by that name, too. */
	assert_int_equal(live_find(proc, node, &list), 0);
	assert_int_equal(list.count, 2);
	assert_int_equal(list.hidden, 0);
	client = live_find_number(&list, 4);
	assert_non_null(client);
	assert_true(client->pid == 100 || client->pid == 101);
	assert_int_equal(client->uid, getuid());
	assert_true(client->is_seen);
	assert_int_equal(client->file.carveout, 65000);
	client = live_find_number(&list, 9);
	assert_non_null(client);
	assert_string_equal(client->command.s, "a\nlias\n");
	assert_null(live_find_number(&list, 5));
	assert_int_equal(live_add_holders(&list, holders, 3), 0);
	assert_int_equal(list.count, 3);
	client = live_find_number(&list, 5);
	assert_non_null(client);
	assert_int_equal(client->file.carveout, 1000000);
	assert_string_equal(client->command.s, "closed");
	assert_false(client->is_seen);
	assert_int_equal(client->uid, 9);
	assert_int_equal(client->file.kernel, 7);
	/* What it holds it says itself; whose it is the driver does. */
	client = live_find_number(&list, 4);
	assert_int_equal(client->file.carveout, 65000);
	assert_int_equal(client->uid, 77);
	live_free(&list);
	assert_int_equal(live_find(proc, "/dev/null/none", &list), -ENOTDIR);
	live_free(&list);
	remove_all(proc);
	assert_int_equal(live_find(proc, "/dev/null", &list), -ENOENT);
}

/* A process with more descriptors than are kept at a time. */
TEST(many_descriptors)
{
	char proc[] = "/tmp/npumem-proc-XXXXXX", path[128];
	struct live_list list;

	assert_non_null(mkdtemp(proc));
	process(proc, "100", "many\n", "/dev/null", text_of(64000, 2000, 3, 99));
	for (int i = 10; i < 2510; i++) {
		snprintf(path, sizeof(path), "%s/100/fd/%d", proc, i);
		assert_int_equal(symlink("/dev/null", path), 0);
		snprintf(path, sizeof(path), "100/fdinfo/%d", i);
		put(proc, path,
		    i % 5 ? text_of(64000, 2000, 3, 99) : text_of_other(100 + i, 100 + i));
	}
	assert_int_equal(live_find(proc, "/dev/null", &list), 0);
	assert_int_equal(list.count, 501);
	for (uint32_t i = 0; i < list.count; i++) {
		assert_string_equal(list.clients[i].command.s, "many");
		assert_true(!i || list.clients[i].file.client > list.clients[i - 1].file.client);
	}
	live_free(&list);
	remove_all(proc);
}

/* ------------------------------------------------------------------------ pictures */

static struct drm_npumem_bank bank = { .size = 64 << 20,
				       .free = 48 << 20,
				       .largest_free = 1 << 20 };
static struct drm_npumem_engine engines[] = {
	{ .index = 0, .name = "sim" },
	{ .index = 1, .name = "process" },
	{ .index = 2, .name = "process" },
};

static struct top_sample sample(int64_t time_ns, struct live_client *clients, uint32_t count)
{
	return (struct top_sample){
		.path = DEVICE,
		.time_ns = time_ns,
		.daemon = true,
		.banks = &bank,
		.bank_count = 1,
		.engines = engines,
		.engine_count = 3,
		.clients = { .clients = clients, .count = count },
	};
}

static char *printed(const struct top_sample *now, const struct top_sample *before,
		     unsigned int width, unsigned int lines)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	top_print(out, now, before, width, lines);
	assert_int_equal(fclose(out), 0);
	return text;
}

TEST(rates)
{
	struct live_client was = { .pid = 100, .uid = 4000000000u, .is_seen = true };
	struct live_client is = was;
	struct top_sample before = sample(1000000000, &was, 1), now = sample(3000000000, &is, 1);
	AUTO_TEXT char *text = NULL;
	AUTO_TEXT char *first = NULL;
	AUTO_TEXT char *others = NULL;
	json_t *object, *client;

	strcpy(was.command.s, "a\033[2J");
	strcpy(is.command.s, "a\033[2J");
	assert_true(live_parse(text_of(15 << 20, 500000000, 100, 0), &was.file));
	assert_true(live_parse(text_of(15 << 20, 2000000000, 150, 4 << 20), &is.file));
	first = printed(&before, NULL, 80, 24);
	assert_string_equal(
		first, DEVICE
		"\n"
		"bank 0 [######..................] 16.0 MiB of 64.0 MiB, largest free 1.0 MiB\n"
		"engines  sim -  process - of 200  npumemd registered\n"
		"    PID USER       CARVEOUT    SYSTEM    KERNEL BUSY JOBS/S   MOVED/S COMMAND\n"
		"    100 4000000000   15.0 MiB   3.0 MiB   5.0 KiB    -      -         - a\\x1b[2J\n");
	text = printed(&now, &before, 0, 24);
	assert_string_equal(
		text, DEVICE
		"\n"
		"bank 0 [######..................] 16.0 MiB of 64.0 MiB, largest free 1.0 MiB\n"
		"engines  sim 75 %  process 0 % of 200  npumemd registered\n"
		"    PID USER       CARVEOUT    SYSTEM    KERNEL BUSY JOBS/S   MOVED/S COMMAND\n"
		"    100 4000000000   15.0 MiB   3.0 MiB   5.0 KiB   75     25   2.0 MiB a\\x1b[2J\n");
	/* Others may be at work whom this user does not see. */
	now.clients.hidden = 1;
	others = printed(&now, &before, 0, 24);
	assert_non_null(strstr(others, "engines  sim >=75 %  process >=0 % of 200  npumemd"));
	object = top_json(&now, &before);
	client = json_array_get(json_object_get(object, "clients"), 0);
	assert_true(json_real_value(json_object_get(object, "seconds")) == 2);
	assert_true(json_real_value(json_object_get(client, "jobs_per_second")) == 25);
	assert_true(json_real_value(json_object_get(client, "moved_per_second")) == 2 << 20);
	assert_int_equal(json_array_size(json_object_get(object, "engines")), 2);
	json_decref(object);
	object = top_json(&now, NULL);
	client = json_array_get(json_object_get(object, "clients"), 0);
	assert_true(json_is_null(json_object_get(client, "jobs_per_second")));
	json_decref(object);
}

/*
 * A client that was out of sight until now has had its time before: its rates are not known, and
 * those of engines are a least. One that has come since began with nothing.
 */
TEST(out_of_sight)
{
	struct live_client was = { .pid = 1, .is_seen = true, .file.client = 8 };
	struct live_client are[] = {
		{ .pid = 2, .is_seen = true, .file.client = 4, .file.moved = 7 },
		{ .pid = 1, .is_seen = true, .file.client = 8 },
		{ .pid = 3, .is_seen = true, .file.client = 9, .file.moved = 2000 },
	};
	struct top_sample before = sample(1000000000, &was, 1), now = sample(3000000000, are, 3);
	AUTO_TEXT char *text = NULL;
	AUTO_TEXT char *least = NULL;
	json_t *object;

	live_engine(&are[0].file, "sim")->ns = 3600000000000;
	live_engine(&are[2].file, "sim")->ns = 1000000000;
	least = printed(&now, &before, 80, 24);
	assert_non_null(strstr(least, "engines  sim >=50 %  process >=0 % of 200"));
	assert_non_null(strstr(least, "      2 root        0 bytes   0 bytes   0 bytes    -      -"
				      "         -"));
	assert_non_null(strstr(least, "      3 root        0 bytes   0 bytes   0 bytes   50      0"
				      " 1000 bytes"));
	object = top_json(&now, &before);
	assert_true(json_is_false(json_object_get(object, "complete")));
	json_decref(object);
	/* From then on all is known. */
	before = now;
	before.time_ns -= 2000000000;
	text = printed(&now, &before, 80, 24);
	assert_non_null(strstr(text, "engines  sim 0 %  process 0 % of 200"));
	object = top_json(&now, &before);
	assert_true(json_is_true(json_object_get(object, "complete")));
	json_decref(object);
	/* Whom the driver does not tell who holds the carveout, there may be others. */
	free(text);
	now.clients.partial = true;
	text = printed(&now, &before, 80, 24);
	assert_non_null(strstr(text, "engines  sim >=0 %  process >=0 % of 200"));
	assert_non_null(strstr(text, "others, who are not for this user to see, hold 16.0 MiB\n"));
}

/* An engine in a process is called as that process likes; its use is counted by another name. */
TEST(attached_engine)
{
	struct drm_npumem_engine attached[] = {
		{ .name = "sim" },
		{ .name = "sim", .flags = NPUMEM_ENGINE_PROCESS | NPUMEM_ENGINE_ATTACHED },
		{ .name = "\033\xff", .flags = NPUMEM_ENGINE_PROCESS | NPUMEM_ENGINE_ATTACHED },
	};
	struct live_client was = { .pid = 1, .is_seen = true, .file.client = 8 }, is = was;
	struct top_sample before = sample(1000000000, &was, 1), now = sample(3000000000, &is, 1);
	AUTO_TEXT char *text = NULL;
	json_t *object, *list;

	now.engines = attached;
	strcpy(is.command.s, "\xed\xa0\x80\xff");
	now.path = "/dev/\xff";
	live_engine(&is.file, "sim");
	live_engine(&is.file, "process")->ns = 1000000000;
	text = printed(&now, &before, 80, 24);
	assert_non_null(strstr(text, "engines  sim 0 %  process 50 % of 200  npumemd"));
	object = top_json(&now, &before);
	assert_non_null(object);
	list = json_object_get(object, "engines");
	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(list, 1), "name")),
			    "process");
	list = json_object_get(object, "clients");
	assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "command")),
			    "\\xed\\xa0\\x80\\xff");
	json_decref(object);
}

/* Very many clients, as a single hostile one may open: all that is done takes little more. */
TEST(many_clients)
{
	enum { MANY = 100000 };
	struct live_client *clients = calloc(MANY, sizeof(*clients));
	struct top_sample before, now;
	AUTO_TEXT char *text = NULL;

	assert_non_null(clients);
	for (uint32_t i = 0; i < MANY; i++) {
		clients[i].file.client = i;
		clients[i].is_seen = true;
		live_engine(&clients[i].file, "sim")->ns = i;
	}
	before = sample(1000000000, clients, MANY);
	now = sample(3000000000, clients, MANY);
	text = printed(&now, &before, 80, 24);
	assert_non_null(strstr(text, "    ... 99981 more clients\n"));
	free(clients);
}

/* $COLUMNS says how wide lines are, but not how wide the terminal is that they are drawn on. */
TEST(terminals)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	int pty = posix_openpt(O_RDWR | O_NOCTTY), terminal, none = open("/dev/null", O_RDONLY);

	assert_true(pty >= 0 && none >= 0);
	assert_int_equal(grantpt(pty), 0);
	assert_int_equal(unlockpt(pty), 0);
	terminal = open(ptsname(pty), O_RDWR | O_NOCTTY);
	assert_true(terminal >= 0);
	assert_int_equal(ioctl(terminal, TIOCSWINSZ, &size), 0);
	assert_int_equal(setenv("COLUMNS", "200", 1), 0);
	assert_int_equal(terminal_width(terminal), 200);
	assert_int_equal(terminal_columns(terminal), 80);
	assert_int_equal(terminal_height(terminal), 24);
	assert_int_equal(terminal_width(none), 200);
	assert_int_equal(unsetenv("COLUMNS"), 0);
	assert_int_equal(terminal_width(terminal), 80);
	assert_int_equal(terminal_width(none), 0);
	size.ws_col = size.ws_row = 0;
	assert_int_equal(ioctl(terminal, TIOCSWINSZ, &size), 0);
	assert_int_equal(terminal_columns(terminal), 80);
	assert_int_equal(terminal_height(terminal), 24);
	close(none);
	close(terminal);
	close(pty);
}

/* As many lines as there is room for, none of them wider than the terminal. */
TEST(small_terminals)
{
	static struct live_client clients[50];
	struct top_sample now = sample(1000000000, clients, 50);

	for (int i = 0; i < 50; i++) {
		clients[i] = (struct live_client){ .pid = 1000000 + i, .uid = 4000000000u };
		strcpy(clients[i].command.s, "sixteen letters.");
	}
	now.clients.hidden = 3;
	for (unsigned int lines = 1; lines < 60; lines++) {
		AUTO_TEXT char *text = printed(&now, NULL, 80, lines);
		unsigned int count = 0;

		for (char *line = text; *line; count++) {
			size_t length = strcspn(line, "\n");

			assert_in_range(length, 1, 80);
			line += length + 1;
		}
		assert_in_range(count, 1, lines);
		if (lines == 24) {
			assert_int_equal(count, 24);
			assert_non_null(strstr(text, "\n    ... 32 more clients\n"));
			assert_non_null(strstr(text, "others, who are not for this user to see, "
						     "hold 16.0 MiB\n"));
		}
	}
}
