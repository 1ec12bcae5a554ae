/* cli_latency.c - --latency, --latency-history, --latency-dist and --intrinsic-latency. Part of cli.h.
 *
 * The first three time PING, a hundred times a second; the last one times nothing but a bit of computing, and
 * so shows how long the machine itself keeps a process waiting. */
#include "tools/cli.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define SAMPLE_GAP_US      10000
#define RAW_DEFAULT_US     1000000
#define HISTORY_DEFAULT_US 15000000
#define DIST_DEFAULT_US    1000000

static int64_t pingUs(struct cli *c) {
    static const struct str ping[] = {{"PING", 4}};
    struct respReply reply;
    int64_t start_us = monotonicUs();
    cliSendWords(c, 1, ping);
    cliExpect(c, &reply);
    int64_t us = monotonicUs() - start_us;
    respReplyFree(&reply);
    return us;
}

/* ---- --latency, --latency-history ---- */

struct samples { /* in milliseconds */
    int64_t min, max, sum, count;
};

static void addSample(struct samples *s, int64_t ms) {
    if (s->count == 0 || ms < s->min) s->min = ms;
    if (ms > s->max) s->max = ms;
    s->sum += ms;
    s->count++;
}

static void printSamples(const struct cli *c, const struct samples *s) {
    long long min = s->min, max = s->max, count = s->count;
    double avg = (double)s->sum / (double)s->count;
    switch (c->output) {
    case CLI_TTY: printf("min: %lld, max: %lld, avg: %.2f (%lld samples)", min, max, avg, count); break;
    case CLI_CSV: printf("%lld,%lld,%.2f,%lld\n", min, max, avg, count); break;
    case CLI_RAW: printf("%lld %lld %.2f %lld\n", min, max, avg, count); break;
    default: printf("{\"min\": %lld, \"max\": %lld, \"avg\": %.2f, \"count\": %lld}\n", min, max, avg, count);
    }
    fflush(stdout);
}

int cliLatency(struct cli *c) {
    bool history = c->mode == CLI_LATENCY_HISTORY, live = c->output == CLI_TTY;
    int64_t default_us = history ? HISTORY_DEFAULT_US : RAW_DEFAULT_US;
    int64_t interval_us = c->interval_us ? c->interval_us : default_us;
    struct samples s = {0};
    for (int64_t start_us = monotonicUs();;) {
        addSample(&s, pingUs(c) / 1000);
        int64_t now_us = monotonicUs();
        bool over = now_us - start_us > interval_us;
        if (live) {
            printf("\033[0G\033[2K"); /* the line begins anew */
            printSamples(c, &s);
        } else if (over) {
            printSamples(c, &s);
            if (!history) return 0;
        }
        if (history && over) {
            if (live) printf(" -- %.2f seconds range\n", (double)(now_us - start_us) / 1e6);
            start_us = now_us;
            s = (struct samples){0};
        }
        usleep(SAMPLE_GAP_US);
    }
}

/* ---- --latency-dist ---- */

/* A column counts the samples up to its time and above that of the column before it. */
static const struct {
    int64_t max_us;
    char mark;
} columns[] = {
    {10, '.'},        {125, '-'},     {250, '*'},     {500, '#'},      {1000, '1'},     {2000, '2'},
    {3000, '3'},      {4000, '4'},    {5000, '5'},    {6000, '6'},     {7000, '7'},     {8000, '8'},
    {9000, '9'},      {10000, 'A'},   {20000, 'B'},   {30000, 'C'},    {40000, 'D'},    {50000, 'E'},
    {100000, 'F'},    {200000, 'G'},  {300000, 'H'},  {400000, 'I'},   {500000, 'J'},   {1000000, 'K'},
    {2000000, 'L'},   {4000000, 'M'}, {8000000, 'N'}, {16000000, 'O'}, {30000000, 'P'}, {60000000, 'Q'},
    {INT64_MAX, '?'},
};
#define COLUMNS (int)(sizeof(columns) / sizeof(columns[0]))

/* Of the 256 that terminals know: greys, then yellow, then red. */
static const int colours[] = {0,   233, 234, 235, 237, 239, 241, 243, 245, 247,
                              144, 143, 142, 184, 226, 214, 208, 202, 196};
#define COLOURS (int)(sizeof(colours) / sizeof(colours[0]))

static void printLegend(void) {
    printf("---------------------------------------------\n"
           "one column for the round trips up to its time\n"
           ". - * #          .01 .125 .25 .5 milliseconds\n"
           "1,2,3,...,9      1 to 9 milliseconds\n"
           "A,B,C,D,E        10,20,30,40,50 milliseconds\n"
           "F,G,H,I,J        .1,.2,.3,.4,.5 seconds\n"
           "K,L,M,N,O,P,Q,?  1,2,4,8,16,30,60,>60 seconds\n"
           "From 0 to 100%%: ");
    for (int i = 0; i < COLOURS; i++) printf("\033[48;5;%dm ", colours[i]);
    printf("\033[0m\n---------------------------------------------\n");
}

static void printSpectrum(const int64_t *counts, int64_t total) {
    printf("\033[38;5;0m");
    for (int i = 0; i < COLUMNS; i++) {
        int colour = (int)((counts[i] * (COLOURS - 1) + total - 1) / total); /* what is there is seen */
        printf("\033[48;5;%dm%c", colours[colour], columns[i].mark);
    }
    printf("\033[0m\n");
    fflush(stdout);
}

int cliLatencySpectrum(struct cli *c) {
    enum { LEGEND_EVERY = 20 };
    int64_t interval_us = c->interval_us ? c->interval_us : DIST_DEFAULT_US;
    for (int line = 0;; line = (line + 1) % LEGEND_EVERY) {
        int64_t counts[COLUMNS] = {0}, total = 0, start_us = monotonicUs();
        while (total == 0 || monotonicUs() - start_us < interval_us) {
            int64_t us = pingUs(c);
            int i = 0;
            while (us > columns[i].max_us) i++;
            counts[i]++;
            total++;
            usleep(SAMPLE_GAP_US);
        }
        if (line == 0) printLegend();
        printSpectrum(counts, total);
    }
}

/* ---- --intrinsic-latency ---- */

/* Some tens of nanoseconds that no compiler can take away. */
static uint64_t computeABit(uint64_t x) {
    for (int i = 0; i < 16; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

static volatile sig_atomic_t stop_measuring;

static void onInterrupt(int sig) {
    (void)sig;
    stop_measuring = 1;
}

int cliIntrinsicLatency(struct cli *c) {
    signal(SIGINT, onInterrupt); /* the figures so far are worth showing */
    volatile uint64_t state = 88172645463325252u;
    int64_t start_us = monotonicUs(), end_us = start_us + c->intrinsic_s * 1000000, now_us = start_us;
    int64_t worst_us = 0, runs = 0;
    while (now_us < end_us && !stop_measuring) {
        state = computeABit(state);
        int64_t before_us = now_us;
        now_us = monotonicUs();
        runs++;
        if (now_us - before_us <= worst_us) continue;
        worst_us = now_us - before_us;
        printf("Max latency so far: %lld microseconds.\n", (long long)worst_us);
        fflush(stdout);
        now_us = monotonicUs(); /* printing is not what is measured */
    }
    double avg_us = (double)(now_us - start_us) / (double)(runs ? runs : 1);
    printf("\n%lld total runs (avg latency: %.4f microseconds / %.2f nanoseconds per run).\n",
           (long long)runs, avg_us, avg_us * 1000);
    printf("Worst run took %.0fx longer than the average latency.\n",
           avg_us > 0 ? (double)worst_us / avg_us : 0);
    return 0;
}
