// SPDX-License-Identifier: MIT
#include "exposition.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"

/* Whoever asks has so many seconds, is one of so many, and asks in so many bytes. */
#define ASK_SECONDS	 5
#define MAX_CLIENTS	 8
#define MAX_ASKED	 4096
/* For so many seconds nobody is let in where there is no descriptor for one. */
#define PAUSE_SECONDS	 1
/* How often the file is written, in seconds. */
#define TEXTFILE_SECONDS 15
/* Seconds until a socket is tried again that could not be had. */
#define SOCKET_SECONDS	 15
/* Bytes of a sentence on why it cannot be. */
#define WRONG_SIZE	 (CONFIG_PATH_SIZE + 64)

/*
 * struct client - who asks
 * @fd: -1: nobody
 * @number: of all who have come so far
 * @asked, @asked_size: what he has said so far
 * @answer, @answer_size, @answer_done: what he gets; NULL: he has not asked to the end
 */
struct client {
	struct exposition *exposition;
	int fd;
	uint64_t number;
	sd_event_source *io;
	sd_event_source *timer;
	char asked[MAX_ASKED + 1];
	size_t asked_size;
	char *answer;
	size_t answer_size;
	size_t answer_done;
};

/*
 * struct exposition - the socket and the file
 * @socket, @textfile: paths; "": none
 * @mode: of the socket
 * @bound, @written: which files they are, once they are there
 * @listen: event source of the socket, which it closes; NULL: there is none, or not yet
 * @again: one that lets clients in again, or tries the socket again; it is there before it is
 *	needed, since it takes a descriptor
 * @socket_wrong: errno of the last try of the socket, which the log has
 * @told_full: the log says that there is no descriptor for clients
 * @timer: of the file
 * @came: clients so far
 * @textfile_wrong: why the last try to write it failed; "": it did not
 */
struct exposition {
	sd_event *event;
	struct exposition_source source;
	char socket[CONFIG_PATH_SIZE];
	char textfile[CONFIG_PATH_SIZE];
	uint64_t mode;
	struct stat bound, written;
	sd_event_source *listen;
	sd_event_source *again;
	int socket_wrong;
	bool told_full;
	sd_event_source *timer;
	uint64_t came;
	char textfile_wrong[WRONG_SIZE];
	struct client clients[MAX_CLIENTS];
};

/* ---------------------------------------------------------------------- clients */

static void client_end(struct client *client)
{
	sd_event_source_disable_unref(client->io);
	sd_event_source_disable_unref(client->timer);
	if (client->fd >= 0)
		close(client->fd);
	free(client->answer);
	*client = (struct client){ .exposition = client->exposition, .fd = -1 };
}

/* The older format is for those who ask for it, and do not take the newer one. */
static bool wants_open(const char *asked)
{
	return strcasestr(asked, "application/openmetrics-text") ||
	       !strcasestr(asked, "text/plain");
}

/* The path of what is asked for, which may stand behind the name of a host (RFC 9112: 3.2.2). */
static const char *path_in(const char *target)
{
	if (strncasecmp(target, "http://", 7) != 0)
		return target;
	target += 7;
	target += strcspn(target, "/? \r\n");
	return *target == '/' ? target : "/";
}

/* Makes the answer to what was asked; -ENOMEM. RFC 9110: 9.3.2, HEAD; 15.5.6, what a 405 has. */
static int make_answer(struct client *client)
{
	const struct exposition_source *source = &client->exposition->source;
	bool open = wants_open(client->asked), head = !strncmp(client->asked, "HEAD ", 5);
	const char *status = "200 OK", *allow = "", *path = path_in(client->asked + (head ? 5 : 4));
	char *text = NULL;
	size_t size = 0, path_size = strcspn(path, " \r\n?");
	int length;

	if (!head && strncmp(client->asked, "GET ", 4) != 0) {
		status = "405 Method Not Allowed";
		allow = "Allow: GET, HEAD\r\n";
	} else if (strncmp(path, "/metrics", path_size) != 0 ||
		   (path_size != 1 && path_size != 8)) {
		status = "404 Not Found";
	} else if (!(text = source->text(source->data, open, &size))) {
		return -ENOMEM;
	}
	length = asprintf(&client->answer,
			  "HTTP/1.1 %s\r\n%sContent-Type: %s; charset=utf-8\r\n"
			  "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
			  status, allow,
			  *status != '2' ? "text/plain" :
			  open		 ? "application/openmetrics-text; version=1.0.0" :
					   "text/plain; version=0.0.4",
			  size, text && !head ? text : "");
	free(text);
	if (length < 0) {
		client->answer = NULL;
		return -ENOMEM;
	}
	client->answer_size = (size_t)length;
	return 0;
}

