/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_format.c - replies as text: for people, raw, as CSV and as JSON.
 *
 * For people, an aggregate is a list with numbered labels; what lies deeper is indented by the label's width:
 *
 *     1) "a"                       labels: ")" array and push, "~" set, "#" map
 *     2) 1) (integer) 1            a first line stands behind its label,
 *        2) 1# "k" => "v"          the others behind `indent`
 *
 * A map's value of more than one line starts on a line of its own. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "tools/cli/cli.h"

static bool cliFormatIsAggregate(const struct respReply *r) {
    return r->type == RESP_T_ARRAY || r->type == RESP_T_MAP || r->type == RESP_T_SET ||
           r->type == RESP_T_PUSH;
}

/* ---- For people ---- */

static sds cliFormatTty(sds out, const struct cli *c, const struct respReply *r, sds indent);

static const char *cliFormatEmptyName(const struct respReply *r) {
    return r->type == RESP_T_MAP ? "(empty hash)" : r->type == RESP_T_SET ? "(empty set)" : "(empty array)";
}

/* Appends a value of a map after " => ". */
static sds cliFormatValue(sds out, const struct cli *c, const struct respReply *r, sds indent) {
    sds value = cliFormatTty(sdsempty(), c, r, indent);
    char *newline = memchr(value, '\n', sdslen(value));
    bool one_line = newline && newline == value + sdslen(value) - 1;
    if (!one_line && cliFormatIsAggregate(r)) {
        out = sdscat(out, "\n");
        out = sdscatlen(out, indent, sdslen(indent));
    }
    out = sdscatlen(out, value, sdslen(value));
    sdsfree(value);
    return out;
}

static sds cliFormatElements(sds out, const struct cli *c, const struct respReply *r, sds indent) {
    const struct cliPalette *p = cliPalette(c->colour);
    bool map = r->type == RESP_T_MAP;
    size_t count = map ? r->elements / 2 : r->elements;
    int width = (int)numCountDigits(count);
    char mark = map ? '#' : r->type == RESP_T_SET ? '~' : ')';
    sds deeper = sdscatprintf(sdsdup(indent), "%*s", width + 2, "");
    for (size_t i = 0; i < count; i++) {
        if (i) out = sdscatlen(out, indent, sdslen(indent));
        out = sdscatprintf(out, "%s%*zu%c%s ", p->faint, width, i + 1, mark, p->end);
        if (!map) {
            out = cliFormatTty(out, c, &r->element[i], deeper);
            continue;
        }
        out = cliFormatTty(out, c, &r->element[2 * i], deeper);
        sdsrange(out, 0, -2); /* the key's line end */
        out = sdscat(out, " => ");
        out = cliFormatValue(out, c, &r->element[2 * i + 1], deeper);
    }
    sdsfree(deeper);
    return out;
}

static const char *cliFormatChooseColour(const struct cliPalette *p, const struct respReply *r) {
    switch (r->type) {
    case RESP_T_STRING: return p->text;
    case RESP_T_ERROR: return p->error;
    case RESP_T_NULL: return p->null;
    case RESP_T_INTEGER:
    case RESP_T_DOUBLE:
    case RESP_T_BIGNUM:
    case RESP_T_BOOL: return p->number;
    case RESP_T_STATUS:
    case RESP_T_VERBATIM: return "";
    default: return p->faint; /* an empty list */
    }
}

