// SPDX-License-Identifier: MIT
/*
 * Clients of the real npumemd, for test_daemon_workers.sh:
 *
 *   npumem_plan_client neighbours   two graphs are planned at a time: does a worker
 *                                   have bytes of the other's graph in its memory?
 *   npumem_plan_client given-up     requests that would be planned for an hour are
 *                                   given up: are their workers gone?
 *   npumem_plan_client latency N    milliseconds that a small request takes, of N
 *
 * Exit code 0: as it should be. Workers are the children of npumemd.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "npumem_world.h"

#define PATIENCE_NS  (300ll * 1000 * 1000 * 1000) /* of a hang */
#define MAX_WORKERS  8
#define MARKER_BYTES 96 /* two tensors: sizes drawn from a seed */

/* A graph that its planners improve for as long as they may. */
static struct blob large_graph(unsigned int steps, unsigned int seed)
{
	struct model m = { 0 };
	struct blob blob;

	printf("# seed %u\n", seed);
	srandom(seed);
	for (unsigned int i = 0; i < steps; i++) {
		uint32_t kind = !i	       ? NPUMEM_TENSOR_INPUT :
				i == steps - 1 ? NPUMEM_TENSOR_OUTPUT :
						 NPUMEM_TENSOR_INTERMEDIATE;

		model_whole(&m, model_tensor(&m, kind, 1000 + random() % 99991));
	}
	for (unsigned int i = 1; i < steps; i++) {
		model_step(&m, 0);
		model_access(&m, i - 1, NPUMEM_ACCESS_READ);
		for (int k = 0; k < 2; k++)
			model_access(&m, i - 1 - random() % (i < 200 ? i : 200),
				     NPUMEM_ACCESS_READ);
		model_access(&m, i, NPUMEM_ACCESS_WRITE);
	}
	model_schedule(&m);
	blob = model_graph(&m);
	model_free(&m);
	return blob;
}

/*
 * struct client - open file with one request
 * @marker: bytes that are in its graph, and in no other
 */
struct client {
	int fd;
	struct drm_npumem_plan_request args;
	uint8_t marker[MARKER_BYTES];
};

static void fail(const char *what, int err)
{
	printf("%s: %s\n", what, err ? strerror(-err) : "failed");
	exit(1);
}

static void ask(struct client *client, const struct blob *graph)
{
	const struct npumem_tensor *tensors = blob_records(graph, NPUMEM_GRAPH_SECTION_TENSORS);
	uint32_t handle;
	int err;

	memcpy(client->marker, tensors + 1, sizeof(client->marker));
	client->fd = npu_open();
	if (client->fd < 0 || world_graph(client->fd, graph, &handle))
		fail("graph", 0);
	client->args = (struct drm_npumem_plan_request){
		.graph = handle,
		.deadline_ns = npu_now() + NPUMEM_MAX_REQUEST_NS,
		.out_sync = npu_syncobj(client->fd),
	};
	err = npu_ioctl(client->fd, DRM_IOCTL_NPUMEM_PLAN_REQUEST, &client->args);
	if (err)
		fail("PLAN_REQUEST", err);
}

/* Processes whose parent is npumemd. */
static int find_workers(pid_t *workers)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int n = 0;

	while (proc && (entry = readdir(proc)) && n < MAX_WORKERS) {
		char path[300], parent[300], name[64] = "", state = 0;
		int ppid = 0;
		FILE *file;

		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fscanf(file, "%*d (%*[^)]) %c %d", &state, &ppid) != 2)
			ppid = 0;
		fclose(file);
		snprintf(parent, sizeof(parent), "/proc/%d/comm", ppid);
		file = ppid ? fopen(parent, "r") : NULL;
		if (!file)
			continue;
		if (fscanf(file, "%63s", name) == 1 && !strcmp(name, "npumemd") && state != 'Z')
			workers[n++] = atoi(entry->d_name);
		fclose(file);
	}
	if (proc)
		closedir(proc);
	return n;
}

static bool wait_workers(int wanted, pid_t *workers)
{
	int64_t until = npu_now() + PATIENCE_NS;

	while (find_workers(workers) != wanted) {
		if (npu_now() > until)
			return false;
		poll(NULL, 0, 5);
	}
	return true;
}

/* Is the marker anywhere in a range of that process? */
static bool in_range(int mem, uint64_t start, uint64_t end, const uint8_t *marker)
{
	static uint8_t buffer[(1 << 20) + MARKER_BYTES];
	size_t kept = 0;

	while (start < end) {
		size_t want = end - start < (1 << 20) ? end - start : (1 << 20);
		ssize_t n = pread(mem, buffer + kept, want, (off_t)start);

		if (n <= 0)
			return false;
		if (memmem(buffer, kept + n, marker, MARKER_BYTES))
			return true;
		start += n;
		n += kept;
		kept = n < MARKER_BYTES - 1 ? n : MARKER_BYTES - 1;
		memmove(buffer, buffer + n - kept, kept);
	}
	return false;
}

