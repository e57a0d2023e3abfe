"""Words that carry an operation: superlatives, comparatives, quantifiers, attributes, synonyms. Data only."""

from __future__ import annotations

from .words import stem, word_list

_MAX = (
    "most highest largest biggest greatest maximum max longest tallest heaviest oldest latest newest "
    "fastest richest furthest farthest peak top best widest deepest costliest busiest strongest hottest "
    "warmest winningest peaked peaks"
)
_MIN = (
    "least lowest smallest fewest minimum min shortest lightest youngest earliest slowest cheapest worst "
    "narrowest shallowest coldest poorest weakest"
)
_MORE = (
    "more higher larger bigger greater longer taller heavier older later newer faster richer wider deeper "
    "hotter warmer exceeds exceeded exceed outperforms outperform outperformed outperforming surpass "
    "surpasses surpassed better costlier"
)
_LESS = (
    "less fewer lower smaller shorter lighter younger earlier slower cheaper worse narrower colder poorer "
    "underperforms underperform underperformed"
)

OPS: dict[tuple[str, ...], str] = {
    **{(w,): "max" for w in _MAX.split()},
    **{(w,): "min" for w in _MIN.split()},
    **{(w,): "more" for w in _MORE.split()},
    **{(w,): "less" for w in _LESS.split()},
    ("most", "recent"): "max", ("most", "recently"): "max", ("most", "expensive"): "max", ("least", "expensive"): "min",
    ("more", "recently"): "more", ("more", "recent"): "more", ("more", "expensive"): "more",
    ("less", "expensive"): "less", ("most", "populous"): "max", ("most", "populated"): "max",
    ("same",): "same", ("equal",): "same", ("identical",): "same", ("equally",): "same", ("as", "many"): "same",
    ("as", "much"): "same",
    ("tied",): "same",
    ("average",): "avg", ("mean",): "avg", ("averaged",): "avg", ("averages",): "avg", ("averaging",): "avg",
    ("on", "average"): "avg",
    ("median",): "median", ("total",): "sum", ("sum",): "sum", ("combined",): "sum", ("altogether",): "sum",
    ("together",): "sum",
    ("in", "total"): "sum", ("adds", "up", "to"): "sum", ("add", "up", "to"): "sum", ("added", "up", "to"): "sum",
    ("amounts", "to"): "sum", ("amount", "to"): "sum", ("sums", "to"): "sum", ("sum", "to"): "sum",
    ("comes", "to"): "sum", ("come", "to"): "sum", ("came", "to"): "sum",
    ("totaling",): "sum", ("totalled",): "sum", ("totalling",): "sum", ("totals",): "sum", ("totaled",): "sum",
    ("only",): "only", ("sole",): "only", ("solely",): "only",
    ("all",): "all", ("every",): "all",
    ("everyone",): "all", ("everybody",): "all", ("everything",): "all", ("each",): "each", ("always",): "all",
    ("none",): "none", ("no",): "none", ("never",): "none", ("neither",): "none", ("nobody",): "none",
    ("no", "one"): "none", ("nothing",): "none",
    ("most", "of"): "mostof", ("majority",): "mostof",
    **{(a, w): "nearall" for a in ("almost", "nearly", "virtually", "practically")
       for w in ("all", "every", "everyone", "everybody", "everything")},
     ("mostly",): "mostof", ("more", "than", "half"): "mostof",
    ("over", "half"): "mostof",
    ("half",): "half", ("less", "than", "half"): "fewof", ("fewer", "than", "half"): "fewof",
    ("under", "half"): "fewof",
    ("both",): "both", ("not",): "not", ("n't",): "not", ("cannot",): "not", ("without",): "not", ("except",): "not",
    ("than",): "than", ("compared", "to"): "than", ("compared", "with"): "than", ("relative", "to"): "than",
    ("range",): "range", ("ranges",): "range", ("ranged",): "range", ("ranging",): "range",
    ("different",): "distinct", ("distinct",): "distinct", ("unique",): "distinct", ("separate",): "distinct",
    ("difference",): "diff", ("before",): "before", ("after",): "after", ("prior", "to"): "before",
    ("following",): "after",
    ("twice", "as"): "twice", ("double", "the"): "twice", ("twice", "the"): "twice", ("twice", "that"): "twice",
    ("double", "that"): "twice", ("percentage",): "percent", ("percent",): "percent",
    ("multiple",): "multiple", ("several",): "multiple",
}  # fmt: skip

