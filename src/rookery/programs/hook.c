/* The quick hook program, for Linux: hook PYTHON HOOK.PY SOCKET SPOOL AGENT < PAYLOAD
 *
 * It does what hook.py does while all is well. In every other case hook.py takes over, in the
 * same process: with the payload, the call's key, and what the daemon has said so far. An empty
 * HOOK.PY means that it is damaged: then the answer is the one in the environment. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { DEADLINE_S = 2, DECISION_S = 350, MAX_ANCESTORS = 6, PART = 65536 };
typedef struct { char *bytes; size_t size; int failed; } Text;

static void set_deadline(int line, int seconds) {
    struct timeval longest = {seconds, 0};
    setsockopt(line, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
    setsockopt(line, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
}
/* Read to the end, and add a zero byte. Once a person is asked, that may take long. */
static Text read_all(int file) {
    Text text = {NULL, 0, 0};
    for (ssize_t n = 0;; text.size += (size_t)n) {
        if (!(text.bytes = realloc(text.bytes, text.size + PART + 1))) exit(2);
        text.bytes[text.size] = 0;
        if (!strncmp(text.bytes, "wait ", 5)) set_deadline(file, DECISION_S);
        if ((n = read(file, text.bytes + text.size, PART)) > 0) continue;
        text.failed = n < 0;
        return text;
    }
}
static int write_all(int file, const char *bytes, size_t size) {
    for (ssize_t n; size; bytes += n, size -= (size_t)n)
        if ((n = write(file, bytes, size)) <= 0) return 1;
    return 0;
}
/* Name the processes above this one, the nearest first, each with its start time. */
static void name_ancestors(char *names, size_t room) {
    for (int pid = getppid(), i = 0; pid > 1 && i < MAX_ANCESTORS; i++) {
        char path[64], stat[1024];
        unsigned long long began;
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        int file = open(path, O_RDONLY), parent;
        ssize_t n = read(file, stat, sizeof stat - 1);
        close(file);
        stat[n > 0 ? n : 0] = 0;
        char *fields = strrchr(stat, ')'); /* the name before it may hold anything */
        if (!fields || sscanf(fields, ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d"
                              " %*d %*d %*d %*d %*d %llu", &parent, &began) != 2) return;
        size_t used = strlen(names);
        snprintf(names + used, room - used, "%s%d:%llu", used ? "," : "", pid, began);
        pid = parent;
    }
}
static const char *or_dash(const char *value) { return value && *value ? value : "-"; }
static Text tell(const char *door, const char *key, const char *agent, Text payload) {
    char names[512] = "", *head, *server = strdup(or_dash(getenv("TMUX"))), *comma;
    for (int i = 0; i < 2 && (comma = strrchr(server, ',')); i++) *comma = 0;
    name_ancestors(names, sizeof names);
    int size = asprintf(&head, "v2 %s %s %zu %s %s %s %s\n", key, agent, payload.size,
        or_dash(getenv("ROOKERY_BADGE")), or_dash(getenv("TMUX_PANE")), or_dash(names), server);
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strncpy(to.sun_path, door, sizeof to.sun_path - 1);
    struct ucred peer;
    socklen_t room = sizeof peer;
    int line = socket(AF_UNIX, SOCK_STREAM, 0);
    set_deadline(line, DEADLINE_S);
    if (size < 0 || strchr(server, '\n') || connect(line, (struct sockaddr *)&to, sizeof to)
        || getsockopt(line, SOL_SOCKET, SO_PEERCRED, &peer, &room) || peer.uid != getuid()
        || write_all(line, head, (size_t)size) || write_all(line, payload.bytes, payload.size))
        return (Text){"", 0, 1};
    return read_all(line);
}
/* Say "ask" or "deny" to a call before a tool runs, and nothing to any other: see hook.py. */
static int say_undecided(Text payload) {
    const char *event = getenv("ROOKERY_HOOK_EVENT"), *answer = getenv("ROOKERY_HOOK_ANSWER");
    const char *field = "\"hook_event_name\"";
    char *value;
    if (!event || !*event || !answer || asprintf(&value, "\"%s\"", event) < 0) return 0;
    if (memmem(payload.bytes, payload.size, field, strlen(field))
        && !memmem(payload.bytes, payload.size, value, strlen(value))) return 0;
    return write_all(1, answer, strlen(answer));
}
int main(int count, char **words) {
    char key[64];
    unsigned long long random = 0;
    struct timespec now;
    if (count != 6) return count == 1 && printf("v2\n") < 0;
    if (getentropy(&random, sizeof random) || clock_gettime(CLOCK_REALTIME, &now)) return 2;
    snprintf(key, sizeof key, "%020lld-%016llx", now.tv_sec * 1000000000LL + now.tv_nsec, random);
    signal(SIGPIPE, SIG_IGN);
    Text payload = read_all(0), said = tell(words[3], key, words[5], payload);
    char *end = said.bytes + said.size, *rest = strchr(said.bytes, '\n');
    int is_waiting = rest && !strncmp(said.bytes, "wait ", 5);
    if (is_waiting && !strncmp(rest, "\ndecided\n", 9)) return write_all(1, rest + 9, end - rest - 9);
    if (!said.failed && !strncmp(said.bytes, "taken\n", 6)) return write_all(1, rest + 1, end - rest - 1);
    if (rest) rest[1] = 0; /* of what was said, only what to say if there is never a decision */
    int file = memfd_create("payload", 0);
    if (!*words[2] || write_all(file, payload.bytes, payload.size) || lseek(file, 0, SEEK_SET)
        || dup2(file, 0)) return say_undecided(payload);
    execl(words[1], words[1], "-I", "-S", words[2], words[3], words[4], words[5], key,
          is_waiting ? said.bytes : "", NULL);
    return say_undecided(payload);
}
