"""newer.py - commands and options that only our server has, as 9.1.2, the oracle, does not know what 9.2 added.

Their grammar comes from our own COMMAND DOCS. An old command whose options have grown is run with the new ones. The oracle
runs a twin of the command at the same time: an old command with the same flags, categories and key specifications, on the
same keys. What a state refuses must be refused for both, in the same words and with the same counters; a command that does not
write must have the same side effects. The other results have no peer, so they are compared with each other: a change is
counted, propagated and has an event, or there is none of the three, and a replica then has the data of its primary. The state
`aof-reload` compares the data with what is loaded from the append-only file.
"""
import difflib
import json
import re

from arguments import INVALID, PREFIX, make_case

SINCE = "9.2.0"
FIXTURES = [
    ("PHSET", "{t}paths", "/a", "FIELDS", "2", "f", "1", "g", "text"), ("PHSET", "{t}paths", "/a/b", "FIELDS", "1", "f", "2"),
    ("PHSET", "{t}paths", "", "FIELDS", "1", "f", "3"), ("PHSET", "{t}paths2", "/a", "FIELDS", "1", "f", "1"),
]
# The oracle has the same keys, as hashes, so that both find them in their slot.
OLD_FIXTURES = [("HSET", key, "f", "1") for key in ("{t}paths", "{t}paths2")]
CHANGED_FLAGS = {"script|load"}  # the state decides otherwise than in 9.1.2
NO_TWINS = {"hrandfield", "srandmember", "zrandmember", "randomkey", "exec"}  # they are random, or have keys only since 9.2
GROUP_CATEGORY = re.compile(r"@(string|hash|list|set|sortedset|stream|geo|bitmap|hyperloglog|pathhash)$")
# An error whose first word is not ERR, WRONGTYPE or NOGROUP is a refusal, and so are these.
REFUSED = re.compile(r"not allowed|Can't execute|can not be executed|cannot be executed|can't be(?! negative)|non local key|undeclared key")
BY_EXPIRY = re.compile(r":(keymiss|expired) |^\d+ (DEL|UNLINK) \S*old$")


def fixtures(side):
    return [] if not side.newer else FIXTURES if side.kind == "ours" else OLD_FIXTURES


def has_newer(argument):
    return argument.get("since") == SINCE or any(has_newer(inner) for inner in argument.get("arguments", []))


def newer_names(ours, theirs):
    """Commands that the oracle lacks, and those that have new options or flags."""
    return [name for name in ours if name not in theirs or name in CHANGED_FLAGS or any(has_newer(a) for a in ours[name].get("arguments", []))]


def signature(fact):
    """What decides whether a command is refused: where its keys are, and which rights it needs."""
    kinds = sorted(c for c in fact["categories"] if not GROUP_CATEGORY.match(c))
    specs = [[spec["begin_search"], spec["find_keys"], "access" in spec["flags"], bool({"insert", "update", "delete"} & set(spec["flags"]))] for spec in fact["specs"]]
    return json.dumps([sorted(fact["flags"]), kinds, specs], sort_keys=True)


def twin_name(name, ours, theirs):
    """The old command of the same signature whose name is most similar, or None."""
    wanted = signature(ours[name])
    equal = [old for old in theirs if old in ours and old not in NO_TWINS and ("|" in old) == ("|" in name) and signature(theirs[old]) == wanted]
    return max(equal, key=lambda old: (difflib.SequenceMatcher(None, old, name).ratio(), old), default=None)


def make_newer_case(seed, name, facts, number):
    """A case of a newer command; `twin` is what the oracle runs meanwhile, or None."""
    case = make_case(seed, name, facts["ours"][name], number, prefer=has_newer)
    old = facts["twins"][name]
    keys = [word.decode() for word in case.words if word.startswith(PREFIX.encode())]
    case.fact, case.twin = facts["ours"][name], old and make_case(seed, old, facts["theirs"][old], 0, keys=keys)
    return case


def without_name(text, case):
    """A text without the names of the command and of its container."""
    for name in sorted({case.name, *case.name.split("|")}, key=len, reverse=True):
        text = re.sub(r"(?<![a-z])%s(?![a-z])" % re.escape(name), "<name>", text, flags=re.I)
    return text


def refusals(record, case):
    """For each reply its error if the state has refused the command, or else whether there was a reply."""
    found = []
    for text in record.get("replies", []):
        error = re.search(r"-([A-Z]+)\b.*", text)
        if error and "WRONGTYPE" not in text and "NOGROUP" not in text and (error[1] != "ERR" or REFUSED.search(text)):
            found.append(without_name(text, case))
        else:
            found.append(text if text in ("no reply", "closed") else "accepted")
    return found


def side_effects(record):
    return [line for aspect in ("propagated", "events") for line in record.get(aspect, []) if not BY_EXPIRY.search(line)]


def findings(state, case, ours, theirs):
    """[(aspect, found, expected)] of a case."""
    found = []

    def expect(aspect, value, expected):
        if value != expected:
            found.append((aspect, value, expected))
    expect("data", ours.get("data", "same"), "same")
    changed = "rdb_changes_since_last_save" in ours.get("counted", {})
    if case.twin and case.number != INVALID:
        refused = refusals(ours, case)
        expect("refused", refused, refusals(theirs, case.twin))
        if any(reply not in ("accepted", "no reply") for reply in refused):
            counted = [sorted(without_name(name, c) + " " + value for name, value in record.get("counted", {}).items() if name != "cmdstat_replconf")
                       for record, c in ((ours, case), (theirs, case.twin))]
            expect("counted", *counted)
        if "write" not in case.fact["flags"] and state.follows and state.looks:
            expect("effects", side_effects(ours), side_effects(theirs))
    if state.mirrors and state.follows and state.looks and "expired_keys" not in ours.get("counted", {}):
        effects = side_effects(ours)
        expect("changed", [bool(ours.get("propagated")), any(line.startswith("__") for line in effects)], [changed, changed])
    return found


def twins_of(ours, theirs):
    """{newer command: the name of its twin, or None}"""
    return {name: twin_name(name, ours, theirs) for name in sorted(newer_names(ours, theirs))}


def all_newer_cases(seed, facts, numbers, wanted):
    return [make_newer_case(seed, name, facts, number) for name in sorted(facts["twins"]) if wanted(name) for number in numbers]
