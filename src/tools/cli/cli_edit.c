/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_edit.c - the line editor: libedit, with hints and completion on top.
 *
 * A hint is shown in grey after the text. libedit offers only a prompt at the right margin for that. If
 * such a prompt is padded with blanks until the whole line is used, it starts right after the text:
 *
 *     127.0.0.1:6379> get key
 *     [prompt       ][text][hint ][blanks        ]      hint and blanks: the "right prompt"
 *
 * Since no column is left between the text and the right prompt, libedit redraws the line after each key
 * and asks for the right prompt again, so the hint follows the text. A line without a hint gets blanks
 * alone.
 *
 * libedit writes only the cells that have changed, wherever in the hint they are, so each character of a
 * hint switches the grey on by itself. libedit cannot switch it off after the last cell that it writes;
 * this file does so at the end of each piece of output: within a piece the text comes before the hint.
 *
 * TAB replaces the line by its first completion, TAB again by the next; after the last one comes the
 * text as typed. There can be many names on the server: their common prefix comes first, and they are
 * listed below the line.
 *
 * Ctrl-C is an ordinary key while a line is typed (the terminal sends no signals then): it ends the line
 * as Enter does, but the line is not run. */
#define _GNU_SOURCE /* fopencookie */
#include "tools/cli/cli_edit.h"

#include <histedit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/zmalloc.h"
#include "tools/cli/cli.h"
#include "tools/cli/cli_complete.h"
#include "tools/cli/cli_docs.h"

#define TRUE_ENTER  "\x1f" /* a key that no keyboard has, bound to libedit's own Enter */
#define LITERAL     '\1'   /* encloses escape sequences in a prompt, which take no columns */
#define GREY        "\033[90m"
#define FAINT       "\033[2m" /* used when colours are off */
#define PLAIN       "\033[0m"
#define CTRL_Z      0x1a
#define LIST_ROWS   5 /* rows of names below the line */
#define HINT_MARGIN 2 /* columns that libedit needs between the text and the right prompt, and at the end */

static struct {
    struct cli *cli;
    EditLine *el;
    History *history;
    FILE *screen; /* libedit's output, on its way to standard output */
    const char *prompt;
    sds right;             /* right prompt */
    bool dumb;             /* the terminal cannot erase */
    bool done;             /* the line is ending, so its hint is removed */
    bool interrupted;      /* Ctrl-C ended the line */
    struct cliFound found; /* the current completion */
    sds before;            /* the line as typed, before completion */
    int at;                /* index of the line shown: -1 none yet, found.count the one as typed */
} edit;

static char *cliEditPromptText(EditLine *el) {
    (void)el;
    return (char *)edit.prompt;
}

/* Returns the text, up to the cursor or all of it. */
static sds cliEditTyped(EditLine *el, bool to_cursor) {
    const LineInfo *li = el_line(el);
    return sdsnewlen(li->buffer, (size_t)((to_cursor ? li->cursor : li->lastchar) - li->buffer));
}

static sds cliEditHintWithin(size_t room) {
    sds line = cliEditTyped(edit.el, false), hint = room ? cliHint(cliLoadDocs(edit.cli), line) : NULL;
    sdsfree(line);
    if (hint) sdssetlen(hint, cliFit(sdsview(hint), room));
    return hint;
}

static const char *cliEditHintColour(void) {
    return edit.cli->colour ? GREY : FAINT;
}

/* Appends the hint with the colour before each character; all bytes of a character stay together. */
static sds cliEditCatHint(sds out, const sds hint) {
    for (size_t i = 0; i < sdslen(hint); i++) {
        bool begins = ((unsigned char)hint[i] & 0xc0) != 0x80;
        if (begins) out = sdscatprintf(out, "%c%s%c", LITERAL, cliEditHintColour(), LITERAL);
        out = sdscatlen(out, hint + i, 1);
    }
    return out;
}

static ssize_t cliEditWriteScreen(void *cookie, const char *bytes, size_t len) {
    (void)cookie;
    const char *colour = cliEditHintColour();
    bool ok = fwrite(bytes, 1, len, stdout) == len;
    if (memmem(bytes, len, colour, strlen(colour))) ok = fputs(PLAIN, stdout) >= 0 && ok;
    return fflush(stdout) == 0 && ok ? (ssize_t)len : 0;
}

