"""The page the small server gives."""

BODY = "".join(f"Line {n} of the page, with ünicode.\n" for n in range(3_000))