/* Reads on; whether all has been asked. A negative errno ends the client. */
static int read_asked(struct client *client)
{
	ssize_t got = recv(client->fd, client->asked + client->asked_size,
			   MAX_ASKED - client->asked_size, MSG_DONTWAIT);
	size_t empty;

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!got)
		return -ECONNRESET;
	client->asked_size += (size_t)got;
	client->asked[client->asked_size] = '\0';
	/* Empty lines before a request are nothing (RFC 9112: 2.2). */
	empty = strspn(client->asked, "\r\n");
	client->asked_size -= empty;
	memmove(client->asked, client->asked + empty, client->asked_size + 1);
	/* A NUL is no part of a request, and hides what follows. */
	if (strlen(client->asked) != client->asked_size)
		return -EBADMSG;
	/* Of either end of a line each (RFC 9112: 2.2). */
	if (strstr(client->asked, "\n\r\n") || strstr(client->asked, "\n\n"))
		return 1;
	return client->asked_size == MAX_ASKED ? -E2BIG : 0;
}

/* Sends on; whether all has been sent. */
static int send_answer(struct client *client)
{
	ssize_t sent = send(client->fd, client->answer + client->answer_done,
			    client->answer_size - client->answer_done, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (sent < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	client->answer_done += (size_t)sent;
	return client->answer_done == client->answer_size;
}

static int on_client(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct client *client = data;
	int ready = client->answer ? 1 : read_asked(client);

	if (ready > 0 && !client->answer) {
		ready = make_answer(client);
		if (!ready)
			ready = sd_event_source_set_io_events(source, EPOLLOUT) < 0 ? -EIO : 1;
	}
	if (ready > 0)
		ready = send_answer(client);
	if (ready)
		client_end(client);
	return 0;
}

static int on_late(sd_event_source *source, uint64_t usec, void *data)
{
	client_end(data);
	return 0;
}

/* A place that is free, or that of who came first: who says nothing keeps nobody else out. */
static struct client *place_of(struct exposition *exposition)
{
	struct client *first = &exposition->clients[0];

	for (size_t i = 0; i < MAX_CLIENTS; i++) {
		if (exposition->clients[i].fd < 0)
			return &exposition->clients[i];
		if (exposition->clients[i].number < first->number)
			first = &exposition->clients[i];
	}
	client_end(first);
	return first;
}

/*
 * Who waits at the socket goes on waiting, and the loop would try again at once, for ever: leave
 * him there for a while, in which others may close what they have.
 */
static void pause_clients(struct exposition *exposition, int err)
{
	if (!exposition->told_full)
		log_warning("no metrics for who asks: %s; tried again every %d s", strerror(-err),
			    PAUSE_SECONDS);
	exposition->told_full = true;
	if (sd_event_source_set_time(exposition->again, now_us() + PAUSE_SECONDS * 1000000ull) <
		    0 ||
	    sd_event_source_set_enabled(exposition->again, SD_EVENT_ONESHOT) < 0)
		return;
	sd_event_source_set_enabled(exposition->listen, SD_EVENT_OFF);
}

/* Whether accept4() fails again as long as nothing else changes, and not for one who has gone. */
static bool is_full(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOBUFS || err == -ENOMEM;
}

static int on_connection(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct exposition *exposition = data;
	struct client *client;
	int from = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), err;

	if (from < 0) {
		err = -errno;
		if (is_full(err))
			pause_clients(exposition, err);
		return 0;
	}
	exposition->told_full = false;
	client = place_of(exposition);
	client->fd = from;
	client->number = ++exposition->came;
	err = sd_event_add_io(exposition->event, &client->io, from, EPOLLIN, on_client, client);
	if (err >= 0)
		err = sd_event_add_time_relative(exposition->event, &client->timer, CLOCK_MONOTONIC,
						 ASK_SECONDS * 1000000ull, 0, on_late, client);
	if (err < 0)
		client_end(client);
	return 0;
}

/* Somebody may have put another file in the place of our own. */
static bool is_own(const char *path, const struct stat *own)
{
	struct stat status;

	return !lstat(path, &status) && status.st_dev == own->st_dev &&
	       status.st_ino == own->st_ino;
}

static void remove_own(const char *path, const struct stat *own)
{
	if (is_own(path, own))
		unlink(path);
}

/* ----------------------------------------------------------------------- socket */

static void socket_end(struct exposition *exposition)
{
	for (size_t i = 0; i < MAX_CLIENTS; i++)
		client_end(&exposition->clients[i]);
	if (exposition->listen)
		remove_own(exposition->socket, &exposition->bound);
	sd_event_source_set_enabled(exposition->again, SD_EVENT_OFF);
	exposition->listen = sd_event_source_disable_unref(exposition->listen);
	exposition->socket[0] = '\0';
}

/*
 * A socket that a daemon before has left is in the way. Anything else stays, such as the socket of
 * a daemon that runs: a second one, which the driver will refuse, must not cut it off.
 */
static void remove_left(const struct sockaddr_un *address)
{
	struct stat status;
	int fd;

	if (lstat(address->sun_path, &status) || !S_ISSOCK(status.st_mode))
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) &&
	    errno == ECONNREFUSED)
		unlink(address->sun_path);
	close(fd);
}

