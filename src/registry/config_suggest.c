/* SPDX-License-Identifier: BSD-3-Clause */
/* config_suggest.c - finds the directive that a mistyped name may have meant; see config.h.
 *
 * It is the nearest name by edit distance: a missing, added or replaced letter, and a swap of neighbours
 * (optimal string alignment), count one each. Three rows of the table are enough:
 *
 *     rows[i % 3][j]: distance of the first i letters of one name to the first j of the other */
#include <ctype.h>

#include "registry/config.h"

#define NAME_MAX_LEN      63
#define LETTERS_PER_ERROR 5 /* one error is tolerated per so many letters */

static int configLeast(int a, int b) {
    return a < b ? a : b;
}

static int configDistance(struct str a, struct str b) {
    int rows[3][NAME_MAX_LEN + 1];
    for (size_t j = 0; j <= b.len; j++) rows[0][j] = (int)j;
    for (size_t i = 1; i <= a.len; i++) {
        int *now = rows[i % 3], *before = rows[(i - 1) % 3], *older = rows[(i + 1) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= b.len; j++) {
            int x = tolower((unsigned char)a.ptr[i - 1]), y = tolower((unsigned char)b.ptr[j - 1]);
            now[j] = configLeast(before[j - 1] + (x != y), 1 + configLeast(before[j], now[j - 1]));
            if (i < 2 || j < 2) continue;
            bool swapped =
                x == tolower((unsigned char)b.ptr[j - 2]) && y == tolower((unsigned char)a.ptr[i - 2]);
            if (swapped) now[j] = configLeast(now[j], older[j - 2] + 1);
        }
    }
    return rows[a.len % 3][b.len];
}

struct suggestion {
    struct str wrong;
    bool settable; /* only names that CONFIG SET takes */
    const char *name;
    int distance; /* of the best name so far, or one more than allowed */
};

static void configSuggestName(struct suggestion *s, const char *name) {
    struct str candidate = strOf(name ? name : "");
    size_t longer = candidate.len > s->wrong.len ? candidate.len : s->wrong.len;
    if (!candidate.len || longer > NAME_MAX_LEN) return;
    int distance = configDistance(s->wrong, candidate);
    if (distance >= s->distance) return;
    s->distance = distance;
    s->name = name;
}

static void configSuggestDirective(void *priv, struct configDirective *d) {
    struct suggestion *s = priv;
    bool offered = !(d->flags & CONFIG_HIDDEN);
    if (s->settable) offered = offered && d->flags & CONFIG_MODIFIABLE && !(d->flags & CONFIG_LINES);
    if (!offered) return;
    configSuggestName(s, d->name);
    configSuggestName(s, d->alias);
}

const char *configSuggest(struct str wrong, bool settable) {
    struct suggestion s = {.wrong = wrong, .settable = settable};
    s.distance = (int)(wrong.len / LETTERS_PER_ERROR) + 2;
    configForEach(configSuggestDirective, &s);
    return s.name;
}