static bool in_memory(pid_t pid, const uint8_t *marker)
{
	char path[64], line[512], perms[8];
	unsigned long long start, end;
	bool found = false;
	FILE *maps;
	int mem;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	if (mem < 0 || !maps)
		fail("memory of a worker", 0);
	while (!found && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%llx-%llx %7s", &start, &end, perms) == 3 && perms[0] == 'r')
			found = in_range(mem, start, end, marker);
	fclose(maps);
	close(mem);
	return found;
}

static int requests_of(pid_t pid)
{
	char path[64], line[512];
	FILE *maps;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps))
		n += strstr(line, "npumem-request") != NULL;
	if (maps)
		fclose(maps);
	return n;
}

/* The second worker is started while the first one's graph is being planned. */
static int neighbours(void)
{
	struct blob graphs[2] = { large_graph(3000, 1), large_graph(3000, 2) };
	struct client clients[2];
	pid_t workers[MAX_WORKERS];
	int own = 0, foreign = 0;

	for (int i = 0; i < 2; i++) {
		ask(&clients[i], &graphs[i]);
		if (!wait_workers(i + 1, workers))
			fail("no worker", 0);
	}
	/* Stopped, they neither end nor change. Each has its own graph in the end. */
	for (int64_t until = npu_now() + PATIENCE_NS; own < 2 && npu_now() < until;) {
		own = foreign = 0;
		for (int w = 0; w < 2; w++)
			kill(workers[w], SIGSTOP);
		for (int w = 0; w < 2; w++) {
			bool has[2] = { in_memory(workers[w], clients[0].marker),
					in_memory(workers[w], clients[1].marker) };

			printf("worker %d: graph 0 %s, graph 1 %s, %d mappings of requests\n",
			       workers[w], has[0] ? "yes" : "no", has[1] ? "yes" : "no",
			       requests_of(workers[w]));
			own += has[0] || has[1];
			foreign += has[0] && has[1];
			foreign += requests_of(workers[w]) > 1;
		}
		for (int w = 0; w < 2; w++)
			kill(workers[w], SIGCONT);
		/* Or a loaded machine would let them do nothing between two looks. */
		if (own < 2)
			usleep(20000);
	}
	printf("%d workers with a graph, %d of them with another's\n", own, foreign);
	return own == 2 && !foreign ? 0 : 1;
}

static int given_up(void)
{
	struct blob graphs[2] = { large_graph(20000, 3), large_graph(20000, 4) };
	struct client clients[2];
	pid_t workers[MAX_WORKERS];

	for (int i = 0; i < 2; i++)
		ask(&clients[i], &graphs[i]);
	if (!wait_workers(2, workers))
		fail("no workers", 0);
	if (world_destroy(clients[0].fd, DRM_IOCTL_NPUMEM_PLAN_DESTROY, clients[0].args.handle))
		fail("PLAN_DESTROY", 0);
	if (!wait_workers(1, workers))
		fail("a plan is destroyed, and its worker goes on", 0);
	close(clients[1].fd);
	if (!wait_workers(0, workers))
		fail("a file is closed, and its worker goes on", 0);
	return 0;
}

static int latency(int n)
{
	struct model m = model_chain();
	struct blob graph = model_graph(&m);
	int64_t began = npu_now();

	for (int i = 0; i < n; i++) {
		struct drm_npumem_plan_read read = { 0 };
		struct client client;

		ask(&client, &graph);
		read.handle = client.args.handle;
		if (npu_sync_wait(client.fd, client.args.out_sync, 0) ||
		    npu_ioctl(client.fd, DRM_IOCTL_NPUMEM_PLAN_READ, &read) ||
		    read.state != NPUMEM_PLAN_STATE_READY)
			fail("plan", 0);
		close(client.fd);
	}
	printf("%.1f ms a request of 3 steps, of %d\n", (npu_now() - began) / 1e6 / n, n);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "neighbours"))
		return neighbours();
	if (argc == 2 && !strcmp(argv[1], "given-up"))
		return given_up();
	if (argc == 3 && !strcmp(argv[1], "latency") && atoi(argv[2]) > 0)
		return latency(atoi(argv[2]));
	fprintf(stderr, "usage: npumem_plan_client neighbours|given-up|latency N\n");
	return 2;
}