/* Has @fd, which is bound, take clients; it is closed with @exposition->listen then. */
static int socket_listen(struct exposition *exposition, int fd)
{
	int err;

	/* Nobody connects before its mode is set, since nobody listens. */
	if (chmod(exposition->socket, (mode_t)exposition->mode) || listen(fd, MAX_CLIENTS))
		return -errno;
	err = sd_event_add_io(exposition->event, &exposition->listen, fd, EPOLLIN, on_connection,
			      exposition);
	if (err < 0)
		return err;
	sd_event_source_set_io_fd_own(exposition->listen, true);
	return 0;
}

static int socket_begin(struct exposition *exposition)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = exposition->socket;
	int fd, err = 0;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	remove_left(&address);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    lstat(path, &exposition->bound))
		err = -errno;
	if (!err) {
		err = socket_listen(exposition, fd);
		/* Who finds it would take it for one of a daemon that was killed. */
		if (err)
			remove_own(path, &exposition->bound);
	}
	if (err)
		close(fd);
	return err;
}

/* @anew: who has changed the configuration wants to know, whatever was said before. */
static void socket_try(struct exposition *exposition, bool anew)
{
	int err = socket_begin(exposition), before = exposition->socket_wrong;

	exposition->socket_wrong = err;
	if (err && (anew || err != before))
		log_warning("no metrics at %s: %s; tried again every %d s", exposition->socket,
			    strerror(-err), SOCKET_SECONDS);
	else if (!err && before)
		log_notice("the metrics are told at %s now", exposition->socket);
	if (err && (sd_event_source_set_time_relative(exposition->again,
						      SOCKET_SECONDS * 1000000ull) < 0 ||
		    sd_event_source_set_enabled(exposition->again, SD_EVENT_ONESHOT) < 0))
		log_warning("%s is not tried again", exposition->socket);
}

static int on_again(sd_event_source *source, uint64_t usec, void *data)
{
	struct exposition *exposition = data;

	if (exposition->listen)
		sd_event_source_set_enabled(exposition->listen, SD_EVENT_ON);
	else
		socket_try(exposition, false);
	return 0;
}

/* Whether the socket is there already, as the configuration has it. */
static bool socket_is(const struct exposition *exposition, const struct config *config)
{
	return exposition->listen && !strcmp(exposition->socket, config->metrics_socket) &&
	       exposition->mode == config->metrics_mode &&
	       is_own(exposition->socket, &exposition->bound);
}

static void socket_set(struct exposition *exposition, const struct config *config)
{
	/* Who is being answered has nothing to do with what else has changed. */
	if (socket_is(exposition, config))
		return;
	socket_end(exposition);
	snprintf(exposition->socket, sizeof(exposition->socket), "%s", config->metrics_socket);
	exposition->mode = config->metrics_mode;
	if (*exposition->socket)
		socket_try(exposition, true);
	else
		exposition->socket_wrong = 0;
}

/* ------------------------------------------------------------------------- file */

/* Opens the file that takes the other one's place; -1, with a sentence. */
static int open_textfile(const char *path, char wrong[WRONG_SIZE])
{
	struct stat status;
	int fd;

	/* Such as a FIFO that somebody reads, or a device: it is not the daemon's to remove. */
	if (!lstat(path, &status) && !S_ISREG(status.st_mode)) {
		snprintf(wrong, WRONG_SIZE, "%s is no regular file", path);
		return -1;
	}
	/* One that was left from before may have another name, which is somebody's. */
	(void)!unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		snprintf(wrong, WRONG_SIZE, "%s", strerror(errno));
	return fd;
}

/* Writes all of it and takes the place of the file before; a negative errno. */
static int fill_textfile(int fd, const char *path, const char *text, size_t size,
			 const char *textfile)
{
	ssize_t written = write(fd, text, size);

	if (written >= 0 && written != (ssize_t)size)
		return -ENOSPC;
	return written < 0 || fchmod(fd, 0644) || rename(path, textfile) ? -errno : 0;
}

