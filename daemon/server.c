// SPDX-License-Identifier: MIT
#include "server.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "cache_folder.h"
#include "clock.h"
#include "exposition.h"
#include "improve.h"
#include "intake.h"
#include "log.h"
#include "metrics.h"
#include "netlink.h"
#include "planner.h"
#include "policy.h"
#include "quota.h"
#include "request.h"
#include "worker.h"

#define NO_WORK "none"
/* Name of the file that the service manager keeps: who owes planning time. */
#define STORED	"quotas"

/*
 * struct server - state of the daemon
 * @netlink: connection to the driver, attached or not
 * @intake: requests under way
 * @registered: the driver has taken the daemon
 * @cache_folder: opens the cache of @env
 * @exposition: where the metrics are told
 * @told_absent: the log has a message that the driver is not loaded
 */
struct server {
	const struct server_args *args;
	struct config config;
	sd_event *event;
	struct netlink *netlink;
	struct transport transport;
	struct request_env env;
	struct intake *intake;
	bool registered;
	struct cache_folder *cache_folder;
	struct exposition *exposition;
	bool told_absent;
};

/* ------------------------------------------------------------------- driver */

/* Say once that the driver is not there; when it comes, that is said too. */
static void on_absent(void *data)
{
	struct server *server = data;

	if (!server->told_absent)
		log_notice("the npumem driver is not loaded, waiting for it");
	server->told_absent = true;
}

static void on_attached(void *data)
{
	struct server *server = data;

	server->registered = true;
	log_info("registered with the npumem driver");
	sd_notify(0, "STATUS=Planning for the npumem driver.");
	intake_go_on(server->intake);
}

static void on_ready(void *data)
{
	struct server *server = data;

	intake_go_on(server->intake);
}

static void on_detached(void *data)
{
	struct server *server = data;

	server->registered = false;
	log_notice("the npumem driver is gone, waiting for it");
	sd_notify(0, "STATUS=Waiting for the npumem driver.");
	intake_drop(server->intake);
}

static void on_refused(int err, void *data)
{
	struct server *server = data;

	switch (err) {
	case -EBUSY:
		log_error("another daemon is registered with the npumem driver; there can be one");
		sd_event_exit(server->event, EXIT_SECOND);
		break;
	case -EPERM:
		log_error("the npumem driver wants the capability CAP_NET_ADMIN of its daemon");
		sd_event_exit(server->event, EXIT_PERMISSION);
		break;
	default:
		/* An upgrade leaves the old driver loaded: the service would be started in vain. */
		log_error("the npumem driver that is loaded speaks another version of the protocol "
			  "than this npumemd (" NPUMEM_PACKAGE_VERSION
			  "); waiting for the one that comes with it: load that, or restart the "
			  "machine");
		sd_notify(0,
			  "STATUS=Waiting for the npumem driver of version " NPUMEM_PACKAGE_VERSION
			  "; another one is loaded.");
	}
}

static const struct netlink_events netlink_events = {
	.absent = on_absent,
	.attached = on_attached,
	.ready = on_ready,
	.detached = on_detached,
	.refused = on_refused,
};

/* ------------------------------------------------------------------ signals */

static int on_terminate(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	struct server *server = data;

	log_info("%s: shutting down, %u requests under way, %zu searches for better plans",
		 info->ssi_signo == SIGTERM ? "SIGTERM" : "SIGINT", intake_count(server->intake),
		 improver_count(server->env.improver));
	sd_notify(0, "STOPPING=1");
	intake_abort(server->intake, ECANCELED, "npumemd is shutting down");
	return sd_event_exit(server->event, EXIT_SUCCESS);
}

static void warn(const struct config *config)
{
	char text[256];

	for (size_t i = 0; policies_warning(config->policies, i, text, sizeof(text)); i++)
		log_warning("%s", text);
}

/* To be said behind the file's name. */
static const char *missing(const struct config *config)
{
	return config->has_file ? "" : ", which is not there";
}

