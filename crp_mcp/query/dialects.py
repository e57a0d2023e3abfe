"""Words of other SQL dialects, and how the same is said here: so that a query that failed succeeds the second time.

Pure. What has the same meaning under another name is put under the name SQLite has for it; nothing else is translated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .sql import Statement, Token

MOST_ADVICE = 3

_SAME = {
    "string_agg": "group_concat",
    "if": "iif",
    "nvl": "ifnull",
    "len": "length",
    "char_length": "length",
    "character_length": "length",
    "ucase": "upper",
    "lcase": "lower",
}
"""Functions -> those of SQLite that do the same with the same arguments."""

_PER_GROUP = (
    "a row per group: SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY a ORDER BY b) AS n FROM t) WHERE n = 1"
)
_LIST = "a row for each item of a list: FROM t, json_each(t.items) AS e, with e.value, or e.value ->> '$.key'"
_NAMES = "the columns of a table stand in its summary (scratch_get); scratch_list has the tables"
_FIRST = dict.fromkeys(("show", "describe", "desc", "pragma", "explain"), _NAMES)
_PARTS = "parts of a date: CAST(strftime('%Y', d) AS INTEGER), with %m, %d, %H, %w"
_ADVICE_CALLED = {
    "date_trunc trunc_date": "the start of a month: date(d, 'start of month'); of a day: date(d)",
    "year month day hour minute second quarter week weekday dayofweek dayofmonth date_part datepart extract": _PARTS,
    "now getdate sysdate curdate current_date current_timestamp today": "now: datetime('now'), date('now')",
    "dateadd date_add date_sub adddate subdate timestampadd": "days before or after: date(d, '-7 days')",
    "datediff date_diff timestampdiff age months_between": "days between: julianday(a) - julianday(b)",
    "to_char date_format format_date strptime": "a date as text: strftime('%Y-%m', d)",
    "to_date to_timestamp str_to_date parse_date": "dates are ISO texts already: date(d)",
    "left right": "parts of a text: substr(x, 1, n), substr(x, -n)",
    "substring_index split_part split": "the part before a sign: substr(x, 1, instr(x, '-') - 1)",
    "position strpos charindex locate": "where a text begins in another: instr(x, 'part')",
    "isnull": "in place of null: ifnull(x, 0)",
    "greatest least": "the largest of several: max(a, b); the smallest: min(a, b)",
    "decode": "CASE x WHEN 1 THEN 'one' ELSE 'other' END",
    "countif count_if sumif sum_if": "rows that meet a condition: count(*) FILTER (WHERE a > 1)",
    "regexp_like regexp_matches regexp_contains rlike": "x REGEXP 'pattern'",
    "regexp_replace regexp_extract regexp_substr": "patterns only find: x REGEXP 'pattern'; cut with substr and instr",
    "json_value json_query json_unquote json_extract_path_text json_extract_scalar get_json_object": "x ->> '$.a.b'",
    "unnest explode flatten json_table openjson jsonb_array_elements jsonb_array_elements_text lateral apply": _LIST,
    "array_agg collect_list collect_set list": "values as a list: json_group_array(x)",
    "stddev stddev_samp stddev_pop stdev std variance var_samp var_pop corr": (
        "variance over all rows: avg(x * x) - avg(x) * avg(x); its root with sqrt"
    ),
    "max_by min_by arg_max arg_min argmax argmin any_value first last": (
        "the row with the largest x: SELECT *, max(x) FROM t, or ORDER BY x DESC LIMIT 1"
    ),
    "percentile percentile_cont percentile_disc approx_quantile quantile quantile_cont within": (
        "a percentile: SELECT x FROM t ORDER BY x LIMIT 1 OFFSET (SELECT count(x) * 9 / 10 FROM t)"
    ),
    "snippet highlight bm25": "the text itself; what stands around a match: scratch_get with grep",
    "try_cast safe_cast convert to_number try_convert": "CAST(x AS REAL), CAST(x AS INTEGER), CAST(x AS TEXT)",
    "truncate": "trunc(x), round(x, 2)",
    "starts_with startswith contains ends_with": "x LIKE 'part%', x LIKE '%part%'",
    "generate_series range": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9)",
    "lpad rpad": "padding: printf('%8s', x), printf('%-8s', x)",
    "rollup cube": "totals: UNION ALL with a SELECT that has no GROUP BY",
    "pivot": "a column for each kind: sum(x) FILTER (WHERE kind = 'a') AS a",
    "any array": "x IN ('a', 'b')",
    "top": "the first rows: LIMIT n at the end",
    "rand random newid uuid gen_random_uuid": "nothing random; for a few rows: LIMIT 5",
}
_ADVICE_WORDS = {
    "ilike": "LIKE (it does not tell A from a); for all letters REGEXP '(?i)pattern'",
    "similar rlike": "x REGEXP 'pattern'",
    "top": "the first rows: LIMIT n at the end",
    "fetch": "the first rows: LIMIT n OFFSET m at the end",
    "qualify": _PER_GROUP,
    "interval": "a time ago: datetime('now', '-30 days'), date(d, '+1 month')",
    "separator": "group_concat(x, '; ')",
    "lateral apply unnest": _LIST,
    "pivot unpivot": "a column for each kind: sum(x) FILTER (WHERE kind = 'a') AS a",
    "rollup cube": "totals: UNION ALL with a SELECT that has no GROUP BY",
    "div": "whole division: CAST(a / b AS INTEGER)",
    "within": "a percentile: SELECT x FROM t ORDER BY x LIMIT 1 OFFSET (SELECT count(x) * 9 / 10 FROM t)",
    "zone": "times are in UTC; in another zone: datetime(d, '+2 hours')",
    "tablesample": "nothing random; for a few rows: LIMIT 5",
    "nolock": "leave hints out",
    "offset": "rows after the first m: LIMIT -1 OFFSET m",
    "information_schema pg_catalog": _NAMES,
}
_ADVICE_SIGNS = {
    "~": "x REGEXP 'pattern'",
    "^": "power(a, b)",
    "::": "CAST(x AS INTEGER), date(d)",
    "#>>": "x ->> '$.a.b'",
    "#>": "x -> '$.a.b'",
    "**": "power(a, b)",
    "<=>": "a IS b",
    ":=": "no variables; use WITH",
}
_ADVICE_PAIRS = {
    ("distinct", "on"): _PER_GROUP,
    ("*", "except"): "name the columns",
    ("*", "exclude"): "name the columns",
    ("by", "all"): "name the columns after GROUP BY",
    ("date", "'"): "a date is a text: d >= '2024-05-01'",
    ("timestamp", "'"): "a time is a text: d >= '2024-05-01 10:00:00'",
    ("main", "."): "the name alone, without main",
    ("(", "values"): "name the columns of VALUES: WITH v(a, b) AS (VALUES (1, 2)) SELECT * FROM v",
}


def use_own_names(statement: Statement) -> None:
    """Call functions by the names SQLite has for them; its LIKE does not tell A from a, and so is ILIKE."""
    tokens = statement.tokens
    for token, after in pairwise(tokens):
        if token.kind == "word" and token.low in _SAME and after.text == "(":
            own = _SAME[token.low]
            statement.renamed[f"{own}("] = f"{token.text}("
            token.text = token.low = token.name = token.key = own
        elif token.kind == "word" and token.low == "ilike" and after.kind == "text" and after.text.isascii():
            statement.renamed[" LIKE "] = f" {token.text} "
            token.text, token.low = "LIKE", "like"


def advice_at_start(token: Token) -> str | None:
    """The same for the first word of what is no query."""
    return _FIRST.get(token.low)


def advice(tokens: Sequence[Token]) -> list[str]:
    """How to say here what these words say elsewhere; [] where none of them is foreign."""
    found: dict[str, None] = {}
    for at, token in enumerate(tokens):
        after = tokens[at + 1] if at + 1 < len(tokens) else None
        found.update(dict.fromkeys(_foreign(token, after, "".join(one.text for one in tokens[at : at + 3]))))
    return list(found)[:MOST_ADVICE]


def _foreign(token: Token, after: Token | None, glued: str) -> list[str]:
    beside = "" if after is None else "'" if after.kind == "text" else after.low
    found = [_ADVICE_PAIRS.get((token.low, beside))]
    if token.kind == "word":
        found.append((_CALLED if beside == "(" else _WORDS).get(token.low))
    elif token.kind in ("other", "parameter"):
        found.append(next((_ADVICE_SIGNS[sign] for sign in _BY_LENGTH if glued.startswith(sign)), None))
    return [said for said in found if said is not None]


def _by_word(advice_of: Mapping[str, str]) -> dict[str, str]:
    return {word: said for words, said in advice_of.items() for word in words.split()}


_CALLED, _WORDS = _by_word(_ADVICE_CALLED), _by_word(_ADVICE_WORDS)
_BY_LENGTH = sorted(_ADVICE_SIGNS, key=len, reverse=True)
