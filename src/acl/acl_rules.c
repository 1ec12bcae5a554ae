/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_rules.c - the selectors of a user or of a role: how rules change them, and their text. Part of acl.h.
 *
 * Rules outside of parentheses change the root selector. (...) adds a selector with rules of its own. */
#include "acl/acl_private.h"
#include "base/assert.h"
#include "base/zmalloc.h"

/* ---- Creating and freeing ---- */

static void aclRulesAddSelector(struct aclRules *r, struct aclSelector *s) {
    r->selectors = zrealloc(r->selectors, (size_t)(r->count + 1) * sizeof *r->selectors);
    r->selectors[r->count++] = s;
}

void aclRulesInit(struct aclRules *r) {
    *r = (struct aclRules){0};
    aclRulesAddSelector(r, aclSelectorCreate());
}

static void aclRulesDropSelectors(struct aclRules *r, int from) {
    while (r->count > from) aclSelectorFree(r->selectors[--r->count]);
}

void aclRulesFree(struct aclRules *r) {
    aclRulesDropSelectors(r, 0);
    zfree(r->selectors);
    r->selectors = NULL;
}

struct aclRules aclRulesCopy(const struct aclRules *r) {
    struct aclRules copy = {.count = r->count};
    copy.selectors = zmalloc((size_t)r->count * sizeof *r->selectors);
    for (int i = 0; i < r->count; i++) copy.selectors[i] = aclSelectorCopy(r->selectors[i]);
    return copy;
}

/* ---- Applying rules ---- */

/* Applies "(+get ~x)". */
static enum aclError aclRulesApplySelector(struct aclRules *r, struct str rule) {
    int n;
    enum aclError error = ACL_OK;
    struct aclSelector *s = aclSelectorCreate();
    sds *words = sdssplitargs(rule.ptr + 1, rule.len - 2, &n);
    if (!words) error = ACL_ERR_SYNTAX;
    for (int i = 0; words && i < n && !error; i++) error = aclSelectorApply(s, sdsview(words[i]));
    if (words) sdsfreesplitres(words, n);
    if (error)
        aclSelectorFree(s);
    else
        aclRulesAddSelector(r, s);
    return error;
}

enum aclError aclRulesApply(struct aclRules *r, struct str rule) {
    debugAssert(r->count > 0);
    if (!rule.len) return ACL_OK; /* an empty word has no effect */
    if (rule.ptr[0] == '(' && rule.len > 1 && rule.ptr[rule.len - 1] == ')')
        return aclRulesApplySelector(r, rule);
    if (!strIs(rule, "clearselectors")) return aclSelectorApply(r->selectors[0], rule);
    aclRulesDropSelectors(r, 1);
    return ACL_OK;
}

enum aclError aclRulesApplyAll(struct aclRules *r, const sds *rules, int count, int *failed) {
    enum aclError error = ACL_OK;
    for (*failed = 0; *failed < count; ++*failed) {
        if ((error = aclRulesApply(r, sdsview(rules[*failed])))) break;
    }
    return error;
}

void aclRulesRefresh(struct aclRules *r) {
    for (int i = 0; i < r->count; i++) aclSelectorRefresh(r->selectors[i]);
}

sds *aclRulesMerge(const struct str *words, int count, int *merged, int *bad) {
    sds *rules = zmalloc((size_t)(count + 1) * sizeof *rules);
    int n = 0, open = -1; /* open: index of the word with an open parenthesis */
    for (int i = 0; i < count; i++) {
        bool starts = open < 0 && words[i].len && words[i].ptr[0] == '(';
        if (open < 0)
            rules[n++] = sdsnewstr(words[i]);
        else
            rules[n - 1] = sdscatstr(sdscatlen(rules[n - 1], " ", 1), words[i]);
        if (starts) open = i;
        if (open >= 0 && words[i].len && words[i].ptr[words[i].len - 1] == ')') open = -1;
    }
    *merged = n;
    *bad = open;
    if (open < 0) return rules;
    sdsfreesplitres(rules, n);
    return NULL;
}

/* ---- Text ---- */

/* "(~a +get)" is parsed with quotes, and ends with the first word that ends with a parenthesis. */
static sds aclRulesCatSelector(const struct aclSelector *s, sds text) {
    int n;
    sds rules = aclSelectorCat(s, sdsempty());
    sds *words = sdssplitlen(rules, sdslen(rules), " ", 1, &n);
    for (int i = 0; i < n; i++) {
        struct str word = sdsview(words[i]);
        bool quote = memchr(word.ptr, '"', word.len) || memchr(word.ptr, '\'', word.len) ||
                     (word.len && word.ptr[word.len - 1] == ')');
        text = sdscat(text, i ? " " : " (");
        text = quote ? sdscatrepr(text, word.ptr, word.len) : sdscatstr(text, word);
    }
    sdsfreesplitres(words, n);
    sdsfree(rules);
    return sdscat(text, ")");
}

sds aclRulesCat(const struct aclRules *r, sds text) {
    text = aclSelectorCat(r->selectors[0], text);
    for (int i = 1; i < r->count; i++) text = aclRulesCatSelector(r->selectors[i], text);
    return text;
}

sds aclRulesAbout(const struct aclRules *r, struct str command) {
    sds found = NULL;
    for (int i = 0; i < r->count && !found; i++) found = aclSelectorRuleAbout(r->selectors[i], command);
    return found;
}