static void reload(struct server *server)
{
	struct config config;
	char reason[512];

	if (config_read(server->args->config_path, server->args->config_optional, &config, reason,
			sizeof(reason))) {
		log_error("the configuration stays as it was: %s", reason);
		return;
	}
	if (config_misses(&server->config, &config, server->args->config_path, reason,
			  sizeof(reason))) {
		log_error("the configuration stays as it was: %s", reason);
		config_free(&config);
		return;
	}
	/* As of a file that was cut while it was written. */
	if (server->config.policies && !config.policies)
		log_warning("no policy is left: all users may ask for all plans");
	config_free(&server->config);
	server->config = config;
	log_set_level(server->args->log_level >= 0 ? server->args->log_level : config.log_level);
	cache_folder_open(server->cache_folder);
	improver_configured(server->env.improver);
	exposition_set(server->exposition, &server->config);
	log_info("configuration read again from %s%s", server->args->config_path,
		 missing(&server->config));
	warn(&server->config);
	/* The new configuration may have more places. */
	intake_go_on(server->intake);
}

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, now_us());
	reload(data);
	sd_notify(0, "READY=1");
	return 0;
}

static int add_signals(struct server *server)
{
	sigset_t signals;
	int err;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &signals, NULL))
		return -errno;
	/* A journal that goes away must not take the daemon with it. */
	signal(SIGPIPE, SIG_IGN);
	/* Who starts it may ignore it, and with that lets no parent hear of its children's ends. */
	signal(SIGCHLD, SIG_DFL);
	err = sd_event_add_signal(server->event, NULL, SIGTERM, on_terminate, server);
	if (err >= 0)
		err = sd_event_add_signal(server->event, NULL, SIGINT, on_terminate, server);
	if (err >= 0)
		err = sd_event_add_signal(server->event, NULL, SIGHUP, on_hangup, server);
	return err < 0 ? err : 0;
}

/* -------------------------------------------------------------------- start */

static void on_tried(struct worker *worker, const struct worker_result *result, void *data)
{
	struct server *server = data;

	if (result->status)
		log_error("workers cannot run here: %s: %s (see seccomp and memory-limit in "
			  "npumemd.conf(5))",
			  result->text, strerror((int)result->status));
	sd_event_exit(server->event, result->status ? EXIT_FAILURE : EXIT_SUCCESS);
	worker_free(worker);
}

/*
 * Start one worker that does nothing, so that a kernel without seccomp, or limits too small
 * to start with, are found now and not by the first request.
 */
static int try_worker(struct server *server)
{
	const struct worker_args args = {
		.limits = {
			.memory = server->config.memory_limit,
			.cpu_seconds = server->config.cpu_limit,
			.seccomp = server->config.seccomp,
		},
		.result_limit = server->config.plan_limit,
		.blobs = WORKER_NO_BLOBS,
		.job = NO_WORK,
		.done = on_tried,
		.userdata = server,
	};
	struct worker *worker;
	sd_event *event = server->event;
	int err;

	/* It has an event loop of its own, since a loop ends only once. */
	err = sd_event_new(&server->event);
	if (err >= 0)
		err = worker_start(server->event, &args, &worker);
	if (err >= 0)
		err = sd_event_loop(server->event);
	sd_event_unref(server->event);
	server->event = event;
	return err;
}

static char *tell_metrics(void *data, bool open, size_t *size)
{
	const struct server *server = data;
	const struct metrics_now now = {
		.registered = server->registered,
		.running = intake_places(server->intake),
		.waiting = intake_waiting(server->intake),
		.places = server->config.workers,
		.searches = improver_count(server->env.improver),
		.held = improver_held(server->env.improver),
	};

	return metrics_text(server->env.metrics, &now, open, size);
}

static int start_metrics(struct server *server)
{
	const struct exposition_source source = { .text = tell_metrics, .data = server };
	int err;

	server->env.metrics = metrics_new();
	if (!server->env.metrics)
		return -ENOMEM;
	err = exposition_new(server->event, &source, &server->exposition);
	if (!err)
		exposition_set(server->exposition, &server->config);
	return err;
}

/* What the service manager has kept for the daemon since the last one; -1: nothing. */
static int take_stored(void)
{
	char **names = NULL;
	int count = sd_listen_fds_with_names(true, &names), found = -1;

	for (int i = 0; i < count; i++) {
		int fd = SD_LISTEN_FDS_START + i;

		if (found < 0 && !strcmp(names[i], STORED))
			found = fd;
		else
			close(fd);
		free(names[i]);
	}
	free(names);
	return found;
}