static char *cliEditRightText(EditLine *el) {
    sdsfree(edit.right);
    edit.right = sdsempty();
    if (edit.done || edit.dumb || !edit.cli->hints) return edit.right;
    sds line = cliEditTyped(el, false);
    size_t used = cliColumns(strOf(edit.prompt)) + cliColumns(sdsview(line)) + HINT_MARGIN;
    size_t width = cliTerminalWidth(), room = used < width ? width - used : 0;
    sds hint = cliEditHintWithin(room);
    size_t columns = hint ? cliColumns(sdsview(hint)) : 0;
    if (columns) edit.right = cliEditCatHint(edit.right, hint);
    edit.right = sdscatprintf(edit.right, "%*s", (int)(room - columns), "");
    sdsfree(line);
    sdsfree(hint);
    return edit.right;
}

/* ---- Completion ---- */

static void cliEditForgetCompletion(void) {
    cliFoundFree(&edit.found);
    sdsfree(edit.before);
    edit.before = NULL;
}

/* Replaces the text before the cursor. libedit counts characters. */
static void cliEditReplaceTyped(EditLine *el, const char *text) {
    const LineInfoW *li = el_wline(el);
    el_deletestr(el, (int)(li->cursor - li->buffer));
    el_insertstr(el, text);
}

/* Lists in columns as many names as fit into LIST_ROWS rows. */
static void cliEditListNames(void) {
    size_t widest = 1, width = cliTerminalWidth();
    for (int i = 0; i < edit.found.count; i++) {
        size_t columns = cliColumns(sdsview(edit.found.names[i]));
        if (columns > widest) widest = columns;
    }
    int in_row = (int)(width / (widest + 2)), per_row = in_row ? in_row : 1, shown = 0;
    for (; shown < edit.found.count && shown < per_row * LIST_ROWS; shown++) {
        sds name = cliCatReadable(sdsempty(), sdsview(edit.found.names[shown]), false);
        size_t columns = cliColumns(sdsview(name)), pad = columns < widest ? widest - columns : 0;
        printf("%s%.*s%*s", shown % per_row ? "  " : "\r\n", (int)cliFit(sdsview(name), width - 1), name,
               (int)pad, "");
        sdsfree(name);
    }
    if (shown < edit.found.count) printf("\r\n... and %d more", edit.found.count - shown);
    printf("\r\n");
    fflush(stdout);
}

static bool cliEditIsCompleting(const char *line) {
    if (!edit.found.count) return false;
    const char *shown = edit.at < 0 || edit.at == edit.found.count ? edit.before : edit.found.lines[edit.at];
    return strcmp(line, shown) == 0;
}

/* Handles the first TAB. */
static unsigned char cliEditBeginCompletion(EditLine *el, const sds line) {
    cliEditForgetCompletion();
    edit.found = cliComplete(edit.cli, line);
    edit.before = sdsdup(line);
    edit.at = -1;
    if (edit.found.count == 0) return CC_REFRESH_BEEP;
    if (edit.found.common) {
        cliEditReplaceTyped(el, edit.found.common);
        cliEditForgetCompletion();
        return CC_REFRESH;
    }
    if (edit.found.names && edit.found.count > 1) {
        cliEditListNames();
        return CC_REDISPLAY;
    }
    return CC_NORM;
}

static unsigned char cliEditOnTab(EditLine *el, int key) {
    (void)key;
    sds line = cliEditTyped(el, true);
    unsigned char done = cliEditIsCompleting(line) ? CC_NORM : cliEditBeginCompletion(el, line);
    sdsfree(line);
    if (done != CC_NORM) return done;
    edit.at = (edit.at + 1) % (edit.found.count + 1);
    bool last = edit.at == edit.found.count;
    cliEditReplaceTyped(el, last ? edit.before : edit.found.lines[edit.at]);
    return last ? CC_REFRESH_BEEP : CC_REFRESH;
}

/* ---- Lines ---- */

/* Redraws the line without its hint, then ends it. */
static unsigned char cliEditOnEnter(EditLine *el, int key) {
    (void)key;
    edit.done = true;
    el_push(el, TRUE_ENTER);
    return CC_REFRESH;
}

static unsigned char cliEditOnCtrlC(EditLine *el, int key) {
    const LineInfoW *li = el_wline(el);
    el_cursor(el, (int)(li->lastchar - li->cursor));
    el_insertstr(el, "^C");
    edit.interrupted = true;
    return cliEditOnEnter(el, key);
}

/* Raises the signal that the terminal would send; libedit catches it, resets the terminal and sets it up
 * again. */
