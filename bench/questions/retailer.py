"""Make up the tables of TPC-DS that are about nobody: dates, items, stores, pages, addresses and the like.

Nothing here comes from the council's generator. Values are those of the specification's domains; the ones that
questions compare with are frequent, so that answers have rows. Columns that are no keys have a few NULLs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Columns = dict[str, Any]  # of one table; an array may be masked

JULIAN = 2440588  # the day number of 1970-01-01
FIRST, LAST = np.datetime64("1900-01-02"), np.datetime64("2100-01-01")
SYLLABLES = ("bar", "ought", "able", "pri", "ese", "anti", "cally", "ation", "eing", "n st")
WORDS = ("able", "broad", "careful", "details", "early", "figures", "goods", "hours", "issues", "joint", "key", "long",
         "minutes", "new", "others", "parts", "questions", "rules", "schemes", "times", "units", "views")  # fmt: skip
CLASSES = {
    "Women": ("dresses", "fragrances", "maternity", "swimwear"),
    "Men": ("accessories", "pants", "shirts", "sports-apparel"),
    "Children": ("infants", "newborn", "school-uniforms", "toddlers"),
    "Shoes": ("athletic", "kids", "mens", "womens"),
    "Music": ("classical", "country", "pop", "rock"),
    "Jewelry": ("birdal", "costume", "diamonds", "pendants"),
    "Home": ("bathroom", "bedding", "furniture", "lighting"),
    "Sports": ("baseball", "football", "golf", "tennis"),
    "Books": ("computers", "reference", "self-help", "travel"),
    "Electronics": ("cameras", "personal", "portable", "stereo"),
}
CATEGORIES = list(CLASSES)
LARGE_BRANDS = ("scholaramalgamalg #14", "scholaramalgamalg #7", "exportiunivamalg #9", "scholaramalgamalg #9")
SMALL_BRANDS = ("amalgimporto #1", "edu packscholar #1", "exportiimporto #1", "importoamalg #1")
MAKERS = (128, 129, 270, 350, 423, 677, 694, 808, 821, 940, 977, *range(738, 779))  # that questions name
COLOURS = ("almond", "blanched", "brown", "burlywood", "burnished", "cornflower", "cyan", "deep", "floral", "forest",
           "frosted", "ghost", "honeydew", "indian", "khaki", "light", "medium", "midnight", "orange", "papaya",
           "peach", "powder", "purple", "slate", "snow", "spring")  # fmt: skip
UNITS = ("Box", "Bunch", "Bundle", "Cup", "Dozen", "Dram", "Each", "Gross", "Lb", "N/A", "Ounce", "Oz", "Pallet",
         "Pound", "Tbl", "Ton")  # fmt: skip
SIZES = ("N/A", "economy", "extra large", "large", "medium", "petite", "small")
STYLES = (  # category, colours, units and sizes that one question looks for together
    ("Women", ("powder", "khaki"), ("Ounce", "Oz"), ("medium", "extra large")),
    ("Women", ("brown", "honeydew"), ("Bunch", "Ton"), ("N/A", "small")),
    ("Men", ("floral", "deep"), ("N/A", "Dozen"), ("petite",)),
    ("Men", ("light", "cornflower"), ("Box", "Pound"), ("medium", "extra large")),
    ("Women", ("midnight", "snow"), ("Pallet", "Gross"), ("medium", "extra large")),
    ("Women", ("cyan", "papaya"), ("Cup", "Dram"), ("N/A", "small")),
    ("Men", ("orange", "frosted"), ("Each", "Tbl"), ("petite",)),
    ("Men", ("forest", "ghost"), ("Lb", "Bundle"), ("medium", "extra large")),
)
PLACES = (  # county, state, hours from Greenwich, the first two figures of zips
    ("Williamson County", "TN", -5, "31"), ("Bronx County", "NY", -5, "10"), ("Franklin Parish", "LA", -6, "70"),
    ("Orange County", "CA", -8, "92"), ("Rush County", "IN", -5, "46"), ("Toole County", "MT", -7, "59"),
    ("Jefferson County", "KY", -5, "40"), ("Dona Ana County", "NM", -7, "88"), ("La Porte County", "IN", -5, "46"),
    ("Fulton County", "GA", -5, "30"), ("Harris County", "TX", -6, "77"), ("Franklin County", "OH", -5, "43"),
    ("Lane County", "OR", -8, "97"), ("Cook County", "IL", -6, "60"), ("King County", "WA", -8, "98"),
    ("Ramsey County", "MN", -6, "55"), ("Henrico County", "VA", -5, "23"), ("Hinds County", "MS", -6, "39"),
    ("Boulder County", "CO", -7, "80"), ("Cass County", "ND", -6, "58"), ("Tulsa County", "OK", -6, "74"),
    ("Dane County", "WI", -6, "53"), ("Hartford County", "CT", -5, "60"), ("Polk County", "IA", -6, "50"),
    ("Pulaski County", "AR", -6, "72"), ("Essex County", "NJ", -5, "70"),
)  # fmt: skip
CITIES = ("Midway", "Fairview", "Edgewood", "Pleasant Hill", "Oak Grove", "Centerville", "Liberty", "Harmony")
STORE_ZIPS = ("31904", "35709", "38059")
LISTED_ZIPS = ("31016", "35474", "38607", "38415", "85669", "86197", "88274", "83405", "80348")  # that questions name
STREETS = ("Ash", "Birch", "Church", "College", "Dogwood", "Elm", "First", "Hill", "Lake", "Main", "Oak", "Spring")
CARRIERS = ("UPS", "FEDEX", "AIRBORNE", "USPS", "DHL", "TBS", "ZHOU", "ZOUROS", "MSC", "LATVIAN", "ALLIANCE",
            "ORIENTAL", "BARIAN", "BOXBUNDLES", "GREAT EASTERN", "DIAMOND", "RUPEKSA", "GERMA", "HARMSTORF",
            "PRIVATECARRIER")  # fmt: skip


def number(day: Any) -> Any:
    """The day number by which tables refer to a date."""
    return np.asarray(day, "datetime64[D]").astype(np.int64) + JULIAN


def name(key: int) -> str:
    """A business key of sixteen letters."""
    return "".join(chr(65 + (key >> shift & 15)) for shift in range(0, 64, 4))


def syllables(key: int) -> str:
    return "".join(SYLLABLES[int(digit)] for digit in reversed(str(key)))


def holed(rng: np.random.Generator, values: Any, share: float) -> Any:
    """Values of which some are NULL."""
    values = np.asarray(values)
    return np.ma.array(values, mask=rng.random(len(values)) < share)


def picked(rng: np.random.Generator, values: Any, count: int) -> Array:
    return np.asarray(values)[rng.integers(0, len(values), count)]


def sentences(rng: np.random.Generator, count: int, words: int) -> list[str]:
    return [" ".join(picked(rng, WORDS, words)).capitalize() + f" {n % 97}." for n in range(count)]


def dates() -> Columns:
    day = np.arange(FIRST, LAST + 1)
    at = number(day)
    month, year = day.astype("datetime64[M]"), day.astype("datetime64[Y]")
    years, months = year.astype(int) + 1970, month.astype(int) % 12 + 1
    quarter = (months + 2) // 3
    weekday = (at + 1) % 7
    names = np.array(["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"])
    dom = (day - month.astype("datetime64[D]")).astype(int) + 1
    holiday = ((months == 12) & (dom == 25)) | ((months == 1) & (dom == 1)) | ((months == 7) & (dom == 4))
    weeks = (at - number("1900-01-01")) // 7 + 1
    quarters = (years - 1900) * 4 + quarter
    no = np.full(len(day), "N")
    return {
        "d_date_sk": at, "d_date_id": [name(int(each)) for each in at], "d_date": day,
        "d_month_seq": (years - 1900) * 12 + months - 1, "d_week_seq": weeks, "d_quarter_seq": quarters,
        "d_year": years, "d_dow": weekday, "d_moy": months, "d_dom": dom, "d_qoy": quarter, "d_fy_year": years,
        "d_fy_quarter_seq": quarters, "d_fy_week_seq": weeks, "d_day_name": names[weekday],
        "d_quarter_name": [f"{a}Q{b}" for a, b in zip(years, quarter, strict=True)],
        "d_holiday": np.where(holiday, "Y", "N"), "d_weekend": np.where(weekday % 6 == 0, "Y", "N"),
        "d_following_holiday": np.where(np.roll(holiday, 1), "Y", "N"), "d_first_dom": number(month),
        "d_last_dom": number((month + 1).astype("datetime64[D]") - 1), "d_same_day_ly": at - 365,
        "d_same_day_lq": at - 92, "d_current_day": no, "d_current_week": no, "d_current_month": no,
        "d_current_quarter": no, "d_current_year": no,
    }  # fmt: skip


def times() -> Columns:
    at = np.arange(86400)
    hour = at // 3600
    meal = np.select([(hour >= 6) & (hour < 10), (hour >= 12) & (hour < 15), (hour >= 17) & (hour < 20)],
                     ["breakfast", "lunch", "dinner"], "")  # fmt: skip
    part = np.select([hour < 6, hour < 12, hour < 17], ["night", "morning", "afternoon"], "evening")
    shift = np.select([hour < 7, hour < 15, hour < 23], ["third", "first", "second"], "third")
    return {
        "t_time_sk": at, "t_time_id": [name(int(each)) for each in at], "t_time": at, "t_hour": hour,
        "t_minute": at // 60 % 60, "t_second": at % 60, "t_am_pm": np.where(hour < 12, "AM", "PM"),
        "t_shift": shift, "t_sub_shift": part, "t_meal_time": meal,
    }  # fmt: skip


def people_of_every_kind(count: int) -> Columns:
    """The first of all 1,920,800 combinations of what a customer can be."""
    at = np.arange(count)
    found: Columns = {"cd_demo_sk": at + 1}
    kinds: tuple[tuple[str, Any], ...] = (
        ("cd_gender", ["M", "F"]),
        ("cd_marital_status", ["M", "S", "D", "W", "U"]),
        ("cd_education_status", ["Primary", "Secondary", "College", "2 yr Degree", "4 yr Degree", "Advanced Degree",
                                 "Unknown"]),
        ("cd_purchase_estimate", range(500, 10001, 500)),
        ("cd_credit_rating", ["Good", "Low Risk", "High Risk", "Unknown"]),
        ("cd_dep_count", range(7)), ("cd_dep_employed_count", range(7)), ("cd_dep_college_count", range(7)),
    )  # fmt: skip
    for column, values in kinds:
        found[column] = np.asarray(values)[at % len(values)]
        at = at // len(values)
    return found


def households_of_every_kind() -> Columns:
    at = np.arange(7200)
    potential = np.array(["0-500", "501-1000", "1001-5000", "5001-10000", ">10000", "Unknown"])
    return {
        "hd_demo_sk": at + 1, "hd_income_band_sk": at % 20 + 1, "hd_buy_potential": potential[at // 20 % 6],
        "hd_dep_count": at // 120 % 10, "hd_vehicle_count": at // 1200 - 1,
    }  # fmt: skip


def places(rng: np.random.Generator, letter: str, count: int, share: float) -> Columns:
    """Where things are: a street, a city, a county and what follows from it; `share` of them in the first county."""
    index = np.where(rng.random(count) < share, 0, rng.integers(0, len(PLACES), count))
    county, state, hours, start = (np.array(each)[index] for each in zip(*PLACES, strict=True))
    zips = np.char.add(start, np.char.mod("%03d", rng.integers(0, 1000, count)))
    listed = picked(rng, (*STORE_ZIPS, *LISTED_ZIPS), count)
    return {
        f"{letter}_street_number": np.char.mod("%d", rng.integers(1, 1000, count)),
        f"{letter}_street_name": picked(rng, STREETS, count),
        f"{letter}_street_type": picked(rng, ("Ave", "Boulevard", "Court", "Ln", "Parkway", "Way"), count),
        f"{letter}_suite_number": np.char.mod("Suite %d", rng.integers(0, 50, count) * 10),
        f"{letter}_city": picked(rng, CITIES, count), f"{letter}_county": county, f"{letter}_state": state,
        f"{letter}_zip": np.where(rng.random(count) < 0.4, listed, zips),
        f"{letter}_country": np.full(count, "United States"), f"{letter}_gmt_offset": hours * 100,
    }  # fmt: skip


def addresses(rng: np.random.Generator, count: int) -> Columns:
    found = places(rng, "ca", count, 0.15)
    found["ca_location_type"] = picked(rng, ("apartment", "condo", "single family"), count)
    found = {column: holed(rng, values, 0.02) for column, values in found.items()}
    keys = range(1, count + 1)
    return {"ca_address_sk": keys, "ca_address_id": [name(each) for each in keys], **found}


def revised(rng: np.random.Generator, letter: str, key: str, count: int) -> Columns:
    """Keys of a table with a history: every third thing has two rows, an old and a present one."""
    at = np.arange(count)
    old, new = at % 4 == 2, at % 4 == 3
    begin = np.where(new, np.datetime64("2000-10-27"), np.datetime64("1997-10-27"))
    end = np.ma.array(np.full(count, np.datetime64("2000-10-26")), mask=~old)
    return {
        f"{letter}_{key}_sk": at + 1, f"{letter}_{key}_id": [name(int(each - each % 4 // 3) + 1) for each in at],
        f"{letter}_rec_start_date": begin, f"{letter}_rec_end_date": end,
    }  # fmt: skip


def items(rng: np.random.Generator, count: int) -> Columns:
    category = rng.integers(0, 10, count)
    kind = rng.integers(0, 4, count)
    maker = np.where(rng.random(count) < 0.5, picked(rng, MAKERS, count), rng.integers(1, 1001, count))
    colour, units, size = picked(rng, COLOURS, count), picked(rng, UNITS, count), picked(rng, SIZES, count)
    brands = [SMALL_BRANDS if each in (0, 1, 4) else LARGE_BRANDS for each in category]
    which = rng.integers(0, 4, count)
    for at in np.flatnonzero(rng.random(count) < 0.1):  # what one question looks for
        style = STYLES[int(at) % len(STYLES)]
        category[at], maker[at] = CATEGORIES.index(style[0]), 738 + at % 41
        colour[at], units[at], size[at] = (each[at % len(each)] for each in style[1:])
        brands[at] = SMALL_BRANDS
    low, high = np.array([(9, 10000), (99, 149), (6200, 9900), (6500, 7400)]).T
    band = rng.choice(4, count, p=[0.45, 0.1, 0.3, 0.15])
    price = rng.integers(low[band], high[band])
    manager = np.where(rng.random(count) < 0.4, picked(rng, (1, 8, 28), count), rng.integers(1, 41, count))
    ids = np.arange(1, count + 1)
    found: Columns = {
        "i_item_desc": sentences(rng, count, 12), "i_current_price": price,
        "i_wholesale_cost": price * rng.integers(30, 90, count) // 100,
        "i_brand_id": (category + 1) * 1_000_000 + (kind + 1) * 1000 + which + 1,
        "i_brand": [some[n] for some, n in zip(brands, which, strict=True)], "i_class_id": kind + 1,
        "i_class": [CLASSES[CATEGORIES[a]][b] for a, b in zip(category, kind, strict=True)],
        "i_category_id": category + 1, "i_category": np.array(CATEGORIES)[category], "i_manufact_id": maker,
        "i_manufact": [syllables(int(each)) for each in maker], "i_size": size,
        "i_formulation": np.char.mod("%d formula", rng.integers(0, 1000, count)), "i_color": colour, "i_units": units,
        "i_container": np.full(count, "Unknown"), "i_manager_id": manager,
        "i_product_name": [syllables(int(each)) for each in ids],
    }  # fmt: skip
    return revised(rng, "i", "item", count) | {column: holed(rng, each, 0.01) for column, each in found.items()}


def managed(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    """People who run things, by name, and the markets they know."""
    names = [f"{a} {b}" for a in ("Bob", "Julia", "Larry", "Mark") for b in ("Belcher", "Durham", "Hightower", "Tran")]
    return picked(rng, names, count), picked(rng, names, count)


def stores(rng: np.random.Generator, count: int) -> Columns:
    at = np.arange(count)
    manager, expert = managed(rng, count)
    where = places(rng, "s", count, 0.7)
    where["s_zip"] = np.array(STORE_ZIPS)[at % 3]
    return revised(rng, "s", "store", count) | where | {
        "s_closed_date_sk": np.ma.array(number("1999-03-13") + at, mask=at % 3 > 0),
        "s_store_name": np.array(SYLLABLES)[[4, 1, 2, 3, 5, 6]][at % 6],
        "s_number_employees": rng.integers(190, 300, count), "s_floor_space": rng.integers(5_000_000, 9_999_999, count),
        "s_hours": picked(rng, ("8AM-4PM", "8AM-8AM", "8AM-12AM"), count), "s_manager": manager,
        "s_market_id": np.where(at % 3 == 0, 8, rng.integers(1, 11, count)),
        "s_geography_class": np.full(count, "Unknown"), "s_market_desc": sentences(rng, count, 8),
        "s_market_manager": expert, "s_division_id": np.ones(count), "s_division_name": np.full(count, "Unknown"),
        "s_company_id": np.ones(count), "s_company_name": np.full(count, "Unknown"),
        "s_tax_percentage": rng.integers(0, 12, count),
    }  # fmt: skip


def call_centers(rng: np.random.Generator, count: int) -> Columns:
    at = np.arange(count)
    manager, expert = managed(rng, count)
    where = places(rng, "cc", count, 0.8)
    return revised(rng, "cc", "call_center", count) | where | {
        "cc_closed_date_sk": np.ma.array(at, mask=at >= 0), "cc_open_date_sk": number("1998-01-01") - at,
        "cc_name": np.array(["NY Metro", "Mid Atlantic", "North Midwest", "California"])[at // 2 % 4],
        "cc_class": picked(rng, ("small", "medium", "large"), count), "cc_employees": rng.integers(1, 700, count),
        "cc_sq_ft": rng.integers(1000, 40000, count), "cc_hours": picked(rng, ("8AM-4PM", "8AM-8AM"), count),
        "cc_manager": manager, "cc_mkt_id": rng.integers(1, 7, count), "cc_mkt_class": sentences(rng, count, 4),
        "cc_mkt_desc": sentences(rng, count, 8), "cc_market_manager": expert, "cc_division": rng.integers(1, 7, count),
        "cc_division_name": picked(rng, SYLLABLES, count), "cc_company": rng.integers(1, 7, count),
        "cc_company_name": picked(rng, SYLLABLES, count), "cc_tax_percentage": rng.integers(0, 12, count),
    }  # fmt: skip


def web_sites(rng: np.random.Generator, count: int) -> Columns:
    at = np.arange(count)
    manager, expert = managed(rng, count)
    known = revised(rng, "web", "site", count)
    return known | places(rng, "web", count, 0.5) | {
        "web_name": np.char.mod("site_%d", at // 3), "web_open_date_sk": number("1997-08-16") + at,
        "web_close_date_sk": np.ma.array(number("2001-06-02") + at, mask=at % 3 > 0),
        "web_class": np.full(count, "Unknown"), "web_manager": manager, "web_mkt_id": rng.integers(1, 7, count),
        "web_mkt_class": sentences(rng, count, 6), "web_mkt_desc": sentences(rng, count, 8),
        "web_market_manager": expert, "web_company_id": at % 6 + 1,
        "web_company_name": np.array(SYLLABLES)[[3, 2, 1, 4, 5, 6]][at % 6],
        "web_tax_percentage": rng.integers(0, 12, count),
    }  # fmt: skip


def web_pages(rng: np.random.Generator, count: int) -> Columns:
    at = np.arange(count)
    letters = np.where(at % 5 == 0, rng.integers(5000, 5201, count), rng.integers(300, 8000, count))
    return revised(rng, "wp", "web_page", count) | {
        "wp_creation_date_sk": number("1997-09-03") + at, "wp_access_date_sk": number("2002-12-01") + at % 99,
        "wp_autogen_flag": picked(rng, ("N", "Y"), count), "wp_customer_sk": np.ma.array(at, mask=at >= 0),
        "wp_url": np.full(count, "http://www.foo.com"),
        "wp_type": holed(rng, picked(rng, ("ad", "dynamic", "feedback", "general", "order", "welcome"), count), 0.02),
        "wp_char_count": letters, "wp_link_count": rng.integers(2, 26, count),
        "wp_image_count": rng.integers(1, 8, count), "wp_max_ad_count": rng.integers(0, 5, count),
    }  # fmt: skip


def warehouses(rng: np.random.Generator, count: int) -> Columns:
    at = np.arange(count)
    names = [f"{each[:-1]} and more" for each in sentences(rng, count, 3)]
    return places(rng, "w", count, 0.4) | {
        "w_warehouse_sk": at + 1, "w_warehouse_id": [name(int(each) + 1) for each in at],
        "w_warehouse_name": np.ma.array(names, mask=at == count - 1),
        "w_warehouse_sq_ft": rng.integers(50_000, 1_000_000, count),
    }  # fmt: skip


def catalog_pages(rng: np.random.Generator, count: int) -> Columns:
    at = np.arange(count)
    begin = number("1998-01-01") + at // 20 * 90
    return {
        "cp_catalog_page_sk": at + 1, "cp_catalog_page_id": [name(int(each) + 1) for each in at],
        "cp_start_date_sk": holed(rng, begin, 0.02), "cp_end_date_sk": holed(rng, begin + 90, 0.02),
        "cp_department": holed(rng, np.full(count, "DEPARTMENT"), 0.02), "cp_catalog_number": at // 20 + 1,
        "cp_catalog_page_number": at % 20 + 1, "cp_description": sentences(rng, count, 8),
        "cp_type": holed(rng, picked(rng, ("bi-annual", "monthly", "quarterly"), count), 0.02),
    }  # fmt: skip


def promotions(rng: np.random.Generator, count: int, goods: int) -> Columns:
    at = np.arange(count)
    channels = {"dmail": 0.5, "email": 0.1, "catalog": 0.1, "tv": 0.2, "radio": 0.1, "press": 0.1, "event": 0.2,
                "demo": 0.1}  # fmt: skip
    begin = number("1998-01-01") + rng.integers(0, 1500, count)
    said = {f"p_channel_{each}": np.where(rng.random(count) < share, "Y", "N") for each, share in channels.items()}
    return {
        "p_promo_sk": at + 1, "p_promo_id": [name(int(each) + 1) for each in at], "p_start_date_sk": begin,
        "p_end_date_sk": begin + rng.integers(5, 60, count), "p_item_sk": rng.integers(1, goods + 1, count),
        "p_cost": np.full(count, 100000), "p_response_target": np.ones(count),
        "p_promo_name": picked(rng, SYLLABLES, count),
        **{column: holed(rng, values, 0.02) for column, values in said.items()},
        "p_channel_details": sentences(rng, count, 6), "p_purpose": np.full(count, "Unknown"),
        "p_discount_active": np.full(count, "N"),
    }  # fmt: skip


def inventory(rng: np.random.Generator, goods: Array, warehouses: int) -> Columns:
    """What was there of some items, on one day of each week."""
    days = number(np.arange(np.datetime64("1998-01-01"), np.datetime64("2002-12-31"), 7))
    day, item, place = (each.ravel() for each in np.meshgrid(days, goods, np.arange(warehouses) + 1, indexing="ij"))
    amount = np.minimum(1000, rng.lognormal(4.5, 1.3, len(day))).astype(int)
    return {
        "inv_date_sk": day, "inv_item_sk": item, "inv_warehouse_sk": place,
        "inv_quantity_on_hand": holed(rng, amount, 0.05),
    }  # fmt: skip


def small_lists() -> dict[str, Columns]:
    """Tables of a few rows that are the same at every scale."""
    kinds = ("EXPRESS", "NEXT DAY", "OVERNIGHT", "REGULAR", "TWO DAY", "LIBRARY")
    codes = ("AIR", "SURFACE", "SEA", "BIKE")
    ways, reasons, bands = np.arange(20), np.arange(1, 36), np.arange(20)
    return {
        "ship_mode": {
            "sm_ship_mode_sk": ways + 1, "sm_ship_mode_id": [name(int(each) + 1) for each in ways],
            "sm_type": np.array(kinds)[ways % 6], "sm_code": np.array(codes)[ways // 6], "sm_carrier": CARRIERS,
            "sm_contract": [f"contract {each}" for each in ways],
        },
        "reason": {
            "r_reason_sk": reasons, "r_reason_id": [name(int(each)) for each in reasons],
            "r_reason_desc": [f"reason {each}" for each in reasons],
        },
        "income_band": {
            "ib_income_band_sk": bands + 1, "ib_lower_bound": np.where(bands == 0, 0, bands * 10000 + 1),
            "ib_upper_bound": bands * 10000 + 10000,
        },
    }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How many rows the tables have, by how many lines were sold in stores."""

    lines: int

    @property
    def customers(self) -> int:
        return max(50, self.lines // 20)

    @property
    def addresses(self) -> int:
        return max(40, self.customers // 2)

    @property
    def items(self) -> int:
        return min(2000, max(300, self.lines // 50))

    @property
    def kinds_of_people(self) -> int:
        return 1_920_800 if self.lines > 100_000 else 19_208

    stores: int = 12
    call_centers: int = 6
    catalog_pages: int = 200
    web_sites: int = 18
    web_pages: int = 60
    warehouses: int = 5
    promotions: int = 60
    stocked: int = 40


def tables(rng: np.random.Generator, sizes: Sizes) -> dict[str, Columns]:
    """All tables that are about nobody."""
    goods = items(rng, sizes.items)
    makers = np.ma.filled(goods["i_manufact_id"], 0)
    known = np.isin(makers, (129, 270, 423, 677, 694, 808, 821, 940)) | (
        np.ma.filled(goods["i_current_price"], 0) < 150
    )
    stocked = np.concatenate([np.flatnonzero(known), np.flatnonzero(~known)])[: sizes.stocked] + 1
    return {
        "date_dim": dates(), "time_dim": times(), "customer_demographics": people_of_every_kind(sizes.kinds_of_people),
        "household_demographics": households_of_every_kind(), "customer_address": addresses(rng, sizes.addresses),
        "item": goods, "store": stores(rng, sizes.stores), "call_center": call_centers(rng, sizes.call_centers),
        "web_site": web_sites(rng, sizes.web_sites), "web_page": web_pages(rng, sizes.web_pages),
        "warehouse": warehouses(rng, sizes.warehouses), "catalog_page": catalog_pages(rng, sizes.catalog_pages),
        "promotion": promotions(rng, sizes.promotions, sizes.items),
        "inventory": inventory(rng, stocked, sizes.warehouses), **small_lists(),
    }  # fmt: skip
