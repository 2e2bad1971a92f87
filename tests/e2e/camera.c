// SPDX-License-Identifier: MIT
/*
 * camera - inputs that lie in another process's memory: a process which stands for a camera and
 * knows nothing of npumem has pictures in a dma-buf, which this one gets over a socket and binds
 * to the input of a graph. Nobody copies: pictures that are taken later, in the same memory, are
 * seen without another word to the driver.
 *
 * usage: npumem_camera PICTURES [RUNTIME DELEGATE MODEL]
 *
 * With RUNTIME the graph is a model in TensorFlow Lite, whose first input is bound; the plain
 * runtime is given the same bytes, and has to have the same outputs.
 */
#include <dlfcn.h>
#include <err.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/udmabuf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "npumem.h"
#include "npumem_layout.h"
#include "npumem_sim.h"
#include "npumem_tflite.h"
#include "tflite/tflite_runtime.h"

#define SECOND 1000000000ll
#define BYTES  65536u

enum { IN, MIDDLE, OUT, TENSORS };

static struct npumem_error error;

static void must(int64_t result)
{
	if (result < 0)
		errx(1, "%s", error.text);
}

/* ------------------------------------------------------------------- the camera */

/* A byte of a picture. */
static uint8_t pixel(unsigned int picture, uint32_t i)
{
	return (uint8_t)((i * 2654435761u + picture * 40503u) >> 11);
}

/* A dma-buf of this process's memory, which is sealed against shrinking. */
static int own_dma_buf(int device)
{
	int memory = memfd_create("camera", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct udmabuf_create create = {
		.memfd = (uint32_t)memory,
		.flags = UDMABUF_FLAGS_CLOEXEC,
		.size = BYTES,
	};
	int fd;

	if (memory < 0 || ftruncate(memory, BYTES) || fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK))
		err(2, "camera's memory");
	fd = ioctl(device, UDMABUF_CREATE, &create);
	if (fd < 0)
		err(2, "udmabuf");
	close(memory);
	return fd;
}

/* One byte, with a descriptor. */
static void send_fd(int socket, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	char nothing = 0;
	struct iovec byte = { &nothing, 1 };
	struct msghdr message = {
		.msg_iov = &byte,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(int));
	if (sendmsg(socket, &message, 0) != 1)
		err(2, "sendmsg");
}

static void sync_access(int fd, uint64_t flags)
{
	struct dma_buf_sync access = { .flags = DMA_BUF_SYNC_WRITE | flags };

	if (ioctl(fd, DMA_BUF_IOCTL_SYNC, &access))
		err(2, "DMA_BUF_IOCTL_SYNC");
}

/* Takes a picture whenever it is asked, always in the same memory; ends with its socket. */
static int camera(int device, int socket)
{
	int fd = own_dma_buf(device);
	uint8_t *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char byte;

	if (memory == MAP_FAILED)
		err(2, "camera's mapping");
	send_fd(socket, fd);
	for (unsigned int picture = 0; read(socket, &byte, 1) == 1; picture++) {
		sync_access(fd, DMA_BUF_SYNC_START);
		for (uint32_t i = 0; i < BYTES; i++)
			memory[i] = pixel(picture, i);
		sync_access(fd, DMA_BUF_SYNC_END);
		if (write(socket, &byte, 1) != 1)
			err(2, "camera");
	}
	return 0;
}

/* ------------------------------------------------------------------ the runtime */

static int receive_fd(int socket)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte;
	struct iovec room = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &room,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	struct cmsghdr *head;
	int fd;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1)
		err(2, "recvmsg");
	head = CMSG_FIRSTHDR(&message);
	if (!head || head->cmsg_type != SCM_RIGHTS)
		errx(2, "the camera has sent no descriptor");
	memcpy(&fd, CMSG_DATA(head), sizeof(int));
	return fd;
}

