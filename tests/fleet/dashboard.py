"""The dashboard for Grafana's PostgreSQL source, docs/monitoring/fleet.json: its queries, as Grafana sends them."""

import json
import os
import re

from cluster import TOP

FILE = os.path.join(TOP, "docs/monitoring/fleet.json")
FROM, TO = "'2000-01-01T00:00:00Z'", "'2100-01-01T00:00:00Z'"
# Meanings that Grafana documents for its macros and variables.
MACROS = {
    r"\$__timeFilter\(([^()]+)\)": rf"\1 BETWEEN {FROM} AND {TO}",
    r"\$__timeFrom\(\)": FROM,
    r"\$__timeTo\(\)": TO,
    r"\$__time\(([^()]+)\)": r'\1 AS "time"',
}


def dashboard():
    with open(FILE, encoding="utf-8") as f:
        return json.load(f)


def sent(sql, hosts):
    """Return SQL as Grafana sends it, with HOSTS chosen. Raise ValueError if a macro or variable is left."""
    for macro, text in MACROS.items():
        sql = re.sub(macro, text, sql)
    sql = sql.replace("${host:sqlstring}", ",".join(f"'{h}'" for h in hosts))
    if "$" in sql:
        raise ValueError(f"Grafana knows no such macro or variable: {sql}")
    return sql


def queries(board, hosts):
    """Return (title, panel or None, SQL) of each panel and each variable."""
    out = [(p["title"], p, sent(t["rawSql"], hosts)) for p in board["panels"] for t in p.get("targets", ())]
    return out + [(v["name"], None, sent(v["query"], hosts)) for v in board["templating"]["list"] if v["type"] == "query"]


def faults(panel, names):
    """Return what is wrong with a panel whose query has the columns NAMES."""
    out = []
    for one in panel["fieldConfig"]["overrides"]:
        if one["matcher"]["id"] != "byName" or one["matcher"]["options"] not in names:
            out.append(f"there is no column {one['matcher']['options']}")
    if panel["type"] == "timeseries" and (names[0] != "time" or panel["targets"][0]["format"] != "time_series"):
        out.append("a series needs a first column time")
    if not panel.get("description"):
        out.append("there is no description")
    return out