static sds cliFormatTty(sds out, const struct cli *c, const struct respReply *r, sds indent) {
    if (cliFormatIsAggregate(r) && r->elements) return cliFormatElements(out, c, r, indent);
    const struct cliPalette *p = cliPalette(c->colour);
    const char *colour = cliFormatChooseColour(p, r);
    out = sdscat(out, colour);
    switch (r->type) {
    case RESP_T_STATUS:
    case RESP_T_VERBATIM: out = sdscatstr(out, r->str); break;
    case RESP_T_STRING:
        out = c->terminal ? cliCatReadable(out, r->str, true) : sdscatrepr(out, r->str.ptr, r->str.len);
        break;
    case RESP_T_ERROR: out = sdscatstr(sdscat(out, "(error) "), r->str); break;
    case RESP_T_INTEGER: out = sdscatprintf(out, "(integer) %lld", (long long)r->integer); break;
    case RESP_T_DOUBLE: out = sdscatstr(sdscat(out, "(double) "), r->str); break;
    case RESP_T_BIGNUM: out = sdscatstr(sdscat(out, "(big number) "), r->str); break;
    case RESP_T_BOOL: out = sdscat(out, r->integer ? "(true)" : "(false)"); break;
    case RESP_T_NULL: out = sdscat(out, "(nil)"); break;
    default: out = sdscat(out, cliFormatEmptyName(r));
    }
    return sdscat(sdscat(out, *colour ? p->end : ""), "\n");
}

/* ---- Raw ---- */

static sds cliFormatRaw(sds out, const struct respReply *r, sds delimiter) {
    switch (r->type) {
    case RESP_T_NULL: return out;
    case RESP_T_ERROR: return sdscat(sdscatstr(out, r->str), "\n");
    case RESP_T_INTEGER: return sdscatprintf(out, "%lld", (long long)r->integer);
    case RESP_T_BOOL: return sdscat(out, r->integer ? "(true)" : "(false)");
    default: break;
    }
    if (!cliFormatIsAggregate(r)) return sdscatstr(out, r->str);
    for (size_t i = 0; i < r->elements; i++) {
        bool is_value = r->type == RESP_T_MAP && i % 2;
        if (i && is_value) out = sdscat(out, " ");
        if (i && !is_value) out = sdscatlen(out, delimiter, sdslen(delimiter));
        out = cliFormatRaw(out, &r->element[i], delimiter);
    }
    return out;
}

/* ---- CSV: nested replies are flattened ---- */

static sds cliFormatCsv(sds out, const struct respReply *r) {
    switch (r->type) {
    case RESP_T_NULL: return sdscat(out, "NULL");
    case RESP_T_ERROR: return sdscatrepr(sdscat(out, "ERROR,"), r->str.ptr, r->str.len);
    case RESP_T_INTEGER: return sdscatprintf(out, "%lld", (long long)r->integer);
    case RESP_T_BOOL: return sdscat(out, r->integer ? "true" : "false");
    case RESP_T_DOUBLE:
    case RESP_T_BIGNUM: return sdscatstr(out, r->str);
    default: break;
    }
    if (!cliFormatIsAggregate(r)) return sdscatrepr(out, r->str.ptr, r->str.len);
    for (size_t i = 0; i < r->elements; i++) {
        if (i) out = sdscat(out, ",");
        out = cliFormatCsv(out, &r->element[i]);
    }
    return out;
}

/* ---- JSON ---- */