/* in -> middle -> out; the input is external: it lies in what is bound. */
static void *build(size_t *size)
{
	const struct npumem_tensor_args tensors[TENSORS] = {
		{ .size = BYTES,
		  .kind = NPUMEM_TENSOR_INPUT,
		  .flags = NPUMEM_TENSOR_FLAG_EXTERNAL },
		{ .size = BYTES },
		{ .size = BYTES, .kind = NPUMEM_TENSOR_OUTPUT },
	};
	const struct npumem_region whole = npumem_region_whole(BYTES);
	struct npumem_builder *builder = npumem_builder_new();
	void *blob;

	for (uint32_t t = 0; t < TENSORS; t++) {
		must(npumem_builder_add_tensor(builder, &tensors[t], &error));
		must(npumem_builder_add_tile(builder, t, &whole, &error));
	}
	for (uint32_t t = IN; t < OUT; t++) {
		const struct npumem_access accesses[] = {
			{ .tile = t, .mode = NPUMEM_ACCESS_READ, .inplace = NPUMEM_NONE },
			{ .tile = t + 1, .mode = NPUMEM_ACCESS_WRITE, .inplace = NPUMEM_NONE },
		};

		must(npumem_builder_add_step(builder, NULL, 0, 0, accesses, 2, &error));
	}
	must(npumem_builder_finish(builder, &blob, size, &error));
	npumem_builder_free(builder);
	return blob;
}

static void take_picture(int socket)
{
	char byte = 0;

	if (write(socket, &byte, 1) != 1 || read(socket, &byte, 1) != 1)
		errx(2, "the camera is gone");
}

/* One inference of what the camera takes now; false: its output is not that picture. */
static bool infer(struct npumem_run *run, const struct npumem_layout *layout,
		  const struct npumem_maps *maps, int socket, unsigned int picture)
{
	const struct npumem_sim_command copy = { .op = NPUMEM_SIM_COPY };
	const struct drm_npumem_job job = npumem_job_positions(0, 0, 2, &copy, sizeof(copy));
	struct npumem_submit submit = { .jobs = &job, .job_count = 1 };
	static uint8_t out[BYTES];

	take_picture(socket);
	if (picture)
		must(npumem_run_reset(run, &error));
	must(npumem_run_submit(run, &submit, &error));
	must(npumem_run_wait(run, npumem_deadline(60 * SECOND), &error));
	must(npumem_layout_read(layout, 0, OUT, maps, out, BYTES, &error));
	for (uint32_t i = 0; i < BYTES; i++)
		if (out[i] != pixel(picture, i))
			return false;
	return true;
}

static void see(int socket, unsigned int pictures)
{
	const struct npumem_request request = { .deadline = npumem_deadline(60 * SECOND) };
	int fd = receive_fd(socket);
	struct npumem_device *device;
	struct npumem_layout *layout;
	struct npumem_graph *graph;
	struct npumem_maps maps;
	struct npumem_plan *plan;
	struct npumem_run *run;
	struct npumem_bo *in;
	size_t size;
	void *blob = build(&size);

	must(npumem_device_open(NULL, &device, &error));
	must(npumem_graph_new(device, blob, size, NULL, &graph, &error));
	must(npumem_plan_request(graph, &request, &plan, &error));
	must(npumem_plan_wait(plan, request.deadline, &error));
	must(npumem_plan_layout(plan, &layout, &error));
	must(npumem_run_new(plan, 0, NULL, &run, &error));
	must(npumem_run_map(run, NULL, &maps, &error));
	must(npumem_bo_import(device, fd, &in, &error));
	close(fd);
	must(npumem_run_bind(run, IN, in, 0, &error));
	for (unsigned int picture = 0; picture < pictures; picture++)
		if (!infer(run, layout, &maps, socket, picture))
			errx(1, "picture %u: the output is another", picture);
	printf("%u pictures of %u bytes, in a dma-buf of another process, bound once: all outputs right\n",
	       pictures, BYTES);
	npumem_run_free(run);
	npumem_bo_free(in);
	npumem_layout_free(layout);
	npumem_plan_free(plan);
	npumem_graph_free(graph);
	npumem_device_close(device);
	free(blob);
}

/* --------------------------------------------------------- TensorFlow Lite */

/* struct plugin - the delegate's library */
static struct {
	void *(*create)(char **keys, char **values, size_t count, void (*report)(const char *text));
	void (*destroy)(void *delegate);
	int (*bind_input)(void *delegate, const void *tensor, int dma_buf, uint64_t offset);
	int (*stats)(void *delegate, struct npumem_tflite_stats *stats);
} plugin;

