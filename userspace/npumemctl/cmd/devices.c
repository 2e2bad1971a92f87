/* SPDX-License-Identifier: MIT */
/* npumemctl devices: what each npumem device says of itself. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "npumem.h"
#include "commands.h"
#include "cli/cli.h"

struct arguments {
	const char *device;
	bool json;
};

static const struct command_option options[] = {
	{ "device", 'd', VALUE_TEXT, "PATH", "Only this device node",
	  offsetof(struct arguments, device), .files = DEVICE_NODES },
	{ "json", 'j', VALUE_FLAG, NULL, "Print all as one JSON object",
	  offsetof(struct arguments, json) },
	{ 0 },
};

static const struct command command = {
	.options = options,
	.parse = no_arguments,
	.doc = "List npumem devices: versions, features, limits, carveout banks, engines, and, for "
	       "an administrator, who holds how much of the carveout.",
};

static const char *const features[] = {
	"pieces", "spill", "blocks", "alias", "external", "inplace"
};
static const char *const engine_flags[] = { "transfers", "process", "attached" };

/*
 * struct device - all that one device says of itself
 * @holders: NULL and @holders_denied if they are not for this user to see
 */
struct device {
	struct drm_npumem_info info;
	struct drm_npumem_bank *banks;
	struct drm_npumem_engine *engines;
	struct drm_npumem_holder *holders;
	uint32_t bank_count;
	uint32_t engine_count;
	uint32_t holder_count;
	bool holders_denied;
};

static json_t *bits_json(uint64_t bits, const char *const *names, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < 64; i++) {
		if (!(bits >> i & 1))
			continue;
		json_array_append_new(list, i < count ? json_string(names[i]) :
							json_sprintf("bit %zu", i));
	}
	return list;
}

