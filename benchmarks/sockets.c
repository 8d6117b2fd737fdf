/*
 * Calls a WebSocket server as fast as it answers, on many sockets.
 *
 *   sockets PORT PATH HELLO REQUEST SOCKETS DEPTH MILLISECONDS
 *
 * Each socket upgrades, sends HELLO unless it is empty and waits for one frame, and then
 * keeps DEPTH requests under way.  Prints the calls a second, and the median and the 99th
 * percentile of a round trip in microseconds.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_SOCKETS = 1024, MAX_DEPTH = 256, BUFFER = 1 << 21, MAX_TRIPS = 1 << 22 };

struct connection {
    int fd;
    size_t kept;                 /* bytes of an unfinished frame */
    unsigned char *buffer;
    double sent[MAX_DEPTH];      /* when the requests under way were sent, a ring */
    unsigned first, under_way;
};

static struct connection connections[MAX_SOCKETS];
static unsigned char request_frame[BUFFER];
static size_t request_size;
static float *trips;
static size_t trip_count;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

/* A masked text frame whose key is 0, so that its payload is the text. */
static size_t write_frame(unsigned char *to, const char *text, size_t size) {
    size_t at = 2;
    to[0] = 0x81;
    if (size < 126) {
        to[1] = 0x80 | size;
    } else if (size < 65536) {
        to[1] = 0x80 | 126;
        to[2] = size >> 8;
        to[3] = size;
        at = 4;
    } else {
        to[1] = 0x80 | 127;
        for (int byte = 0; byte < 8; byte++) to[2 + byte] = (uint64_t)size >> (56 - 8 * byte);
        at = 10;
    }
    memset(to + at, 0, 4);
    memcpy(to + at + 4, text, size);
    return at + 4 + size;
}

static void send_all(int fd, const void *data, size_t size) {
    const char *at = data;
    while (size) {
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
        if (sent < 0) fail("send");
        at += sent;
        size -= sent;
    }
}

/* The size of the whole frame at `at`, or 0 when it is not whole. */
static size_t whole_frame(const unsigned char *at, size_t size) {
    uint64_t payload;
    size_t head = 2;
    if (size < 2) return 0;
    payload = at[1] & 127;
    if (payload == 126) {
        if (size < 4) return 0;
        payload = at[2] << 8 | at[3];
        head = 4;
    } else if (payload == 127) {
        if (size < 10) return 0;
        payload = 0;
        for (int byte = 0; byte < 8; byte++) payload = payload << 8 | at[2 + byte];
        head = 10;
    }
    return size < head + payload ? 0 : head + payload;
}

static void send_requests(struct connection *c, unsigned count) {
    double time = now();
    for (unsigned n = 0; n < count; n++)
        c->sent[(c->first + c->under_way++) % MAX_DEPTH] = time;
    for (unsigned n = 0; n < count; n++) send_all(c->fd, request_frame, request_size);
}

/* Read what has come; return how many answers there are in it. */
static unsigned read_frames(struct connection *c) {
    unsigned answers = 0;
    size_t at = 0, size;
    ssize_t got = recv(c->fd, c->buffer + c->kept, BUFFER - c->kept, 0);
    if (got <= 0) fail("recv");
    c->kept += got;
    while ((size = whole_frame(c->buffer + at, c->kept - at))) {
        unsigned kind = c->buffer[at] & 15;
        if (kind == 8) {
            fprintf(stderr, "the server closed a socket\n");
            exit(1);
        }
        /* The last fragment of a message counts; a ping within seconds is not answered. */
        if (kind < 8 && c->buffer[at] & 0x80) answers++;
        at += size;
    }
    memmove(c->buffer, c->buffer + at, c->kept - at);
    c->kept -= at;
    return answers;
}

static void open_connection(struct connection *c, int port, const char *path, const char *hello) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int one = 1;
    char head[1024];
    size_t size = 0;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    c->buffer = malloc(BUFFER);
    if (c->fd < 0 || !c->buffer) fail("socket");
    if (connect(c->fd, (struct sockaddr *)&address, sizeof address)) fail("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    int length = snprintf(head, sizeof head,
        "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", path, port);
    send_all(c->fd, head, length);
    /* Byte by byte: what follows the head is a frame already. */
    while (size < 4 || memcmp(head + size - 4, "\r\n\r\n", 4)) {
        if (size == sizeof head || recv(c->fd, head + size, 1, 0) != 1) fail("upgrade");
        size++;
    }
    if (strncmp(head, "HTTP/1.1 101", 12)) {
        fprintf(stderr, "no upgrade: %.60s\n", head);
        exit(1);
    }
    if (*hello) {
        unsigned char *frame = malloc(strlen(hello) + 14);
        send_all(c->fd, frame, write_frame(frame, hello, strlen(hello)));
        free(frame);
        while (!read_frames(c)) {}
    }
}

static int compare(const void *one, const void *other) {
    float a = *(const float *)one, b = *(const float *)other;
    return (a > b) - (a < b);
}

int main(int count, char **words) {
    if (count != 8) {
        fprintf(stderr, "usage: sockets PORT PATH HELLO REQUEST SOCKETS DEPTH MILLISECONDS\n");
        return 2;
    }
    int port = atoi(words[1]), sockets = atoi(words[5]), depth = atoi(words[6]);
    if (sockets < 1 || sockets > MAX_SOCKETS || depth < 1 || depth > MAX_DEPTH) return 2;
    request_size = write_frame(request_frame, words[4], strlen(words[4]));
    trips = malloc(MAX_TRIPS * sizeof *trips);
    int polling = epoll_create1(0);
    for (int n = 0; n < sockets; n++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connections[n]};
        open_connection(&connections[n], port, words[2], words[3]);
        epoll_ctl(polling, EPOLL_CTL_ADD, connections[n].fd, &event);
    }
    double begun = now(), end = begun + atof(words[7]) * 1e3, last = begun;
    size_t answered = 0;
    for (int n = 0; n < sockets; n++) send_requests(&connections[n], depth);
    while (last < end) {
        struct epoll_event events[64];
        int ready = epoll_wait(polling, events, 64, 1000);
        if (ready < 0 && errno != EINTR) fail("epoll_wait");
        for (int n = 0; n < ready; n++) {
            struct connection *c = events[n].data.ptr;
            unsigned answers = read_frames(c);
            last = now();
            for (unsigned m = 0; m < answers && c->under_way; m++) {
                if (trip_count < MAX_TRIPS) trips[trip_count++] = last - c->sent[c->first];
                c->first = (c->first + 1) % MAX_DEPTH;
                c->under_way--;
            }
            answered += answers;
            send_requests(c, answers);
        }
        if (!ready) last = now();
    }
    qsort(trips, trip_count, sizeof *trips, compare);
    if (!trip_count) return 1;
    printf("%.0f %.1f %.1f\n", answered / (last - begun) * 1e6,
        trips[trip_count / 2], trips[trip_count * 99 / 100]);
    return 0;
}