static void *new_delegate(const char *path)
{
	char *keys[] = { strdup("inputs"), strdup("fallback") };
	char *values[] = { strdup("bound"), strdup("error") };
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *delegate;

	if (!library)
		errx(2, "%s", dlerror());
	tfl_find(library, "tflite_plugin_create_delegate", &plugin.create);
	tfl_find(library, "tflite_plugin_destroy_delegate", &plugin.destroy);
	tfl_find(library, "npumem_tflite_bind_input", &plugin.bind_input);
	tfl_find(library, "npumem_tflite_get_stats", &plugin.stats);
	delegate = plugin.create(keys, values, 2, NULL);
	if (!delegate)
		exit(1);
	for (int i = 0; i < 2; i++) {
		free(keys[i]);
		free(values[i]);
	}
	return delegate;
}

/* The same picture, beside the plain runtime; @changed: the outputs are others than before. */
static void infer_both(void *plain, void *ours, int socket, unsigned int picture, bool *changed)
{
	const struct tfl_tensor *right = tfl.output(plain, 0), *out = tfl.output(ours, 0);
	struct tfl_tensor *in = tfl.input(plain, 0);
	void *before = malloc(right->bytes);

	if (!before)
		errx(2, "out of memory");
	memcpy(before, right->data.raw, right->bytes);
	take_picture(socket);
	for (uint32_t i = 0; i < in->bytes; i++)
		((uint8_t *)in->data.raw)[i] = pixel(picture, i);
	if (tfl.invoke(plain) != TFL_OK || tfl.invoke(ours) != TFL_OK)
		errx(1, "picture %u: the model does not run", picture);
	if (out->bytes != right->bytes || memcmp(out->data.raw, right->data.raw, right->bytes))
		errx(1, "picture %u: the outputs are others than the plain runtime's", picture);
	*changed = *changed || (picture && memcmp(before, right->data.raw, right->bytes) != 0);
	free(before);
}

static void see_model(int socket, unsigned int pictures, char **paths)
{
	struct npumem_tflite_stats stats = { .size = sizeof(stats) };
	void *model, *plain, *ours, *delegate;
	bool changed = false;
	int fd = receive_fd(socket);

	tfl_load(paths[0]);
	delegate = new_delegate(paths[1]);
	model = tfl.model_new(paths[2]);
	plain = model ? tfl_interpreter(model, NULL) : NULL;
	ours = model ? tfl_interpreter(model, delegate) : NULL;
	if (!plain || !ours)
		errx(1, "%s is not taken", paths[2]);
	if (tfl.input(ours, 0)->bytes > BYTES)
		errx(2, "%s takes larger pictures", paths[2]);
	if (plugin.bind_input(delegate, tfl.input(ours, 0), fd, 0))
		exit(1);
	close(fd);
	for (unsigned int picture = 0; picture < pictures; picture++)
		infer_both(plain, ours, socket, picture, &changed);
	if (!changed)
		errx(1, "all pictures have the same outputs, which tells nothing");
	if (plugin.stats(delegate, &stats) || stats.enforced_by != NPUMEM_TFLITE_DRIVER)
		errx(1, "the driver has not enforced the plan");
	printf("TensorFlow Lite: %u inputs of %zu bytes, bound once; arena %llu bytes without them: all "
	       "outputs equal to the plain runtime's\n",
	       pictures, tfl.input(plain, 0)->bytes, (unsigned long long)stats.arena_bytes);
	tfl.interpreter_free(ours);
	tfl.interpreter_free(plain);
	plugin.destroy(delegate);
	tfl.model_free(model);
}

int main(int argc, char **argv)
{
	unsigned int pictures;

	int sockets[2], status, device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	pid_t pid;

	if (argc != 2 && argc != 5)
		errx(2, "usage: npumem_camera PICTURES [RUNTIME DELEGATE MODEL]");
	pictures = (unsigned int)strtoul(argv[1], NULL, 10);
	if (device < 0)
		err(2, "/dev/udmabuf");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		err(2, "socketpair");
	pid = fork();
	if (pid < 0)
		err(2, "fork");
	if (!pid) {
		close(sockets[0]);
		_exit(camera(device, sockets[1]));
	}
	close(sockets[1]);
	close(device);
	if (argc == 5)
		see_model(sockets[0], pictures, argv + 2);
	else
		see(sockets[0], pictures);
	close(sockets[0]);
	if (waitpid(pid, &status, 0) != pid || status)
		errx(1, "the camera has failed");
	return 0;
}
