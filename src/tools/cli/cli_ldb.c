/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_ldb.c - the mode --ldb: an EVAL under the server's script debugger. Part of cli.h.
 *
 * After SCRIPT DEBUG the connection's next EVAL is a session: whenever the script stops, the server
 * sends an array of lines and waits for a request of the debugger. The last line of the session is
 * "<endsession>"; then follow the reply of EVAL and the end of the connection. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/zmalloc.h"
#include "tools/cli/cli.h"

static const char intro[] =
    "The script is stopped before its first line. Type step or continue to run it, help for more\n"
    "commands, restart to begin again with the current file, quit to leave.\n\n";

/* Returns the style of a line on a terminal: the next line of the script stands out, errors are red, the
 * debugger's own messages are faint. */
static const char *cliLdbStyleOf(struct str line) {
    static const struct {
        const char *start, *style;
    } styles[] = {{"->", "1"}, {"<error>", "31"}, {"<hint>", "2"}, {"<debug>", "2"}};
    for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++)
        if (strncmp(line.ptr, styles[i].start, strlen(styles[i].start)) == 0) return styles[i].style;
    return NULL;
}

static void cliLdbPrintLine(struct str line) {
    const char *style = isatty(STDOUT_FILENO) ? cliLdbStyleOf(line) : NULL;
    if (style) printf("\033[%sm", style);
    fwrite(line.ptr, 1, line.len, stdout);
    fputs(style ? "\033[0m\n" : "\n", stdout);
}

/* Prints an answer; returns false for the last one of the session. */
static bool cliLdbPrintAnswer(struct cli *c, const struct respReply *reply) {
    if (reply->type != RESP_T_ARRAY) {
        sds text = cliFormatReply(c, reply, false);
        fputs(text, stdout);
        sdsfree(text);
        return true;
    }
    bool more = true;
    for (size_t i = 0; i < (size_t)reply->elements; i++) {
        sds line = sdsnewstr(reply->element[i].str);
        if (strcmp(line, "<endsession>") == 0)
            more = false;
        else
            cliLdbPrintLine(sdsview(line));
        sdsfree(line);
    }
    fflush(stdout);
    return more;
}

/* Reads a line; NULL at the end of input. cli_edit.h cannot be used, since it requests the commands'
 * documentation, which would disturb the session. */
static sds cliLdbReadLine(void) {
    if (isatty(STDIN_FILENO)) printf("lua debugger> ");
    fflush(stdout);
    char *line = NULL;
    size_t cap = 0;
    ssize_t n = getline(&line, &cap, stdin);
    if (n > 0 && line[n - 1] == '\n') n--;
    sds out = n < 0 ? NULL : sdsnewlen(line, (size_t)n);
    free(line);
    return out;
}

/* Splits a request into words. Code is one word, including its quotes. */
static sds *cliLdbSplitLine(const sds line, int *count) {
    const char *at = line + strspn(line, " \t"), *end = at + strcspn(at, " \t");
    struct str first = strN(at, (size_t)(end - at));
    if (!*end || !(strIs(first, "e") || strIs(first, "eval"))) {
        return sdssplitargs(line, sdslen(line), count);
    }
    sds *words = zmalloc(2 * sizeof *words);
    words[0] = sdsnewstr(first);
    words[1] = sdsnew(end + strspn(end, " \t"));
    *count = 2;
    return words;
}

/* Reads lines until one is for the debugger, and sends it. Returns whether one was sent. */
static bool cliLdbPromptAndSend(struct cli *c, enum cliDebugEnd *end) {
    for (bool sent = false; !sent;) {
        sds line = cliLdbReadLine();
        int count = 0;
        sds *words = line ? cliLdbSplitLine(line, &count) : NULL;
        bool leave = !line || (count == 1 && strcasecmp(words[0], "quit") == 0);
        bool again = count == 1 && strcasecmp(words[0], "restart") == 0;
        *end = again ? CLI_DEBUG_RESTART : CLI_DEBUG_QUIT;
        if (line && !words) printf("Invalid argument(s)\n");
        if (count && !leave && !again) sent = cliSend(c, count, words);
        bool lost = count && !leave && !again && !sent;
        if (words) sdsfreesplitres(words, count);
        sdsfree(line);
        if (leave || again || lost) return false;
    }
    return true;
}

static void cliLdbPrintResult(struct cli *c) {
    struct respReply reply;
    cliExpectAny(c, &reply);
    sds text = cliFormatReply(c, &reply, false);
    printf("\n%s\n(Lua debugging session ended%s)\n\n", text,
           c->debug_sync ? "" : " -- dataset changes rolled back");
    fflush(stdout);
    sdsfree(text);
    respReplyFree(&reply);
}

enum cliDebugEnd cliDebug(struct cli *c, int argc, const sds *argv) {
    struct respReply reply;
    const struct str arm[] = {STR("SCRIPT"), STR("DEBUG"), c->debug_sync ? STR("SYNC") : STR("YES")};
    if (!cliSendWords(c, 3, arm)) return CLI_DEBUG_FAILED;
    cliExpect(c, &reply);
    respReplyFree(&reply);
    if (!cliSend(c, argc, argv)) return CLI_DEBUG_FAILED;
    fputs(intro, stdout);
    enum cliDebugEnd end = CLI_DEBUG_QUIT;
    for (bool more = true; more;) {
        cliExpectAny(c, &reply);
        bool refused = reply.type == RESP_T_ERROR;
        more = cliLdbPrintAnswer(c, &reply);
        respReplyFree(&reply);
        if (refused) return CLI_DEBUG_FAILED; /* no session, for example because there are too many */
        if (more && !cliLdbPromptAndSend(c, &end)) return end;
    }
    cliLdbPrintResult(c);
    return CLI_DEBUG_DONE;
}
