"""Make up the table `hits` of ClickBench: visits to pages in July 2013, with its standard columns.

    python bench/questions/hits.py FOLDER [rows]

Nothing here comes from the real table. Visitors have several hits each, a few many; a page has an address and a title,
a visitor a place, a device and a screen. What the questions of ClickBench look for is there: the counter 62 with a
quarter of all hits, the visitor, the page and the referring page that they name by number, and searches. Of a million
hits two counters and one referring site have more than 100,000, and the page that one question is about was seen in
more than 10,000 sizes of window.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

# The standard columns in their order: h, i and q are whole numbers of 16, 32 and 64 bits, s texts, t and d moments.
COLUMNS = """
WatchID:q JavaEnable:h Title:s GoodEvent:h EventTime:t EventDate:d CounterID:i ClientIP:i RegionID:i UserID:q
CounterClass:h OS:h UserAgent:h URL:s Referer:s IsRefresh:h RefererCategoryID:h RefererRegionID:i URLCategoryID:h
URLRegionID:i ResolutionWidth:h ResolutionHeight:h ResolutionDepth:h FlashMajor:h FlashMinor:h FlashMinor2:s NetMajor:h
NetMinor:h UserAgentMajor:h UserAgentMinor:s CookieEnable:h JavascriptEnable:h IsMobile:h MobilePhone:h
MobilePhoneModel:s Params:s IPNetworkID:i TraficSourceID:h SearchEngineID:h SearchPhrase:s AdvEngineID:h IsArtifical:h
WindowClientWidth:h WindowClientHeight:h ClientTimeZone:h ClientEventTime:t SilverlightVersion1:h SilverlightVersion2:h
SilverlightVersion3:i SilverlightVersion4:h PageCharset:s CodeVersion:i IsLink:h IsDownload:h IsNotBounce:h FUniqID:q
OriginalURL:s HID:i IsOldCounter:h IsEvent:h IsParameter:h DontCountHits:h WithHash:h HitColor:s LocalEventTime:t Age:h
Sex:h Income:h Interests:h Robotness:h RemoteIP:i WindowName:i OpenerName:i HistoryLength:h BrowserLanguage:s
BrowserCountry:s SocialNetwork:s SocialAction:s HTTPError:h SendTiming:i DNSTiming:i ConnectTiming:i
ResponseStartTiming:i ResponseEndTiming:i FetchTiming:i SocialSourceNetworkID:h SocialSourcePage:s ParamPrice:q
ParamOrderID:s ParamCurrency:s ParamCurrencyID:h OpenstatServiceName:s OpenstatCampaignID:s OpenstatAdID:s
OpenstatSourceID:s UTMSource:s UTMMedium:s UTMCampaign:s UTMContent:s UTMTerm:s FromTag:s HasGCLID:h RefererHash:q
URLHash:q CLID:i
"""
TYPES = {"h": pa.int16(), "i": pa.int32(), "q": pa.int64(), "s": pa.string(), "t": pa.timestamp("us"), "d": pa.date32()}

VISITOR = 435090932899640449  # numbers that the questions name
PAGE = 2868770270353813622
REFERRING_PAGE = 3594120000172545465
COUNTER = 62

FIRST = np.datetime64("2013-07-01", "s")
WORDS = ("albums", "boots", "cheap", "dresses", "films", "garden", "houses", "images", "jobs", "kitchen", "lamps",
         "maps", "news", "photos", "recipes", "tickets")  # fmt: skip
SITES = [f"{word}-{end}.example" for word in WORDS for end in ("shop", "forum", "daily", "online")]
MODELS = ["iPad", "iPhone", *(f"{maker} {n}" for maker in ("Sams", "Noki", "Leno") for n in range(100, 130))]
SCREENS = ((1366, 768), (1920, 1080), (1280, 1024), (1024, 768), (1600, 900), (1440, 900), (320, 480), (0, 0))

Integers = np.ndarray[Any, np.dtype[np.int64]]


def frequent_first(rng: np.random.Generator, size: int, count: int) -> Integers:
    """Draw from 0 to `size` - 1, each about as often as one over its rank."""
    weights = 1 / np.arange(1, size + 1)
    return rng.choice(size, count, p=weights / weights.sum())


def texts(values: list[str], index: Integers) -> pa.Array:
    return pa.array(values, pa.string()).take(pa.array(index))


def numbers_of(rng: np.random.Generator, count: int) -> Integers:
    """Draw different numbers of 63 bits, as hashes are."""
    return rng.integers(0, 1 << 40, count) << 22 | np.arange(count)


def visitors(rng: np.random.Generator, rows: int) -> tuple[Integers, dict[str, Any]]:
    """Who each hit is of, and what a visitor always has."""
    count = max(10, rows // 10)
    often = rng.lognormal(0, 1, count)
    who = rng.choice(count, rows, p=often / often.sum())
    names = numbers_of(rng, count)
    names[0] = VISITOR
    mobile = rng.random(count) < 0.1
    screen = frequent_first(rng, len(SCREENS), count)
    model = np.where(mobile, 1 + frequent_first(rng, len(MODELS), count), 0)
    region = frequent_first(rng, 2000, count) * 7 + 2
    own: dict[str, Any] = {
        "UserID": names,
        "RegionID": region,
        "ClientIP": rng.integers(-(1 << 31), 1 << 31, max(5, count // 2))[rng.integers(0, max(5, count // 2), count)],
        "OS": frequent_first(rng, 60, count),
        "UserAgent": frequent_first(rng, 80, count),
        "UserAgentMajor": rng.integers(0, 30, count),
        "ResolutionWidth": np.array(SCREENS)[screen, 0],
        "ResolutionHeight": np.array(SCREENS)[screen, 1],
        "IsMobile": mobile,
        "MobilePhone": np.where(mobile, 1 + model % 7, 0),
        "Age": rng.choice([0, 16, 22, 31, 50], count),
        "Sex": rng.integers(0, 3, count),
        "Income": rng.integers(0, 4, count),
        "Interests": rng.integers(0, 1 << 14, count),
        "ClientTimeZone": rng.choice([-1, 2, 3, 4], count),
        "IPNetworkID": rng.integers(0, 4_000_000, count),
    }
    found: dict[str, Any] = {name: values[who] for name, values in own.items()}
    found["MobilePhoneModel"] = texts(["", *MODELS], model[who])
    found["BrowserLanguage"] = texts(["ru", "en", "de", "tr"], frequent_first(rng, 4, count)[who])
    return who, found


def pages(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """What was seen: a counter is of one site, and counter 62 of one with many pages."""
    counters = np.concatenate(([COUNTER], 1000 + np.arange(5999) * 3))
    share = np.concatenate(([0.25, 0.15], 0.6 * (rank := 1 / np.arange(20, 6018)) / rank.sum()))
    counter = rng.choice(6000, rows, p=share)
    many = max(100, rows // 50)
    addresses, titles = [""], [""]
    for n in range(many):
        site, word = SITES[0], WORDS[n % len(WORDS)]
        query = "?from=google" if n % 50 == 7 else ""
        addresses.append(f"http://{site}/{word}/{n}{query}")
        titles.append(f"{word.title()} {n}{' — Google' if n % 40 == 3 else ''}" if n % 30 else "")
    for n in range(1, 6000):
        at = "maps.google.example" if n % 200 == 2 else SITES[n % len(SITES)]
        addresses.append(f"https://{at}/{WORDS[n % 16]}/{n}")
        titles.append(f"{WORDS[n % 16].title()} of {at}{' — Google' if n % 90 == 5 else ''}")
    page = np.where(counter == 0, 1 + frequent_first(rng, many, rows), many + counter)
    page[(counter == 0) & (rng.random(rows) < 0.1)] = 1
    page[rng.random(rows) < 0.01] = 0
    hashes = numbers_of(rng, len(addresses))
    hashes[1] = PAGE
    return {
        "CounterID": counters[counter],
        "URL": texts(addresses, page),
        "OriginalURL": texts(addresses, page),
        "Title": texts(titles, page),
        "URLHash": hashes[page],
        "URLCategoryID": page % 100,
        "URLRegionID": page % 1000,
    }


def origins(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Where a visitor came from: another page, a search, an advertisement, or nowhere."""
    source = rng.choice([-1, 0, 1, 2, 3, 6], rows, p=[0.2, 0.2, 0.15, 0.05, 0.15, 0.25])
    searched, shown = source == 3, source == 2
    wanted = [""] + [f"{WORDS[n % 16]} {WORDS[n // 16 % 16]} {n}" for n in range(max(50, rows // 100))]
    referring = ["", *(f"http://www.search.example/?q={word}" for word in WORDS)]
    referring += [f"https://{site}/{n}" for n in range(60) for site in SITES]
    came = np.where(source == 0, 0, 17 + frequent_first(rng, len(referring) - 17, rows))
    came[searched | ((source == -1) & (rng.random(rows) < 0.2))] = 1
    came[searched] += rng.integers(0, 16, rows)[searched]
    hashes = numbers_of(rng, len(referring))
    hashes[1] = REFERRING_PAGE
    return {
        "TraficSourceID": source,
        "SearchEngineID": np.where(searched, 1 + frequent_first(rng, 60, rows), 0),
        "SearchPhrase": texts(wanted, np.where(searched, 1 + frequent_first(rng, len(wanted) - 1, rows), 0)),
        "AdvEngineID": np.where(shown, 2 + frequent_first(rng, 18, rows), 0),
        "Referer": texts(referring, came),
        "RefererHash": hashes[came],
        "RefererCategoryID": came % 100,
        "RefererRegionID": came % 1000,
    }


def events(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """When it was, and what else a hit has."""
    seconds = rng.integers(0, 31, rows) * 86400 + (rng.beta(3, 2, rows) * 86400).astype(np.int64)
    moment = (FIRST + seconds.astype("timedelta64[s]")).astype("datetime64[us]")
    chance = {"IsRefresh": 0.1, "IsLink": 0.3, "IsDownload": 0.02, "DontCountHits": 0.05, "IsNotBounce": 0.4}
    return {
        "WatchID": numbers_of(rng, rows),
        "EventTime": moment,
        "EventDate": moment.astype("datetime64[D]"),
        "ClientEventTime": moment + rng.integers(-3600, 3600, rows).astype("timedelta64[s]"),
        "LocalEventTime": moment,
        **{name: rng.random(rows) < share for name, share in chance.items()},
        "WindowClientWidth": rng.integers(300, 2000, rows),
        "WindowClientHeight": rng.integers(200, 1200, rows),
        "HID": rng.integers(0, 1 << 30, rows),
        "FUniqID": rng.integers(0, 1 << 62, rows),
        "SendTiming": rng.integers(0, 30_000, rows),
        "ResponseEndTiming": rng.integers(0, 30_000, rows),
        "GoodEvent": np.ones(rows),
        "JavaEnable": rng.random(rows) < 0.7,
        "ResolutionDepth": np.full(rows, 24),
        "HistoryLength": rng.integers(-1, 50, rows),
        "PageCharset": texts(["utf-8", "windows-1251"], rng.integers(0, 2, rows)),
        "HitColor": texts(["5", "E", "D"], rng.integers(0, 3, rows)),
    }


def table(rows: int) -> pa.Table:
    """The table; the same for the same number of rows."""
    rng = np.random.default_rng(2013)
    _, found = visitors(rng, rows)
    found |= pages(rng, rows) | origins(rng, rows) | events(rng, rows)
    columns, fields = [], []
    for each in COLUMNS.split():
        name, letter = each.split(":")
        values = found.pop(name, None)
        if values is None:
            values = pa.repeat("" if letter == "s" else 0, rows)
        fields.append(pa.field(name, TYPES[letter], nullable=False))
        columns.append(pa.array(values).cast(TYPES[letter]))
    assert not found, f"no columns: {sorted(found)}"
    return pa.table(columns, schema=pa.schema(fields))


def main() -> None:
    reader = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    reader.add_argument("folder", type=Path, help="where hits.parquet is put")
    reader.add_argument("rows", nargs="?", type=int, default=1_000_000)
    said = reader.parse_args()
    print(f"Making {said.rows:,} hits …", file=sys.stderr)
    said.folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(table(said.rows), said.folder / "hits.parquet", compression="zstd")


if __name__ == "__main__":
    main()
