"""The names that members of results go by. Data, no rules: names without `_` and `-`, in lower case (`plain`)."""

from __future__ import annotations


def plain(key: str) -> str:
    """A member's name as it is listed here: `next_page_token`, `nextPageToken` -> `nextpagetoken`."""
    return key.replace("_", "").replace("-", "").lower()


def _words(text: str) -> list[str]:
    return text.split()


CONTAINERS = tuple(
    _words(
        """
        rows items data results result records value values nodes edges entries list docs documents hits matches
        features objects elements response resources members series children content output body payload collection
        entry statuses issues rowdata @graph lines table
        """
    )
)
"""Members that hold rows, the likeliest first."""
SURE_CONTAINERS = frozenset({"rows", "data", "results", "records"})
"""Of these, the ones that hold the rows whatever else there is."""
PAYLOADS = frozenset(
    _words(
        """
        body content d data hits output page payload query queryresponse queryresult response result results
        resultset search value viewer
        """
    )
)
"""Members that hold the answer, whatever it is."""
META = frozenset(
    _words(
        """
        @odata.context allowexecutesql apiversion cachets code columns context count cursor database date detail
        duration empty error errors etag expand extensions fields filter filters first hasmore headers href id
        incompleteresults info isempty isexact isfirst islast itemsperpage jsonrpc kind last limit link links max
        maxresults message messages meta metadata name next nextcursor nextpage nextpagetoken number
        numberofelements object offset ok page pages pagesize pagination paging params perpage prev previous private
        query queryms queryname requestid responsemetadata schema self shards size sort sql start startat startindex
        status statuscode success time timedout timestamp token took tookms total totalcount totalresults truncated
        type url version warning warnings
        """
    )
)
"""Members of a wrapper that speak of its rows."""
ENTITY = frozenset({"name", "id", "title", "type", "kind", "url", "version"})
"""Members that make an object a thing of its own, whatever lists it has."""
COUNTS = frozenset(
    _words(
        """
        count error errors hasmore limit message next nextcursor nextpagetoken offset ok page size status success
        total totalcount truncated
        """
    )
)
"""Members that may stand beside a list and leave the object nothing but that list."""
QUIET = frozenset(
    _words(
        """
        code encoding error id jsonrpc message mimetype ok status statuscode success type
        """
    )
)
"""Members that may stand beside an answer in a text and leave the object nothing but that text."""
TRUNCATED = frozenset(
    _words(
        """
        cutoff exceededlimit exceededtransferlimit hasmore hasmoreitems hasmoreresults hasnext hasnextpage incomplete
        incompleteresults istruncated limitexceeded limitreached more moreavailable moreitems morepages moreresults
        moreresultsavailable partial rowlimitreached truncated
        """
    )
)
"""True: this is not all of it."""
MORE = frozenset(name for name in TRUNCATED if "more" in name or "next" in name) | {"istruncated"}
"""Of these, the ones that are False on the last page, whatever pointers stand beside them."""
LAST = frozenset({"islast", "islastpage", "last", "lastpage", "complete", "iscomplete", "isfinal", "isend"})
"""False: this is not all of it."""
POINTERS = frozenset({"cursor", "offset", "after"})
"""The same, where they hold no number and no date, and nothing else is there that points on."""
NEXT = frozenset(
    _words(
        """
        @odata.nextlink continuationtoken continue lastevaluatedkey marker next nextcontinuationtoken nextcursor
        nextkey nextlink nextmarker nextoffset nextpage nextpagetoken nextpageurl nextrecordsurl nexttoken nexturi
        nexturl odata.nextlink paginationtoken
        """
    )
)
"""The way to the next page, where there is one."""
TOTAL = frozenset(
    _words(
        """
        @odata.count counttotal filteredtablerowscount hitcount matchcount nbhits numfound numresults recordstotal
        resultcount resultscount rowcount rowsbeforelimitatleast total totalavailable totalcount totalelements
        totalentries totalfiles totalhits totalissues totalitems totalmatches totalnumber totalrecords totalresults
        totalrows totalsize
        """
    )
)
"""How many there are in all."""
COUNT = frozenset({"count", "size", "hits", "found", "matched", "results", "rows"})
"""How many there are in all, or here: only a number above the rows says which."""
REMAINING = frozenset({"remainingitemcount", "remaining", "remainingcount", "omitted", "omittedcount", "skippedrows"})
"""How many are missing here."""
LIMIT = frozenset(
    _words(
        """
        cap hitsperpage itemsperpage limit maxcount maxitems maxrecords maxresults maxrows pagelength pagelimit
        pagesize perpage resultsperpage rowlimit
        """
    )
)
"""The most there can be here."""
PAGES = frozenset(
    _words(
        """
        cursor cursors hits info links meta metadata page pageinfo pagination paging query responseheader
        responsemetadata resultinfo searchinfo searchinformation searchmetadata total
        """
    )
)
"""Objects in a wrapper that speak of its rows."""
ERRORS = frozenset(
    _words("error err exception fault errormessage errormessages errormsg errordescription errordetails errorinfo")
)
"""Members that are there because something went wrong, if they are not empty."""
MESSAGES = tuple(
    _words("message msg errormessage errordescription detail details description reason title error faultstring errors")
)
"""Members that say what went wrong, the best first."""
FIRST = tuple(_words("status state ok success error code message id name title key type kind count total"))
"""Scalar members that matter most."""
NAMES = tuple(
    _words(
        """
        name Name column_name columnName label Label field key id title header displayName text ColumnName col
        """
    )
)
"""Members by which a list of objects names columns, as they are spelled, the likeliest first."""