/* @wrong: why it failed; "": it did not. */
static void write_textfile(struct exposition *exposition, char wrong[WRONG_SIZE])
{
	char path[CONFIG_PATH_SIZE + 8];
	size_t size;
	char *text = exposition->source.text(exposition->source.data, false, &size);
	struct stat status;
	int fd = -1, err = text ? 0 : -ENOMEM;

	*wrong = '\0';
	/* Readers see all of it or the one before. */
	snprintf(path, sizeof(path), "%s.new", exposition->textfile);
	/* A device, or a socket, is somebody's. */
	if (!lstat(exposition->textfile, &status) && !S_ISREG(status.st_mode))
		snprintf(wrong, WRONG_SIZE, "what is there is no regular file");
	else if (text)
		fd = open_textfile(path, wrong);
	if (fd >= 0) {
		err = fill_textfile(fd, path, text, size, exposition->textfile);
		if (!err)
			fstat(fd, &exposition->written);
		close(fd);
		if (err)
			unlink(path);
	}
	if (err)
		snprintf(wrong, WRONG_SIZE, "%s", strerror(-err));
	free(text);
}

static int on_write(sd_event_source *source, uint64_t usec, void *data)
{
	struct exposition *exposition = data;
	char wrong[WRONG_SIZE];

	write_textfile(exposition, wrong);
	/* To say it once is enough. A disk that is full may have room again. */
	if (*wrong && strcmp(wrong, exposition->textfile_wrong) != 0)
		log_warning("the metrics cannot be written to %s: %s; tried again every %d s",
			    exposition->textfile, wrong, TEXTFILE_SECONDS);
	else if (!*wrong && *exposition->textfile_wrong)
		log_notice("the metrics are written to %s again", exposition->textfile);
	memcpy(exposition->textfile_wrong, wrong, sizeof(wrong));
	if (sd_event_source_set_time_relative(source, TEXTFILE_SECONDS * 1000000ull) >= 0)
		sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

/* ------------------------------------------------------------------------- both */

/* Adds a timer that is not running. */
static int add_timer(struct exposition *exposition, sd_event_source **timer,
		     sd_event_time_handler_t handler)
{
	int err = sd_event_add_time(exposition->event, timer, CLOCK_MONOTONIC, 0, 0, handler,
				    exposition);

	if (err >= 0)
		err = sd_event_source_set_enabled(*timer, SD_EVENT_OFF);
	return err < 0 ? err : 0;
}

int exposition_new(sd_event *event, const struct exposition_source *source, struct exposition **out)
{
	struct exposition *exposition = calloc(1, sizeof(*exposition));
	int err;

	*out = NULL;
	if (!exposition)
		return -ENOMEM;
	exposition->event = event;
	exposition->source = *source;
	for (size_t i = 0; i < MAX_CLIENTS; i++)
		exposition->clients[i] = (struct client){ .exposition = exposition, .fd = -1 };
	err = add_timer(exposition, &exposition->again, on_again);
	if (!err)
		err = add_timer(exposition, &exposition->timer, on_write);
	if (err) {
		exposition_free(exposition);
		return err;
	}
	*out = exposition;
	return 0;
}

/* Who reads it would go on telling what is no longer so. */
static void textfile_end(struct exposition *exposition)
{
	if (exposition->written.st_nlink)
		remove_own(exposition->textfile, &exposition->written);
	exposition->written = (struct stat){ 0 };
	exposition->textfile[0] = '\0';
}

void exposition_set(struct exposition *exposition, const struct config *config)
{
	socket_set(exposition, config);
	sd_event_source_set_enabled(exposition->timer, SD_EVENT_OFF);
	*exposition->textfile_wrong = '\0';
	if (strcmp(exposition->textfile, config->metrics_textfile) != 0)
		textfile_end(exposition);
	snprintf(exposition->textfile, sizeof(exposition->textfile), "%s",
		 config->metrics_textfile);
	if (!*exposition->textfile)
		return;
	/* At once. */
	if (sd_event_source_set_time(exposition->timer, 0) < 0 ||
	    sd_event_source_set_enabled(exposition->timer, SD_EVENT_ONESHOT) < 0)
		log_warning("no metrics in %s", exposition->textfile);
}

void exposition_free(struct exposition *exposition)
{
	if (!exposition)
		return;
	socket_end(exposition);
	textfile_end(exposition);
	sd_event_source_disable_unref(exposition->again);
	sd_event_source_disable_unref(exposition->timer);
	free(exposition);
}
