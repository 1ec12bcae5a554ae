/* SPDX-License-Identifier: BSD-3-Clause */
/* lolwut.c - LOLWUT: a drawing and the version. Part of commands/cmd_server.h, which declares the handler.
 *
 * The drawing is a town by the water. Every tower is a node of a skip list with its random height, like the
 * nodes of sorted sets. */
#include "base/num.h"
#include "base/random.h"
#include "base/sds.h"
#include "base/version.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "commands/cmd_server.h"
#include "registry/product.h"

#define DRAWING_VERSION 9
#define DEFAULT_COLUMNS 66
#define DEFAULT_ROWS    12
#define COLUMNS_MAX     200
#define ROWS_MAX        60
#define TOWER_WIDTH     3 /* including the street beside it */
#define TALLER          2 /* one tower in so many has one more level */

static int lolwutSkylineHeight(int rows) {
    int height = 1;
    while (height < rows - 1 && randomBelow(TALLER)) height++;
    return height;
}

static sds lolwutDrawSkyRow(sds s, const int *heights, int towers, int level) {
    for (int i = 0; i < towers; i++) {
        if (heights[i] > level)
            s = sdscat(s, randomBelow(3) ? "\u2588\u2588 " : "\u2588\u2592 ");
        else if (heights[i] == level)
            s = sdscat(s, "\u2584\u2584 ");
        else
            s = sdscat(s, randomBelow(40) ? "   " : " \u00b7 ");
    }
    return sdscat(s, "\n");
}

/* Appends a drawing of the given size, which differs each time. */
static sds lolwutDraw(sds s, int columns, int rows) {
    int towers = columns / TOWER_WIDTH;
    int *heights = zmalloc((size_t)towers * sizeof *heights);
    for (int i = 0; i < towers; i++) heights[i] = lolwutSkylineHeight(rows);
    for (int level = rows - 1; level >= 0; level--) s = lolwutDrawSkyRow(s, heights, towers, level);
    for (int i = 0; i < towers * TOWER_WIDTH; i++) s = sdscat(s, randomBelow(4) ? "~" : " ");
    s = sdscat(s, "\n\nEvery tower a node, every height a matter of chance. Drawn by " PRODUCT_NAME
                  " " PRODUCT_VERSION ".");
    zfree(heights);
    return s;
}

static int64_t lolwutClamp(int64_t v, int64_t low, int64_t high) {
    return v < low ? low : v > high ? high : v;
}

/* LOLWUT [VERSION version [columns [rows]]]. Versions without a drawing show the server's version only. */
void lolwutCommand(struct client *c) {
    int64_t version = DRAWING_VERSION, columns = DEFAULT_COLUMNS, rows = DEFAULT_ROWS;
    if (c->argc >= 3 && strIs(c->argv[1], "version")) {
        if (!argLongLong(c, c->argv[2], &version, NULL)) return;
        if (c->argc > 3 && !argLongLong(c, c->argv[3], &columns, NULL)) return;
        if (c->argc > 4 && !argLongLong(c, c->argv[4], &rows, NULL)) return;
    }
    sds s = sdsempty();
    if (version == DRAWING_VERSION) {
        s = lolwutDraw(s, (int)lolwutClamp(columns, TOWER_WIDTH, COLUMNS_MAX),
                       (int)lolwutClamp(rows, 2, ROWS_MAX));
        s = sdscat(s, " ");
    }
    s = sdscatprintf(s, "%s ver. %s\n", productTitle(), productVersion());
    replyVerbatim(c, sdsview(s), "txt");
    sdsfree(s);
}
