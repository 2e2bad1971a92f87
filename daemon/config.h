/* SPDX-License-Identifier: MIT */
/*
 * The configuration file, npumemd.conf(5).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a path with its NUL: a line of the file is shorter. */
#define CONFIG_PATH_SIZE 192

struct policies;

/**
 * struct config - what npumemd.conf says
 * @log_level: LOG_ERR .. LOG_DEBUG
 * @workers: planning processes at a time, 1 to 64
 * @memory_limit: bytes of address space of a worker; 0 = no limit
 * @cpu_limit: seconds of processor time of a worker; 0 = no limit
 * @time_limit: seconds that a request may take, its own deadline aside; 0 = no
 *	limit
 * @plan_limit: most bytes of a plan blob
 * @seccomp: workers may make only the system calls that planning needs
 * @cache_limit: bytes of plans that are kept; 0 = none are
 * @cache_folder: path of the folder that plans are kept in
 * @improve_time: seconds that a search for a better plan may take; 0 = none
 * @first_answer: milliseconds that planning may take where such a search follows
 * @improve_share: per cent of one processor that all searches may take over an hour; 0, 100 = no
 *	limit
 * @improve_on_battery: also where a battery is emptied by it
 * @metrics_socket: path of the socket that tells them; "" = none
 * @metrics_mode: permissions of the socket
 * @metrics_textfile: path of the file that they are written to; "" = none
 * @planner: planner for requests for the smallest arena that name none
 * @traffic_planner: planner for requests for the least traffic that name none
 * @policies: who may ask for what, of this struct; NULL = all may for all
 * @private_file: the first file of it, or folder of files, that not every user may read, cut to
 *	fit; "" = there is none
 * @has_file: there is the file, and not only others of its folder
 * @has_folder: there is the folder
 * @drop_ins: files that were read of it
 */
struct config {
	int log_level;
	uint64_t workers;
	uint64_t memory_limit;
	uint64_t cpu_limit;
	uint64_t time_limit;
	uint64_t plan_limit;
	bool seccomp;
	uint64_t cache_limit;
	char cache_folder[CONFIG_PATH_SIZE];
	uint64_t improve_time;
	uint64_t first_answer;
	uint64_t improve_share;
	bool improve_on_battery;
	char metrics_socket[CONFIG_PATH_SIZE];
	uint64_t metrics_mode;
	char metrics_textfile[CONFIG_PATH_SIZE];
	char planner[32];
	char traffic_planner[32];
	struct policies *policies;
	char private_file[CONFIG_PATH_SIZE];
	bool has_file;
	bool has_folder;
	int drop_ins;
};

/** config_defaults() - set everything to the value that it has if the file does not name it */
void config_defaults(struct config *config);

/** config_free() - free what a configuration has, and has none of then */
void config_free(struct config *config);

/*
 * config_read() - read a file over the defaults, and then, in the order of their names, the files
 * of the folder "@path.d" that end in ".conf"
 * @optional: the file may be missing, as the folder always may, but for links that lead nowhere
 * @config: out: for config_free(); unchanged if that fails
 * @reason: on failure "FILE:LINE: what is wrong", no newline
 *
 * -EINVAL for anything that is not documented in npumemd.conf(5): unknown
 * sections and keys, keys given twice in a file, values out of range. -EAGAIN: the system cannot
 * tell who a user or group is. Else the errno of opening or reading a file.
 */
int config_read(const char *path, bool optional, struct config *config, char *reason,
		size_t reason_size);

/**
 * config_misses() - whether what was read before has gone
 * @before: the configuration that was
 * @now: the one that was read from the same path
 * @path: of the file
 * @reason: out: a sentence, if it has
 * @size: of @reason
 *
 * Without the file, or without a folder that had files, nobody has the policy that he had.
 */
bool config_misses(const struct config *before, const struct config *now, const char *path,
		   char *reason, size_t size);
