"""What may be said of made-up tables, true or false by plain Python. Knows no checker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from statistics import mean, median

from benchmarks.claims_tables import Case, Made, either, off, word

Template = Callable[[Case], Made]


def count_all(c: Case) -> Made:
    n = either(c.chance, len(c.rows))
    form = c.chance.choice(("The list comprises {n} {p}.", "I count {n} {p} in it.", "{n} {p} came back."))
    return "count", form.format(n=n, p=c.domain.plural), n == len(c.rows)


def count_group(c: Case) -> Made:
    right = len(c.of_group(c.group))
    n = either(c.chance, right)
    verb, noun = ("belongs", c.domain.noun) if n == 1 else ("belong", c.domain.plural)
    form = c.chance.choice(("{n} {p} {v} to {g}.", "The {g} {k} has {n} {p}.", "{g} accounts for {n} {p}."))
    return "count-filter", form.format(n=n, p=noun, v=verb, g=c.group, k=c.domain.group), n == right


def count_above(c: Case) -> Made:
    limit = c.chance.choice(sorted(r[c.measure] for r in c.rows)[1:-1])
    right = sum(r[c.measure] > limit for r in c.rows)
    n = either(c.chance, right)
    form = c.chance.choice(("{n} {p} have more than {x:,} {m}.", "For {n} {p}, {m} exceeds {x:,}."))
    return "count-filter", form.format(n=n, p=c.domain.plural, m=c.measure, x=limit), n == right


def count_since(c: Case) -> Made:
    year = c.chance.randint(2020, 2022)
    right = sum(int(r[c.domain.day][:4]) == year for r in c.rows)
    n = either(c.chance, right)
    return "date", f"{n} of the {c.domain.plural} were {c.domain.day} in {year}.", n == right


def lookup(c: Case) -> Made:
    right = c.one[c.measure]
    n = either(c.chance, right)
    form = c.chance.choice(
        ("{a} shows {m} of {n:,}.", "{m} for {a} is {n:,}.", "With {n:,}, {a} has its {m} on record.")
    )
    text = form.format(a=c.name(c.one), m=c.measure, n=n)
    return "lookup", text[0].upper() + text[1:], n == right


def lookup_group(c: Case) -> Made:
    group = c.chance.choice(c.domain.groups)
    form = c.chance.choice(("{a} is part of {g}.", "{a}'s {k} is {g}.", "{a} sits in the {g} {k}."))
    text = form.format(a=c.name(c.one), g=group, k=c.domain.group)
    return "lookup", text, group == c.one[c.domain.group]


def lookup_day(c: Case) -> Made:
    day = date.fromisoformat(c.one[c.domain.day])
    said = day if c.chance.random() < 0.5 else day + timedelta(days=c.chance.choice((-31, -1, 1, 20)))
    spelled = c.chance.choice((f"{said:%B} {said.day}, {said.year}", f"{said.day} {said:%b} {said.year}"))
    return "date", f"{c.name(c.one)} was {c.domain.day} on {spelled}.", said == day


def earlier(c: Case) -> Made:
    a, b = c.one[c.domain.day], c.two[c.domain.day]
    early = c.chance.random() < 0.5
    text = f"{c.name(c.one)} was {c.domain.day} {'before' if early else 'after'} {c.name(c.two)}."
    return "date", text, a < b if early else a > b


def highest(c: Case) -> Made:
    top = c.chance.random() < 0.5
    edge = (max if top else min)(r[c.measure] for r in c.rows)
    best = [r for r in c.rows if r[c.measure] == edge]
    said = c.chance.choice(best) if c.chance.random() < 0.5 else c.one
    form = c.chance.choice(
        ("Nobody beats {a}: it has the {s} {m}.", "The {s} {m} belongs to {a}.", "{a} has the {s} {m} of all.")
    )
    text = form.format(a=c.name(said), s="highest" if top else "lowest", m=c.measure)
    return "extreme", text, said[c.measure] == edge


def highest_value(c: Case) -> Made:
    right = max(r[c.measure] for r in c.of_group(c.group))
    n = either(c.chance, right)
    return "extreme", f"Within {c.group}, the largest {c.measure} is {n:,}.", n == right


def total(c: Case) -> Made:
    right = sum(r[c.measure] for r in c.rows)
    n = either(c.chance, right)
    form = c.chance.choice(("{m} adds up to {n:,}.", "The sum of all {m} is {n:,}.", "Altogether, {m} come to {n:,}."))
    text = form.format(m=c.measure, n=n)
    return "aggregate", text[0].upper() + text[1:], n == right


def average(c: Case) -> Made:
    values = [r[c.measure] for r in c.of_group(c.group)]
    middle = c.chance.random() < 0.3
    right = median(values) if middle else mean(values)
    n = right if c.chance.random() < 0.5 else right * c.chance.choice((0.6, 0.8, 1.3))
    word_ = "median" if middle else "average"
    text = f"The {word_} {c.measure} in {c.group} is {n:,.1f}."
    return "aggregate", text, round(n, 1) == round(right, 1)


def more_than(c: Case) -> Made:
    up = c.chance.random() < 0.5
    a, b = c.one[c.measure], c.two[c.measure]
    form = c.chance.choice(("{a} has {w} {m} than {b}.", "Compared with {b}, {a} has {w} {m}."))
    text = form.format(a=c.name(c.one), b=c.name(c.two), w="more" if up else "less", m=c.measure)
    return "compare", text, a > b if up else a < b


def gap(c: Case) -> Made:
    a, b = c.one[c.measure], c.two[c.measure]
    n = either(c.chance, abs(a - b))
    word_ = "more" if a >= b else "fewer"
    return "compare", f"{c.name(c.one)} has {n:,} {word_} {c.measure} than {c.name(c.two)}.", n == abs(a - b) > 0


def share(c: Case) -> Made:
    right = 100 * len(c.of_group(c.group)) / len(c.rows)
    n = round(right) if c.chance.random() < 0.5 else round(right) + c.chance.choice((-15, -9, 9, 15))
    form = c.chance.choice(("{n}% of the {p} are {g}.", "{g} makes up {n}% of the {p}."))
    return "share", form.format(n=n, p=c.domain.plural, g=c.group), n == round(right)


def most(c: Case) -> Made:
    right = len(c.of_group(c.group)) * 2 > len(c.rows)
    return "share", f"More than half of the {c.domain.plural} are {c.group}.", right


def every(c: Case) -> Made:
    low = min(r[c.measure] for r in c.rows)
    limit = low if c.chance.random() < 0.5 else sorted(r[c.measure] for r in c.rows)[len(c.rows) // 2] + 1
    return "all", f"Every {c.domain.noun} has at least {limit:,} {c.measure}.", low >= limit


def nothing(c: Case) -> Made:
    high = max(r[c.measure] for r in c.rows)
    limit = high + 5 if c.chance.random() < 0.5 else high // 2
    return "all", f"No {c.domain.noun} has more than {limit:,} {c.measure}.", high <= limit


def but_one(c: Case) -> Made:
    rest = [r for r in c.rows if r is not c.one]
    low = min(r[c.measure] for r in rest)
    if c.one[c.measure] >= low:
        return every(c)
    limit = low if c.chance.random() < 0.5 else max(r[c.measure] for r in rest)
    text = f"Apart from {c.name(c.one)}, every {c.domain.noun} has at least {limit:,} {c.measure}."
    return "all", text, low >= limit and c.one[c.measure] < limit


def only_one(c: Case) -> Made:
    found = c.of_group(c.group)
    said = c.chance.choice(found)
    return "only", f"{c.name(said)} is the only {c.domain.noun} in {c.group}.", len(found) == 1


def top_two(c: Case) -> Made:
    order = sorted(c.rows, key=lambda r: -r[c.measure])
    edge = order[1][c.measure]
    a, b = (order[0], order[1]) if c.chance.random() < 0.5 else (c.one, c.two)
    text = f"The two {c.domain.plural} with the most {c.measure} are {c.name(a)} and {c.name(b)}."
    return "rank", text, min(a[c.measure], b[c.measure]) >= edge and a is not b


def second(c: Case) -> Made:
    values = sorted((r[c.measure] for r in c.rows), reverse=True)
    said = next(r for r in c.rows if r[c.measure] == values[1]) if c.chance.random() < 0.5 else c.one
    right = said[c.measure] in (values[1], sorted(set(values), reverse=True)[1])
    return "rank", f"{c.name(said)} has the second highest {c.measure}.", right


def both(c: Case) -> Made:
    a, b = (c.one, c.two) if c.chance.random() < 0.5 else tuple(c.chance.sample(c.of_group(c.group) * 2, 2))
    text = f"Both {c.name(a)} and {c.name(b)} are in {c.group}."
    return "list", text, a[c.domain.group] == b[c.domain.group] == c.group


def named_count(c: Case) -> Made:
    found = c.of_group(c.group)
    listed = c.chance.sample(found, min(2, len(found)))
    if c.chance.random() < 0.5:
        listed = [*listed[:-1], c.one]
    names = " and ".join(dict.fromkeys(map(c.name, listed)))
    text = f"{len(found)} {c.domain.plural} are in {c.group}, among them {names}."
    return "list", text, all(r in found for r in listed)


def not_in(c: Case) -> Made:
    group = c.chance.choice(c.domain.groups)
    return "negation", f"{c.name(c.one)} is not in {group}.", c.one[c.domain.group] != group


def aside(c: Case) -> Made:
    group = c.one[c.domain.group] if c.chance.random() < 0.6 else c.chance.choice(c.domain.groups)
    n = c.one[c.measure] if c.chance.random() < 0.7 else off(c.chance, c.one[c.measure])
    text = f"{c.name(c.one)}, which is in {group}, has {n:,} {c.measure}."
    return "aside", text, group == c.one[c.domain.group] and n == c.one[c.measure]


def two_facts(c: Case) -> Made:
    x, y = either(c.chance, c.one[c.measure]), c.two[c.measure]
    text = f"{c.name(c.one)} has {x:,} {c.measure}, whereas {c.name(c.two)} has {y:,}."
    return "two facts", text, x == c.one[c.measure]


def unknown_deed(c: Case) -> Made:
    form = c.chance.choice(
        (
            "{a} was praised by the committee for its {m}.",
            "{a} plans to leave {g} soon.",
            "Half of the {p} are painted green.",
            "{a} has {n} unread messages.",
            "{a}, founded by Orlinda Prewitt, has {n} {m}.",
            "Most {p} were inspected twice.",
            "{n} {p} were lost in a fire.",
        )
    )
    text = form.format(a=c.name(c.one), m=c.measure, g=c.group, p=c.domain.plural, n=c.chance.randint(3, 9))
    return "open", text, None


def stranger(c: Case) -> Made:
    return "open", f"{word(c.chance)}x has {c.chance.randint(5, 90)} {c.measure}.", None


def largest_group(c: Case) -> Made:
    sizes = Counter(str(r[c.domain.group]) for r in c.rows)
    best = max(sizes.values())
    said = max(sizes, key=lambda g: sizes[g]) if c.chance.random() < 0.5 else c.group
    form = c.chance.choice(("{g} is the largest {k}, with {n} {p}.", "{g} has the most {p} of all: {n}."))
    text = form.format(g=said, k=c.domain.group, n=sizes[said], p=c.domain.plural)
    return "groups", text, sizes[said] == best


def best_average(c: Case) -> Made:
    means = {g: mean(r[c.measure] for r in c.of_group(g)) for g in sorted({r[c.domain.group] for r in c.rows})}
    top = c.chance.random() < 0.5
    edge = (max if top else min)(means.values())
    said = c.chance.choice([g for g in means if means[g] == edge]) if c.chance.random() < 0.5 else c.group
    text = f"{said} has the {'highest' if top else 'lowest'} average {c.measure}."
    return "groups", text, means[said] == edge


def average_more(c: Case) -> Made:
    groups = sorted({r[c.domain.group] for r in c.rows})
    a, b = c.chance.sample(groups, 2) if len(groups) > 1 else (groups[0], "Nowhere")
    x, y = (mean([r[c.measure] for r in c.of_group(g)] or [0]) for g in (a, b))
    text = f"The average {c.measure} is higher in {a} than in {b}."
    return ("groups", text, x > y) if b != "Nowhere" else ("open", text, None)


def moved(c: Case) -> Made:
    first, last = sorted((c.one, c.two), key=lambda r: r[c.domain.day])
    days, before, after = Counter(r[c.domain.day] for r in c.rows), first[c.measure], last[c.measure]
    n = either(c.chance, after)
    verb = "rose" if c.chance.random() < 0.5 else "fell"
    a, b = (date.fromisoformat(r[c.domain.day]) for r in (first, last))
    start, end = f"{a:%B} {a.day}, {a.year}", f"{b:%B} {b.day}, {b.year}"
    text = f"{c.measure.capitalize()} {verb} from {before:,} on {start} to {n:,} on {end}."
    right = n == after and (after > before if verb == "rose" else after < before)
    return ("trend", text, right) if max(days.values()) == 1 else ("open", text, None)


TEMPLATES: tuple[Template, ...] = (
    count_all, count_group, count_above, count_since, lookup, lookup_group, lookup_day, earlier, highest, highest_value,
    total, average, more_than, gap, share, most, every, nothing, but_one, only_one, top_two, second, both, named_count,
    not_in, aside, two_facts, largest_group,
    best_average, average_more, moved, unknown_deed, stranger,
)  # fmt: skip
