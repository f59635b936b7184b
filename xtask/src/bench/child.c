/* The small program that benchmarks supervise: in C, so that its own start costs next to nothing.
 *
 *   child stamp FIFO TAG   tells when its first instruction ran, then waits to be killed
 *   child tree FIFO N      becomes N + 1 processes that do not want to end; each tells its pid
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void tell(const char *fifo, const char *tag, struct timespec at) {
    char line[128];
    long long ns = at.tv_sec * 1000000000LL + at.tv_nsec;
    /* One write below PIPE_BUF: lines of several writers never mix. */
    int length = snprintf(line, sizeof line, "%s %d %lld\n", tag, getpid(), ns);
    int fd = open(fifo, O_WRONLY);
    if (fd < 0 || write(fd, line, length) != length) _exit(1);
    close(fd);
}

/* Asked to end, it has a child instead. */
static void multiply(int number) {
    (void)number;
    if (fork() == 0) setsid();
}

static void stay(const char *fifo, struct timespec at) {
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, multiply);
    tell(fifo, "branch", at);
    for (;;) pause();
}

static void branch(const char *fifo, int twice, struct timespec at) {
    if (fork() != 0) return;
    setsid();
    /* Half of them leave their parent, as daemons do. */
    if (twice && fork() != 0) _exit(0);
    stay(fifo, at);
}

int main(int count, char **words) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    if (count != 4) return 2;
    if (strcmp(words[1], "tree") == 0) {
        int branches = atoi(words[3]);
        /* A bound of its own: this is no place for a fork bomb. */
        for (int i = 0; i < branches && i < 200; i++) branch(words[2], i % 2, at);
        stay(words[2], at);
    }
    tell(words[2], words[3], at);
    for (;;) pause();
}