static unsigned char cliEditOnSignalKey(EditLine *el, int key) {
    (void)el;
    kill(0, key == CTRL_Z ? SIGTSTP : SIGQUIT);
    return CC_REFRESH;
}

static void cliEditBindKeys(EditLine *el) {
    el_set(el, EL_ADDFN, "complete-line", "Complete the line", cliEditOnTab);
    el_set(el, EL_ADDFN, "leave-line", "Accept the line without its hint", cliEditOnEnter);
    el_set(el, EL_ADDFN, "drop-line", "Discard the line", cliEditOnCtrlC);
    el_set(el, EL_BIND, "^I", "complete-line", NULL);
    el_set(el, EL_BIND, "^C", "drop-line", NULL);
    el_set(el, EL_ADDFN, "signal", "Send the signal of this key", cliEditOnSignalKey);
    el_set(el, EL_BIND, "^Z", "signal", NULL);
    el_set(el, EL_BIND, "\\034", "signal", NULL);
    el_set(el, EL_BIND, "^M", "leave-line", NULL);
    el_set(el, EL_BIND, "^J", "leave-line", NULL);
    el_set(el, EL_BIND, TRUE_ENTER, "ed-newline", NULL);
    el_set(el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(el, EL_BIND, "^W", "ed-delete-prev-word", NULL);
    static const char *const keys[][2] = {
        {"\\e[1~", "ed-move-to-beg"}, {"\\e[4~", "ed-move-to-end"}, {"\\e[7~", "ed-move-to-beg"},
        {"\\e[8~", "ed-move-to-end"}, {"\\e[H", "ed-move-to-beg"},  {"\\e[F", "ed-move-to-end"},
        {"\\eOH", "ed-move-to-beg"},  {"\\eOF", "ed-move-to-end"},  {"\\e[3~", "ed-delete-next-char"},
        {"\\e[1;5C", "em-next-word"}, {"\\e[1;5D", "ed-prev-word"},
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        el_set(el, EL_BIND, keys[i][0], keys[i][1], NULL);
}

void cliEditInit(struct cli *c, int history_max) {
    HistEvent event;
    const char *term = getenv("TERM");
    edit.cli = c;
    edit.dumb = !term || strcmp(term, "dumb") == 0;
    edit.history = history_init();
    history(edit.history, &event, H_SETSIZE, history_max);
    history(edit.history, &event, H_SETUNIQUE, 1);
    edit.screen = fopencookie(NULL, "w", (cookie_io_functions_t){.write = cliEditWriteScreen});
    if (!edit.screen) return;
    edit.el =
        el_init_fd("valkey-cli", stdin, edit.screen, stderr, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO);
    if (!edit.el) return;
    el_set(edit.el, EL_EDITOR, "emacs");
    el_set(edit.el, EL_SIGNAL, 1);
    el_set(edit.el, EL_PROMPT, cliEditPromptText);
    el_set(edit.el, EL_RPROMPT_ESC, cliEditRightText, LITERAL);
    el_set(edit.el, EL_HIST, history, edit.history);
    el_set(edit.el, EL_SETTY, "-d", "-isig", NULL);
    cliEditBindKeys(edit.el);
    el_source(edit.el, NULL); /* reads ~/.editrc */
}

/* libedit's memory is not freed: it cannot free the names of added functions, and the terminal is
 * restored after each line. */
void cliEditEnd(void) {
    cliEditForgetCompletion();
    cliCompleteEnd();
    sdsfree(edit.right);
    edit.right = NULL;
}

void cliEditRemember(const char *line) {
    HistEvent event;
    history(edit.history, &event, H_ENTER, line);
}

enum cliEdited cliEditLine(const char *prompt, sds *line) {
    int len = 0;
    *line = NULL;
    if (!edit.el) return CLI_EDIT_END;
    edit.prompt = prompt;
    edit.done = edit.interrupted = false;
    cliLoadDocs(edit.cli);
    const char *text = el_gets(edit.el, &len);
    cliEditForgetCompletion();
    if (edit.interrupted)
        return len > 3 ? CLI_EDIT_DROPPED : CLI_EDIT_EMPTY_DROPPED; /* "^C" and the line's end */
    bool signalled = !text && cli_interrupted;                      /* the signal came from outside */
    cli_interrupted = 0;
    if (signalled) return CLI_EDIT_DROPPED;
    if (!text || len <= 0) return CLI_EDIT_END;
    while (len && (text[len - 1] == '\n' || text[len - 1] == '\r')) len--;
    *line = sdsnewlen(text, (size_t)len);
    return CLI_EDIT_LINE;
}
