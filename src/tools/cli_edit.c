/* cli_edit.c - the line editor: libedit, with hints and completion of our own on top.
 *
 * A hint is shown in grey behind the text. libedit has nothing for that but a prompt at the right margin.
 * Such a prompt that is filled up with blanks so that all of the line is used stands right behind the text:
 *
 *     127.0.0.1:6379> get key
 *     [prompt       ][text][hint ][blanks        ]      hint and blanks: the "right prompt"
 *
 * Since nothing is left between the text and the right prompt, libedit draws the line anew after each key,
 * and asks for the right prompt again; so the hint follows the text. A line without a hint gets blanks alone.
 *
 * TAB replaces the line by its first completion, TAB again by the next; behind the last one comes what was
 * typed. */
#include "tools/cli_edit.h"

#include <histedit.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/zmalloc.h"
#include "tools/cli.h"

#define TRUE_ENTER  "\x1f" /* a key that nobody has: bound to libedit's own Enter */
#define LITERAL     '\1'   /* encloses escape sequences in a prompt, which take no room */
#define GREY        "\1\033[90m\1"
#define PLAIN       "\1\033[0m\1"
#define HINT_MARGIN 2 /* columns that libedit wants between the text and the right prompt, and at the end */

static struct {
    struct cli *cli;
    EditLine *el;
    History *history;
    const char *prompt;
    sds right; /* right prompt */
    bool done; /* the line is being left: no hint stays behind it */
    /* Completion under way: */
    sds *lines; /* the last one is the line as typed */
    int lines_count, at;
} edit;

static char *promptText(EditLine *el) {
    (void)el;
    return (char *)edit.prompt;
}

/* The text so far, up to the cursor or whole. */
static sds typed(EditLine *el, bool to_cursor) {
    const LineInfo *li = el_line(el);
    return sdsnewlen(li->buffer, (size_t)((to_cursor ? li->cursor : li->lastchar) - li->buffer));
}

static size_t columns(const char *text) {
    size_t n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80; /* UTF-8: not within a character */
    return n;
}

static size_t terminalWidth(void) {
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

static char *rightText(EditLine *el) {
    sdsfree(edit.right);
    edit.right = sdsempty();
    if (edit.done || !edit.cli->hints) return edit.right;
    sds line = typed(el, false);
    size_t used = columns(edit.prompt) + columns(line) + HINT_MARGIN, width = terminalWidth();
    sds hint = used < width ? cliHint(cliDocsOf(edit.cli), line) : NULL;
    size_t len = hint ? sdslen(hint) : 0, room = used < width ? width - used : 0;
    if (len >= room) len = room ? room - 1 : 0; /* a blank has to carry the end of the grey */
    if (len) {
        edit.right = sdscat(edit.right, GREY);
        edit.right = sdscatlen(edit.right, hint, len);
        edit.right = sdscat(edit.right, PLAIN);
    }
    edit.right = sdscatprintf(edit.right, "%*s", (int)(room - len), "");
    sdsfree(line);
    sdsfree(hint);
    return edit.right;
}

/* ---- Completion ---- */

static void forgetCompletion(void) {
    sdsfreesplitres(edit.lines, edit.lines_count);
    edit.lines = NULL;
    edit.lines_count = 0;
}

static void beginCompletion(sds line) {
    forgetCompletion();
    int count;
    sds *found = cliCompletions(cliDocsOf(edit.cli), line, &count);
    if (count == 0) return;
    edit.lines = zrealloc(found, (size_t)(count + 1) * sizeof(found[0]));
    edit.lines[count] = sdsdup(line);
    edit.lines_count = count + 1;
    edit.at = -1;
}

static void replaceLine(EditLine *el, const char *text) {
    const LineInfo *li = el_line(el);
    el_cursor(el, (int)(li->lastchar - li->cursor));
    el_deletestr(el, (int)(li->lastchar - li->buffer));
    el_insertstr(el, text);
}

static unsigned char onTab(EditLine *el, int key) {
    (void)key;
    sds line = typed(el, true);
    bool going_on = edit.lines && edit.at >= 0 && strcmp(line, edit.lines[edit.at]) == 0;
    if (!going_on) beginCompletion(line);
    sdsfree(line);
    if (edit.lines_count == 0) return CC_REFRESH_BEEP;
    edit.at = (edit.at + 1) % edit.lines_count;
    replaceLine(el, edit.lines[edit.at]);
    return edit.at == edit.lines_count - 1 ? CC_REFRESH_BEEP : CC_REFRESH;
}

/* ---- Lines ---- */

/* First the line is drawn without its hint, then it is left. */
static unsigned char onEnter(EditLine *el, int key) {
    (void)key;
    edit.done = true;
    el_push(el, TRUE_ENTER);
    return CC_REFRESH;
}

static void bindKeys(EditLine *el) {
    el_set(el, EL_ADDFN, "complete-line", "Complete the line", onTab);
    el_set(el, EL_ADDFN, "leave-line", "Leave the line without its hint", onEnter);
    el_set(el, EL_BIND, "^I", "complete-line", NULL);
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
    edit.cli = c;
    edit.history = history_init();
    history(edit.history, &event, H_SETSIZE, history_max);
    history(edit.history, &event, H_SETUNIQUE, 1);
    edit.el = el_init("valkey-cli", stdin, stdout, stderr);
    if (!edit.el) return;
    el_set(edit.el, EL_EDITOR, "emacs");
    el_set(edit.el, EL_SIGNAL, 1);
    el_set(edit.el, EL_PROMPT, promptText);
    el_set(edit.el, EL_RPROMPT_ESC, rightText, LITERAL);
    el_set(edit.el, EL_HIST, history, edit.history);
    bindKeys(edit.el);
    el_source(edit.el, NULL); /* ~/.editrc */
}

/* libedit's own memory is left to the end of the process: it has no way to give back the names of added
 * functions, and the terminal is as it was after each line. */
void cliEditEnd(void) {
    forgetCompletion();
    sdsfree(edit.right);
    edit.right = NULL;
}

void cliEditRemember(const char *line) {
    HistEvent event;
    history(edit.history, &event, H_ENTER, line);
}

sds cliEditLine(const char *prompt) {
    int len = 0;
    if (!edit.el) return NULL;
    edit.prompt = prompt;
    edit.done = false;
    cliDocsOf(edit.cli);
    const char *line = el_gets(edit.el, &len);
    forgetCompletion();
    if (!line || len <= 0) return NULL;
    while (len && (line[len - 1] == '\n' || line[len - 1] == '\r')) len--;
    return sdsnewlen(line, (size_t)len);
}