/*
 * A file that the next daemon has, too, if the service is started again, and nobody if it is
 * stopped. It is none in the folder of the service: systemd would hide a folder that outlives the
 * service's user from all others, with the socket of the metrics. -1: nobody keeps it.
 */
static int stored_file(void)
{
	int fd = take_stored(), err;

	if (fd >= 0)
		return fd;
	fd = memfd_create("npumemd-" STORED, MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	err = sd_pid_notify_with_fds(0, false, "FDSTORE=1\nFDNAME=" STORED, &fd, 1);
	if (err > 0)
		return fd;
	close(fd);
	return -1;
}

static int start(struct server *server)
{
	/* No worker inherits it. */
	int stored = stored_file();
	int err = sd_event_new(&server->event);

	if (err >= 0)
		err = add_signals(server);
	if (err >= 0)
		err = try_worker(server);
	if (err > 0)
		return err;
	if (err >= 0)
		err = sd_event_set_watchdog(server->event, true);
	if (err < 0) {
		log_error("cannot start: %s", strerror(-err));
		return err;
	}
	server->env = (struct request_env){
		.event = server->event,
		.transport = &server->transport,
		.config = &server->config,
	};
	server->env.quotas = quotas_new(QUOTA_MINUTE_US);
	if (server->env.quotas)
		quotas_keep(server->env.quotas, stored, now_us());
	err = server->env.quotas ? intake_new(&server->env, INTAKE_RETRY_US, &server->intake) :
				   -ENOMEM;
	if (!err)
		err = cache_folder_new(server->event, &server->config, &server->env.cache,
				       CACHE_FOLDER_RETRY_US, &server->cache_folder);
	if (!err)
		cache_folder_open(server->cache_folder);
	if (!err)
		err = start_metrics(server);
	if (!err)
		err = improver_new(server->event, &server->config, &server->env.cache,
				   server->env.metrics, &improver_host, &server->env.improver);
	if (err)
		log_error("cannot start: %s", strerror(-err));
	return err;
}

/* Warn if the daemon lacks a capability. The driver would say so too, but may not be there yet. */
static void check_capability(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };
	uint32_t bit = 1u << (CAP_NET_ADMIN % 32);

	if (syscall(SYS_capget, &header, data) || !(data[CAP_NET_ADMIN / 32].effective & bit))
		log_warning(
			"the capability CAP_NET_ADMIN is missing, which the npumem driver wants "
			"of its daemon: start npumemd as root or by its service");
}

static int no_work(const struct worker_input *input, struct worker_reply *reply)
{
	return 0;
}

const struct worker_job server_jobs[] = {
	{ PLANNER_PLAN, planner_plan, planner_prepare },
	{ PLANNER_CHECK, planner_check },
	{ NO_WORK, no_work },
	{ 0 },
};

int server_run(const struct server_args *args)
{
	struct server server = { .args = args, .config = args->config };
	int code;

	log_info("npumemd " NPUMEM_PACKAGE_VERSION " starting, %u workers",
		 (unsigned int)args->config.workers);
	if (!server.config.has_file)
		log_info("there is no %s", args->config_path);
	check_capability();
	warn(&server.config);
	code = start(&server);
	if (!code) {
		sd_notify(0, "STATUS=Waiting for the npumem driver.");
		code = netlink_open(server.event, &netlink_events, &server, &server.netlink);
		if (code)
			log_error("no netlink: %s", strerror(-code));
	}
	if (!code) {
		server.transport.ops = &netlink_transport_ops;
		server.transport.data = server.netlink;
		netlink_start(server.netlink);
		/* The loop has an exit code already if the driver refused this daemon at once. */
		if (sd_event_get_exit_code(server.event, &code) == -ENODATA)
			sd_notify(0, "READY=1");
		code = sd_event_loop(server.event);
		if (code < 0)
			log_error("event loop: %s", strerror(-code));
	}
	netlink_close(server.netlink);
	exposition_free(server.exposition);
	improver_free(server.env.improver);
	intake_free(server.intake);
	metrics_free(server.env.metrics);
	quotas_free(server.env.quotas);
	config_free(&server.config);
	cache_folder_free(server.cache_folder);
	plancache_close(server.env.cache);
	sd_event_unref(server.event);
	return code < 0 ? EXIT_FAILURE : code;
}
