/* SPDX-License-Identifier: BSD-3-Clause */
/* parallel_policy.c - see parallel_policy.h. */
#include "command/parallel_policy.h"

static void parallelPolicyRest(struct parallelPolicy *p) {
    p->last_rest = p->last_rest ? p->last_rest * 2 : PARALLEL_POLICY_REST;
    if (p->last_rest > PARALLEL_POLICY_REST_MAX) p->last_rest = PARALLEL_POLICY_REST_MAX;
    p->rest = p->last_rest;
    p->too_dear = p->good = 0;
}

bool parallelPolicyReview(struct parallelPolicy *p, struct parallelLoad load) {
    if (p->rest) return --p->rest == 0;
    bool dear = load.wait_us > PARALLEL_POLICY_LEAST_US &&
                (double)load.wait_us > PARALLEL_POLICY_SAVED_US * (double)load.reads;
    p->too_dear = dear ? p->too_dear + 1 : 0;
    if (!dear && load.reads && ++p->good >= PARALLEL_POLICY_REST_MAX) p->last_rest = 0;
    if (p->too_dear >= PARALLEL_POLICY_REVIEWS) parallelPolicyRest(p);
    return !p->rest;
}
