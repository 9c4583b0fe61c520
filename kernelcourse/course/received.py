"""When submissions arrived, as the collector recorded it: `submitted/received.csv`, outside the students' folders."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .errors import CourseError
from .handed import Handed
from .notebooks import replace_file
from .tables import rows_with

FILE = "received.csv"
_COLUMNS = ("student", "assignment", "received")


def read_received(submitted: Path, assignment: str = "") -> dict[tuple[str, str], str]:
    """The times that collectors have recorded, in UTC, by student and assignment."""
    path = submitted / FILE
    found = {}
    for line, row in rows_with(path, _COLUMNS):
        if not assignment or row["assignment"] == assignment:
            try:
                found[row["student"], row["assignment"]] = in_utc(row["received"])
            except ValueError:
                where = f"{path}, line {line}"
                raise CourseError(f"{where}: {row['received']!r} is not a time: use 2027-03-01 23:59 UTC") from None
    return found


def note_received(submitted: Path, assignment: str, times: Mapping[str, datetime | str]) -> None:
    """Record when submissions arrived; the records of other students and assignments stay."""
    known = read_received(submitted)
    known |= {(student, assignment): in_utc(str(when)) for student, when in times.items()}
    text = io.StringIO()
    rows = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    rows.writerow(_COLUMNS)
    rows.writerows([student, name, when] for (student, name), when in sorted(known.items()))
    replace_file(submitted / FILE, text.getvalue().encode())


def in_utc(text: str) -> str:
    """A time as ISO text in UTC; without a zone it counts as UTC, as everywhere in nbgrader.

    nbgrader's `parse_utc` reads "+0100" as a hundred seconds, and an unknown zone as UTC. A time that leaves out part
    of its date, or that Europe and America read as different days, is refused.

    >>> in_utc("2027-03-01 23:59 +0100"), in_utc("2027-07-01 23:59 Europe/Vienna")
    ('2027-03-01 22:59:00 UTC', '2027-07-01 21:59:00 UTC')
    """
    from dateutil import tz

    if not text or len(text) > 100:  # the parser would take minutes to refuse it
        raise ValueError("no time")
    text = re.sub(r"^(\d{4}-\d\d-\d\d)-(\d\d)-(\d\d)-(\d\d)$", r"\1 \2:\3:\4", text.strip())
    stamp, _, zone = text.rpartition(" ")
    named = re.fullmatch(r"[A-Za-z][\w/]*", zone) and zone.upper() not in ("AM", "PM")
    zone = "UTC" if zone.upper() in ("UTC", "Z") else zone
    try:
        when = _complete(stamp if named else text)
        if named:
            when = when.replace(tzinfo=tz.gettz(zone) or _unknown(zone))
        when = when.astimezone(UTC) if when.tzinfo else when
        return f"{when.replace(tzinfo=None, microsecond=0).isoformat(sep=' ')} UTC"
    except (ValueError, OverflowError, TypeError, AttributeError) as error:
        raise ValueError("no time") from error


def _complete(text: str) -> datetime:
    """The time that a text names; an error if it depends on the day of reading or on the order of day and month."""
    from dateutil import parser

    days = (datetime(2000, 1, 1), datetime(2001, 2, 2))  # each fills in what is missing
    orders = (False, True) if re.search(r"\d[/.]\d+[/.]\d", text) else (False,)
    readings = {parser.parse(text, default=day, dayfirst=order) for day in days for order in orders}
    if len(readings) > 1:
        raise ValueError("several times")
    return readings.pop()


def _unknown(zone: str) -> Any:
    raise ValueError(f"no zone {zone}")


def time_of(handed: Handed, noted: str, source: str, folder: Path) -> str:
    """When a submission arrived, according to the source that the instructor trusts; empty if that is unknown."""
    if source == "file":
        latest = max(handed.saved.values(), default=None)
        try:
            return "" if latest is None else in_utc(str(datetime.fromtimestamp(latest, UTC)))
        except (ValueError, OverflowError, OSError):  # a year that no calendar has
            return ""
    if source == "timestamp.txt":
        path = folder / "timestamp.txt"
        try:
            if not _is_plain(path):
                return ""
            with path.open("rb") as file:
                return in_utc(file.read(100).decode().strip())
        except (OSError, ValueError):
            return ""
    return noted


def _is_plain(path: Path) -> bool:
    folders = (path.parent, path.parent.parent)
    return path.is_file() and not any(one.is_symlink() for one in (path, *folders)) and path.lstat().st_nlink == 1