_ATTRIBUTES = {
    "longest longer shortest shorter long short lengthy": "length distance duration time dist runtime "
    "milliseconds seconds minutes",
    "tallest taller tall": "height",
    "heaviest heavier lightest lighter weigh weighs weighed weighing heavy": "weight mass",
    "oldest older youngest younger old young": "age born birth dob founded established year built date opened created",
    "latest later newest newer earliest earlier recent recently": "date year time founded established created updated "
    "released day timestamp at opened launched started joined registered signed published modified",
    "cheapest cheaper costliest costlier expensive cost costs": "price cost fare amount rate fee total",
    "fastest faster slowest slower quickest quicker": "time speed latency duration elapsed runtime",
    "richest poorest wealthiest": "income revenue money wealth worth gdp",
    "busiest": "traffic passengers attendance",
    "hottest warmest coldest": "temperature temp",
    "populous populated populations inhabitants": "population",
    "widest wider narrowest wide": "width",
    "deepest": "depth",
    "largest bigger biggest larger smallest smaller big": "size area population capacity attendance",
    "earn earns earned earning earner paid": "salary wage income pay compensation earnings",
    "attended attend attendees crowd spectators people": "attendance",
}  # fmt: skip
ATTRIBUTES: dict[str, frozenset[str]] = {
    stem(w): frozenset(stem(c) for c in columns.split())
    for words, columns in _ATTRIBUTES.items()
    for w in words.split()
}
"""Stem of a word that names a measure without saying its column -> stems of column names it may mean."""

_SYNONYMS = """
cost price fare amount fee charge
name title called named
location place venue site city located
date day time
country nation nationality
film movie
song track
star rating stars rated score
phone telephone number contact
category type kind genre
points score scored
prize money earnings winnings earn earned
state status
employee staff worker
transfers stops layovers layover stopovers
begin start starts begins leave leaves departs departing departure leaving depart
end arrive arrival arrives
win won victory wins
loss lost lose losses defeat
address street located
mail email
author writer written wrote
company firm
year annual
id identifier
user account
people population persons passengers
singer artist performer performed
doctor therapist provider
house home property apartment
flight airline
bed bedroom
bath bathroom
rent rental price
district constituency
club team
opponent against versus
game match
place position rank ranking ranked placed finish
position role
gross revenue sales
visitor away visiting
home host
job occupation
size bytes
elevation altitude height
runtime duration length
premiere air aired
created creation
updated modified
viewers viewership
stadium arena ground venue
school college university
balance amount funds
directory folder
director directed
language spoken
currency money
quantity qty
average avg avge mean
maximum max
minimum min
"""
SYNONYMS: dict[str, frozenset[str]] = {}
for _group in _SYNONYMS.strip().splitlines():
    _stems = frozenset(stem(w) for w in _group.split())
    for _word in _stems:
        SYNONYMS[_word] = SYNONYMS.get(_word, frozenset()) | _stems

TURNS = frozenset(
    stem(w)
    for w in word_list(
        """win won lose lost beat defeat defeated draw drew fail failed pass passed increase increased decrease
        decreased gain gained drop dropped rise rose fall fell tie tied miss missed reject rejected accept
        accepted approve approved deny denied"""
    )
)
"""Verbs that turn a sentence's meaning: one without counterpart leaves the sentence unexplained."""

ROW_NOUNS = frozenset(
    stem(w)
    for w in word_list(
        """row rows record records result results item items entry entries time times occasion occasions instance
        instances case cases match matches option options line lines object objects thing things element
        elements hit hits document documents example examples one ones"""
    )
)
"""Nouns that count rows whatever the rows are."""

REPORT = frozenset(
    stem(w)
    for w in word_list(
        """return returned returns found find have has got get contain contains contained list lists listed show
        shows showed shown include includes there located yield yielded give gave match matched report reports
        retrieved fetched see came reveal revealed produced identified"""
    )
)
"""Verbs and openers by which a sentence states how many results there are."""

OUTCOME_WORDS = {
    "win": ("w", "win", "won", "winner", "victory"), "lose": ("l", "loss", "lost", "lose", "defeat"),
    "draw": ("d", "draw", "drawn", "tie", "tied"), "tie": ("t", "tie", "draw", "d"),
    "true": ("true", "yes"), "false": ("false", "no"), "home": ("home", "h"), "away": ("away", "a"),
    "yes": ("yes", "true"),
}  # fmt: skip
"""Stem of a word -> whole cells that say the same in short."""

_HINTS = {
    "from": "origin source from start departure sender depart",
    "to": "destination target to end arrival recipient receiver",
    "in": "city town country state province location region place venue area department category language currency",
    "at": "location place venue stadium address time price rate company address",
    "by": "author artist writer director creator owner by performer",
    "on": "date day platform channel",
    "for": "price cost fare amount",
}
HINTS: dict[str, frozenset[str]] = {k: frozenset(stem(w) for w in v.split()) for k, v in _HINTS.items()}
"""Preposition before a name -> stems of column names that it says the name is of."""
