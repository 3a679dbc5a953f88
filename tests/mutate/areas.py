"""The areas of the C code, and the tests that look at each.

FILES are patterns of paths; those with ! in front are left out.  TESTS are names of meson tests, of the suites unit, fuzz, quick and
integration; NAME=VALUE behind a name sets a variable of the environment.  They are run in the order of the time that each took on the code
as it is, and a test that fails there is left out.
"""

AREAS = {
    "ring": {
        "files": ["daemon/collect/ring*.c", "!daemon/collect/ring-file.c"],
        "tests": ["ring-cases", "ring", "ring-settle", "fuzz-ring", "ring MPROF_RING_SEEDS=200:2000", "death", "copy"],
    },
    "collect": {
        "files": [
            "daemon/collect/{queue,queue-room,stream,archivist,cadence,pace,source-dir*,ring-file,schedule,guest,known}.c",
            "daemon/collect/{house,allowance,collector,control,metrics,context,quiet,main}.c", "daemon/common/*.c",
        ],
        "tests": [
            "queue", "cadence", "pace", "schedule", "guest", "known", "house", "allowance", "archivist", "names", "config", "message", "log",
            "damage", "death", "kick", "traces", "lifecycle", "restart", "restart-down", "policy", "policy-quotas", "kill", "kill-again",
            "follow", "tails", "ring-directory", "environment", "fuzz-config", "fuzz-control",
        ],
    },
    "xen": {
        "files": [
            "daemon/collect/{domain*,share,value,directory,subtree,keys,rights,helper,helper-process,mapping,text}.c",
            "daemon/collect/{addresses,kick,maptrack,source-xen,xen}.c",
        ],
        "tests": [
            "value", "directory", "subtree", "rights", "helper", "death", "text", "kick", "fuzz-xenstore-value", "fuzz-directory",
            "xen-lifecycle", "xen-lifecycle-deaths", "xen-edges", "xen-addresses", "xen-kicks", "xen-restart", "xen-hostile-values",
            "xen-hostile-floods", "xen-hostile",
        ],
    },
    "archive": {
        "files": [
            "daemon/archive/*.c",
        ],
        "tests": [
            "writer", "full-disk", "quota", "memtraces", "reader", "bound", "known", "house", "selection", "damage", "archives", "serve",
            "serve-trace", "disk-full", "restart", "policy", "policy-quotas",
        ],
    },
    "serve": {
        "files": [
            "daemon/serve/*.c",
        ],
        "tests": [
            "position", "events", "bound", "selection", "peer", "json-text", "fuzz-http", "serve", "serve-trace", "serve-hostile",
            "serve-service", "answers", "connections", "serving", "hostile", "readers", "follow", "damage",
        ],
    },
    "trace": {
        "files": [
            "client/trace/{decode,model,answers,base,scene}/*.c", "client/ctl/input/{clocks,merge}.c",
        ],
        "tests": [
            "decoder", "order", "scan", "text", "model", "why", "diff", "loader", "clocks", "field", "grow", "pool", "spans", "tally",
            "modeller", "scene", "fuzz-decoder", "fuzz-scan", "fuzz-diff", "fuzz-loader", "fuzz-model", "fuzz-tally", "fuzz-scene",
            "dump-own", "model-own", "stats", "why-story", "diff-story", "model-property",
        ],
    },
    "memory": {
        "files": ["client/trace/memory/*.c"],
        "tests": [
            "memtrace", "profile", "flame", "sexp", "places", "rows", "shapes", "fuzz-memtrace", "fuzz-profile", "fuzz-sexp", "mem-oracles",
        ],
    },
    "recorder": {
        "files": ["client/recorder/*.c"],
        "tests": ["recorder-fences", "recorder-fences-halves", "recorder-freestanding", "recorder", "recorder-halves", "demo-guest"],
    },
    "ctl": {
        "files": [
            "client/ctl/**/*.c",
        ],
        "tests": [
            "ctl", "select", "slices", "bundle-line", "clocks", "exporter", "modeller", "tally", "scene", "dump-own", "inputs", "stats",
            "exports-own", "html-file-own", "perfetto", "completion", "why-story", "diff-story", "mem-oracles", "json-text", "bundle",
            "ctl-client", "ctl-hostile",
        ],
    },
    "sink": {
        "files": [
            "daemon/sink/*.c",
        ],
        "tests": [
            "account", "framing", "memtraces", "fuzz-memtrace-framing", "profiled", "sink", "sink-listening",
        ],
    },
}