static void print_bits(uint64_t bits, const char *const *names, size_t count)
{
	bool any = false;

	for (size_t i = 0; i < 64; i++) {
		if (!(bits >> i & 1))
			continue;
		if (i < count)
			printf("%s%s", any ? ", " : "", names[i]);
		else
			printf("%sbit %zu", any ? ", " : "", i);
		any = true;
	}
	puts(any ? "" : "none");
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Name of a process, which it has chosen itself; free() it. */
static char *comm_text(const struct drm_npumem_holder *holder)
{
	char comm[sizeof(holder->comm) + 1] = "";

	memcpy(comm, holder->comm, sizeof(holder->comm));
	return plain_text(comm, false);
}

static json_t *holder_json(const struct drm_npumem_holder *h)
{
	char *comm = comm_text(h);
	json_t *object = json_pack("{sI sI sI ss sI sI sI sI}", "client", (json_int_t)h->client,
				   "uid", (json_int_t)h->uid, "pid", (json_int_t)h->pid, "command",
				   comm, "bank", (json_int_t)h->bank, "bytes", (json_int_t)h->bytes,
				   "kernel", (json_int_t)h->memory_bytes, "since_ns",
				   (json_int_t)h->since_ns);

	free(comm);
	return object;
}

static json_t *holders_json(const struct device *device)
{
	json_t *list;

	if (device->holders_denied)
		return json_null();
	list = json_array();
	for (uint32_t i = 0; i < device->holder_count; i++)
		json_array_append_new(list, holder_json(&device->holders[i]));
	return list;
}

static json_t *device_json(const char *path, const struct device *device)
{
	const struct drm_npumem_info *info = &device->info;
	json_t *banks = json_array(), *engines = json_array();

	for (uint32_t i = 0; i < device->bank_count; i++) {
		const struct drm_npumem_bank *b = &device->banks[i];

		json_array_append_new(banks,
				      json_pack("{sI ss sI sI sI sI}", "index",
						(json_int_t)b->index, "name", b->name, "size",
						(json_int_t)b->size, "free", (json_int_t)b->free,
						"largest_free", (json_int_t)b->largest_free,
						"alignment", (json_int_t)b->alignment));
	}
	for (uint32_t i = 0; i < device->engine_count; i++) {
		const struct drm_npumem_engine *e = &device->engines[i];

		json_array_append_new(
			engines, json_pack("{sI ss sI so}", "index", (json_int_t)e->index, "name",
					   e->name, "version", (json_int_t)e->version, "flags",
					   bits_json(e->flags, engine_flags, COUNT(engine_flags))));
	}
	return json_pack("{ss s[II] so sb so so so s{sI sI sI sI sI sI sI}}", "path", path, "uapi",
			 (json_int_t)info->uapi_major, (json_int_t)info->uapi_minor, "features",
			 bits_json(info->features, features, COUNT(features)), "daemon",
			 (int)!!info->daemon, "banks", banks, "engines", engines, "holders",
			 holders_json(device), "limits", "blob_bytes",
			 (json_int_t)info->max_blob_bytes, "log_bytes",
			 (json_int_t)info->max_log_bytes, "accesses",
			 (json_int_t)info->max_accesses, "chunks", (json_int_t)info->max_chunks,
			 "jobs", (json_int_t)info->max_jobs, "syncs", (json_int_t)info->max_syncs,
			 "requests", (json_int_t)info->max_requests);
}

static void print_holders(const struct device *device)
{
	int64_t now = npumem_deadline(0);

	if (device->holders_denied) {
		puts("  holders    not shown: that needs CAP_SYS_ADMIN");
		return;
	}
	for (uint32_t i = 0; i < device->holder_count; i++) {
		const struct drm_npumem_holder *h = &device->holders[i];
		char *comm = comm_text(h);

		printf("  holder     uid %" PRIu32 ", pid %" PRIu32 " (%s): %s of bank %" PRIu32
		       ", for %" PRId64 " s\n",
		       h->uid, h->pid, comm, size_text(h->bytes).s, h->bank,
		       (now - (int64_t)h->since_ns) / 1000000000);
		free(comm);
	}
}

static void print_device(const char *path, const struct device *device)
{
	const struct drm_npumem_info *info = &device->info;

	printf("%s\n", path);
	printf("  uapi       %" PRIu32 ".%" PRIu32 "\n", info->uapi_major, info->uapi_minor);
	printf("  daemon     %s\n", info->daemon ? "registered" : "none: plans must be loaded");
	printf("  features   ");
	print_bits(info->features, features, COUNT(features));
	for (uint32_t i = 0; i < device->bank_count; i++) {
		const struct drm_npumem_bank *b = &device->banks[i];

		printf("  bank %-5" PRIu32 " %s: %s", b->index, b->name, size_text(b->size).s);
		printf(", free %s", size_text(b->free).s);
		printf(", largest piece %s, alignment %" PRIu32 "\n", size_text(b->largest_free).s,
		       b->alignment);
	}
	for (uint32_t i = 0; i < device->engine_count; i++) {
		const struct drm_npumem_engine *e = &device->engines[i];

		printf("  engine %-3" PRIu32 " %s, version %" PRIu32 ": ", e->index, e->name,
		       e->version);
		print_bits(e->flags, engine_flags, COUNT(engine_flags));
	}
	printf("  limits     %" PRIu64 " accesses and %" PRIu64 " chunks a graph, %" PRIu32
	       " jobs a submission, %" PRIu32 " waiting requests\n",
	       (uint64_t)info->max_accesses, (uint64_t)info->max_chunks, info->max_jobs,
	       info->max_requests);
	print_holders(device);
}

static int query_holders(struct npumem_device *open, struct device *device,
			 struct npumem_error *error)
{
	int err = npumem_device_holders(open, &device->holders, &device->holder_count, error);

	device->holders_denied = err == -EACCES;
	return device->holders_denied ? 0 : err;
}

static int query(const char *path, struct device *device)
{
	struct npumem_error error = { 0 };
	struct npumem_device *open;
	int err = npumem_device_open(path, &open, &error);

	if (err)
		return failure(path, "%s", error.text);
	err = npumem_device_info(open, &device->info, &error);
	if (!err)
		err = npumem_device_banks(open, &device->banks, &device->bank_count, &error);
	if (!err)
		err = npumem_device_engines(open, &device->engines, &device->engine_count, &error);
	if (!err)
		err = query_holders(open, device, &error);
	npumem_device_close(open);
	return err ? failure(path, "%s", error.text) : EXIT_OK;
}

/* @list: JSON array, or NULL to print. */
static int show(const char *path, json_t *list)
{
	struct device device = { 0 };
	int status = query(path, &device);

	if (status == EXIT_OK && list)
		json_array_append_new(list, device_json(path, &device));
	else if (status == EXIT_OK)
		print_device(path, &device);
	free(device.banks);
	free(device.engines);
	free(device.holders);
	return status;
}

int no_device(const struct npumem_error *error)
{
	if (*error->text)
		return failure("devices", "%s", error->text);
	return failure("devices", "no npumem device that may be opened: is the module npumem "
				  "loaded, and may this user open /dev/accel/accel* or "
				  "/dev/dri/renderD*?");
}

int devices_print(const char *device, bool json)
{
	struct npumem_error error = { 0 };
	int status = EXIT_OK;
	uint32_t count = 0;
	char **paths = NULL;
	json_t *list;

	list = json ? json_array() : NULL;
	if (device) {
		status = show(device, list);
	} else {
		if (npumem_device_list(&paths, &count, &error) || !count)
			status = no_device(&error);
		/* One that fails does not hide the others. */
		for (uint32_t i = 0; i < count; i++) {
			if (show(paths[i], list) != EXIT_OK)
				status = EXIT_FAILED;
		}
		free(paths);
	}
	if (list && print_json(json_pack("{so}", "devices", list)) != EXIT_OK)
		status = EXIT_FAILED;
	return status;
}

int cmd_devices(int argc, char **argv)
{
	struct arguments args = { 0 };

	command_parse(&command, argc, argv, &args);
	return devices_print(args.device, args.json);
}