/* Appends a JSON string; bytes from 0x80 on are copied as UTF-8. */
static sds cliFormatJsonText(sds out, struct str s) {
    static const char escapes[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    out = sdscat(out, "\"");
    for (size_t i = 0; i < s.len; i++) {
        unsigned char byte = (unsigned char)s.ptr[i];
        const char *known = byte ? strchr(escapes, byte) : NULL;
        if (known)
            out = sdscatprintf(out, "\\%c", letters[known - escapes]);
        else if (byte < 0x20)
            out = sdscatprintf(out, "\\u%04x", byte);
        else
            out = sdscatlen(out, &s.ptr[i], 1);
    }
    return sdscat(out, "\"");
}

/* Appends a string in JSON. `ascii`: the text is escaped as for people, with \xHH, and that becomes the
 * string. */
static sds cliFormatJsonString(sds out, struct str s, bool ascii) {
    if (!ascii) return cliFormatJsonText(out, s);
    sds shown = sdscatrepr(sdsempty(), s.ptr, s.len);
    out = cliFormatJsonText(out, strN(shown + 1, sdslen(shown) - 2));
    sdsfree(shown);
    return out;
}

static sds cliFormatJson(sds out, const struct respReply *r, bool ascii);

/* Appends the name of a JSON object's member, in quotes whatever its type. */
static sds cliFormatJsonName(sds out, const struct respReply *r, bool ascii) {
    if (r->type == RESP_T_STRING || r->type == RESP_T_STATUS) return cliFormatJsonString(out, r->str, ascii);
    sds text = cliFormatJson(sdsempty(), r, ascii);
    out = cliFormatJsonString(out, sdsview(text), ascii);
    sdsfree(text);
    return out;
}

static sds cliFormatJsonElements(sds out, const struct respReply *r, bool ascii) {
    bool map = r->type == RESP_T_MAP;
    out = sdscat(out, map ? "{" : "[");
    for (size_t i = 0; i < r->elements; i++) {
        bool is_value = map && i % 2;
        if (i) out = sdscat(out, is_value ? ":" : ",");
        out = map && !is_value ? cliFormatJsonName(out, &r->element[i], ascii)
                               : cliFormatJson(out, &r->element[i], ascii);
    }
    return sdscat(out, map ? "}" : "]");
}

static sds cliFormatJson(sds out, const struct respReply *r, bool ascii) {
    switch (r->type) {
    case RESP_T_NULL: return sdscat(out, "null");
    case RESP_T_ERROR: return cliFormatJsonString(sdscat(out, "error:"), r->str, ascii);
    case RESP_T_INTEGER: return sdscatprintf(out, "%lld", (long long)r->integer);
    case RESP_T_BOOL: return sdscat(out, r->integer ? "true" : "false");
    case RESP_T_DOUBLE:
    case RESP_T_BIGNUM: return sdscatstr(out, r->str);
    default:
        return cliFormatIsAggregate(r) ? cliFormatJsonElements(out, r, ascii)
                                       : cliFormatJsonString(out, r->str, ascii);
    }
}

sds cliFormatReply(const struct cli *c, const struct respReply *r, bool plain) {
    sds out = sdsempty();
    if (c->output == CLI_RAW || plain) {
        out = cliFormatRaw(out, r, c->delimiter);
        if (plain && (sdslen(out) == 0 || out[sdslen(out) - 1] == '\n')) return out;
        return sdscatlen(out, c->terminator, sdslen(c->terminator));
    }
    if (c->output == CLI_TTY) {
        sds indent = sdsempty();
        out = cliFormatTty(out, c, r, indent);
        sdsfree(indent);
        return out;
    }
    out = c->output == CLI_CSV ? cliFormatCsv(out, r) : cliFormatJson(out, r, c->output == CLI_QUOTED_JSON);
    return sdscat(out, "\n");
}

/* Returns a push message as "-> invalidate: 'key'". */
sds cliFormatPush(const struct respReply *r) {
    sds out = sdsnew("-> ");
    if (r->elements) out = sdscatstr(out, r->element[0].str);
    for (size_t i = 1; i < r->elements; i++) {
        const struct respReply *e = &r->element[i];
        bool list = cliFormatIsAggregate(e);
        for (size_t j = 0; j < (list ? e->elements : 1); j++) {
            const struct respReply *item = list ? &e->element[j] : e;
            out = sdscat(out, i == 1 && j == 0 ? ": " : ", ");
            if (item->type == RESP_T_STRING)
                out = sdscatprintf(out, "'%.*s'", (int)item->str.len, item->str.ptr);
            else
                out = cliFormatCsv(out, item);
        }
    }
    return sdscat(out, "\n");
}

bool cliIsPlain(int argc, const sds *argv) {
    static const char *const commands[][2] = {
        {"info", NULL},
        {"lolwut", NULL},
        {"client", "list"},
        {"client", "info"},
        {"cluster", "nodes"},
        {"cluster", "info"},
        {"memory", "doctor"},
        {"memory", "malloc-stats"},
        {"latency", "doctor"},
        {"latency", "graph"},
        {"debug", "htstats"},
        {"debug", "htstats-key"},
        {"debug", "client-eviction"},
    };
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcasecmp(argv[0], commands[i][0]) != 0) continue;
        if (!commands[i][1] || (argc > 1 && strcasecmp(argv[1], commands[i][1]) == 0)) return true;
    }
    return false;
}
