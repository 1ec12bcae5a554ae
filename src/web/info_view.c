/* SPDX-License-Identifier: BSD-3-Clause */
/* info_view.c - see info_view.h. */
#include "web/info_view.h"

#include "base/num.h"
#include "base/zmalloc.h"

static int infoViewCountLines(const char *text) {
    int n = 0;
    for (const char *p = text; (p = strchr(p, '\n')); p++) n++;
    return n;
}

static struct str infoViewTrimmed(const char *from, const char *to) {
    while (to > from && (to[-1] == '\r' || to[-1] == '\n')) to--;
    return strN(from, (size_t)(to - from));
}

void infoViewOpen(struct infoView *v, sds text) {
    *v = (struct infoView){.text = text};
    v->lines = zmalloc(((size_t)infoViewCountLines(text) + 1) * sizeof *v->lines);
    struct str section = STR("");
    for (const char *p = text, *end; (end = strchr(p, '\n')); p = end + 1) {
        struct str line = infoViewTrimmed(p, end);
        const char *colon = line.len ? memchr(line.ptr, ':', line.len) : NULL;
        if (line.len > 2 && line.ptr[0] == '#') {
            section = strN(line.ptr + 2, line.len - 2);
        } else if (colon) {
            size_t n = (size_t)(colon - line.ptr);
            v->lines[v->count++] =
                (struct infoEntry){section, strN(line.ptr, n), strN(colon + 1, line.len - n - 1)};
        }
    }
}

void infoViewClose(struct infoView *v) {
    zfree(v->lines);
    sdsfree(v->text);
}

struct str infoViewGet(struct infoView *v, const char *name) {
    struct str wanted = strOf(name);
    for (int i = 0; i < v->count; i++) {
        int at = v->next + i < v->count ? v->next + i : v->next + i - v->count;
        if (!strEq(v->lines[at].name, wanted)) continue;
        v->next = at + 1;
        return v->lines[at].value;
    }
    return (struct str){0};
}

double infoViewNumber(struct infoView *v, const char *name) {
    double number = 0;
    struct str value = infoViewGet(v, name);
    return value.ptr && infoViewParseNumber(value, &number) ? number : 0;
}

struct str infoViewPart(struct str value, const char *name) {
    size_t n = strlen(name);
    const char *end = value.ptr + value.len;
    for (const char *p = value.ptr, *comma; p < end; p = comma + 1) {
        comma = memchr(p, ',', (size_t)(end - p));
        if (!comma) comma = end;
        if ((size_t)(comma - p) > n && p[n] == '=' && memcmp(p, name, n) == 0)
            return strN(p + n + 1, (size_t)(comma - p) - n - 1);
    }
    return (struct str){0};
}

bool infoViewParseNumber(struct str text, double *number) {
    if (text.len && text.ptr[text.len - 1] == '%') text.len--;
    return string2d(text, number);
}
