"""Make up the tables of TPC-DS: what is about nobody (retailer.py), customers, what they bought and what they returned.

    python bench/questions/retail_sales.py FOLDER [lines]

`lines` are those sold in stores, about; half as many are sold from the catalogue, a quarter on the web, and a tenth of
all is returned. No customer has more than 80 lines from stores, 90 from the catalogue or 24 from the web. Some of
what was returned to a store is bought again from the catalogue. One line in ten was sold on days that questions ask
about; one value in twenty-five is NULL, also of whom a line is. All of it is the same for the same number of lines.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from retailer import Array, Columns, Sizes, holed, name, number, picked, tables

COLUMNS = Path(__file__).parent / "retail_columns.txt"  # all tables, and their columns with a letter for the type
TYPES = {"k": pa.int64(), "i": pa.int32(), "s": pa.string(), "d": pa.date32(), "m": pa.decimal128(7, 2),
         "r": pa.decimal128(5, 2), "c": pa.decimal128(15, 2)}  # fmt: skip
NULLS = 0.04
FIRST, LAST = number("1998-01-02"), number("2002-12-31")
ASKED_ABOUT = (
    ("2000-08-23", "2000-09-22"), ("2000-01-03", "2000-01-09"), ("1999-02-22", "1999-03-24"),
    ("2000-02-01", "2000-04-26"), ("1998-11-01", "1998-11-30"), ("1999-11-01", "1999-11-30"),
    ("2000-11-01", "2000-11-30"), ("2001-04-01", "2001-04-30"), ("2001-12-01", "2001-12-31"),
    ("1998-12-01", "1998-12-31"), ("1999-09-01", "1999-09-30"), ("2002-02-01", "2002-04-02"),
)  # fmt: skip
KINDS_ASKED_ABOUT = ("M|Advanced Degree", "S|College", "W|2 yr Degree", "D|2 yr Degree", "M|4 yr Degree", "M|Unknown",
                     "W|Advanced Degree")  # fmt: skip
FIRST_NAMES = ("Anna", "Brian", "Carmen", "David", "Edith", "Frank", "Grace", "Henry", "Irene", "James", "Karen",
               "Louis", "Maria", "Nancy", "Oscar", "Paula", "Ronald", "Susan", "Thomas", "Wanda")  # fmt: skip
LAST_NAMES = ("Adams", "Brown", "Chang", "Davis", "Evans", "Fox", "Green", "Hill", "Jones", "King", "Lopez", "Moore",
              "Nelson", "Owens", "Perez", "Reed", "Smith", "Tran", "Ward", "Young")  # fmt: skip
COUNTRIES = ("BRAZIL", "CANADA", "FRANCE", "INDIA", "MEXICO", "PERU", "UNITED STATES")


@dataclass(frozen=True, kw_only=True)
class Way:
    """How things are sold: the prefix of its columns, how many lines an order has, and the highest markup."""

    letters: str
    order: str
    orders: int  # of one customer, at most
    lines: int  # of one order, at most
    markup: float


STORE = Way(letters="ss", order="ss_ticket_number", orders=4, lines=20, markup=1)
CATALOG = Way(letters="cs", order="cs_order_number", orders=3, lines=14, markup=2)
WEB = Way(letters="ws", order="ws_order_number", orders=2, lines=12, markup=2)


@dataclass(frozen=True, kw_only=True)
class Orders:
    """Orders by whom, when and how many lines; `item` is that of the first line, or 0 for any."""

    customer: Array
    day: Array
    lines: Array
    item: Array


def customers(rng: np.random.Generator, sizes: Sizes, kinds: Columns) -> Columns:
    count = sizes.customers
    key = np.arange(1, count + 1)
    first, last = picked(rng, FIRST_NAMES, count), picked(rng, LAST_NAMES, count)
    began = rng.integers(FIRST - 700, LAST, count)
    found: Columns = {
        "c_current_cdemo_sk": kinds_of_people(rng, kinds, count), "c_current_hdemo_sk": rng.integers(1, 7201, count),
        "c_current_addr_sk": rng.integers(1, sizes.addresses + 1, count), "c_first_shipto_date_sk": began + 30,
        "c_first_sales_date_sk": began,
        "c_salutation": picked(rng, ("Dr.", "Miss", "Mr.", "Mrs.", "Ms.", "Sir"), count),
        "c_first_name": first, "c_last_name": last, "c_preferred_cust_flag": picked(rng, ("N", "Y"), count),
        "c_birth_day": rng.integers(1, 29, count), "c_birth_month": rng.integers(1, 13, count),
        "c_birth_year": rng.integers(1924, 1993, count), "c_birth_country": picked(rng, COUNTRIES, count),
        "c_login": np.full(count, ""),
        "c_email_address": [f"{a}.{b}@{n}.example" for n, (a, b) in enumerate(zip(first, last, strict=True))],
        "c_last_review_date_sk": rng.integers(LAST - 400, LAST, count),
    }  # fmt: skip
    found = {column: holed(rng, values, NULLS) for column, values in found.items()}
    return {"c_customer_sk": key, "c_customer_id": [name(int(each)) for each in key], **found}


def kinds_of_people(rng: np.random.Generator, kinds: Columns, count: int) -> Array:
    """Half of them of the kinds that questions are about."""
    both = np.char.add(np.char.add(kinds["cd_marital_status"], "|"), kinds["cd_education_status"])
    popular = kinds["cd_demo_sk"][np.isin(both, KINDS_ASKED_ABOUT)]
    return np.where(rng.random(count) < 0.5, picked(rng, popular, count), picked(rng, kinds["cd_demo_sk"], count))


def days(rng: np.random.Generator, count: int) -> Array:
    asked = np.concatenate([np.arange(number(a), number(b) + 1) for a, b in ASKED_ABOUT])
    anytime = rng.integers(FIRST, LAST + 1, count)
    return np.where(rng.random(count) < 0.1, picked(rng, asked, count), anytime)


def orders(rng: np.random.Generator, way: Way, people: int) -> Orders:
    times = rng.integers(0, way.orders + 1, people)
    customer = rng.permutation(np.repeat(np.arange(1, people + 1), times))
    count = len(customer)
    lines = rng.integers(1, way.lines + 1, count)
    return Orders(customer=customer, day=days(rng, count), lines=lines, item=np.zeros(count, int))


def and_again(rng: np.random.Generator, way: Way, some: Orders, returned: Columns) -> Orders:
    """Add orders for two in five of the things that were returned, some time after; the same buyer's and item."""
    again = np.flatnonzero(rng.random(len(returned["item"])) < 0.4)
    buyers = returned["customer"][again]
    _, rank = np.unique(buyers, return_index=True)
    again = np.union1d(again[rank], again[np.setdiff1d(np.arange(len(again)), rank)][::2])
    order = np.argsort(returned["customer"][again], kind="stable")
    again = again[order]
    starts = np.searchsorted(returned["customer"][again], returned["customer"][again])
    again = again[np.arange(len(again)) - starts < 8]
    day = np.minimum(LAST, returned["day"][again] + rng.integers(0, 100, len(again)))
    return Orders(
        customer=np.concatenate([some.customer, returned["customer"][again]]),
        day=np.concatenate([some.day, day]),
        lines=np.concatenate([some.lines, rng.integers(1, way.lines // 2, len(again))]),
        item=np.concatenate([some.item, returned["item"][again]]),
    )


@dataclass(frozen=True, kw_only=True)
class Lines:
    """What was sold, line by line, before some values are NULL: keys of other tables, and money in cents."""

    order: Array
    customer: Array
    day: Array
    item: Array
    money: Columns
    keys: Columns


def sold(rng: np.random.Generator, way: Way, some: Orders, goods: int) -> tuple[Array, Array, Array, Array]:
    """The lines of orders: order number, customer, day and item, which no order has twice."""
    order = np.repeat(np.arange(1, len(some.customer) + 1), some.lines)
    start = np.repeat(np.cumsum(some.lines) - some.lines, some.lines)
    rank = np.arange(len(order)) - start
    first = np.where(some.item > 0, some.item - 1, rng.integers(0, goods, len(some.item)))
    step = rng.integers(1, goods // way.lines, len(some.item))  # so that steps do not come round
    item = (first[order - 1] + rank * step[order - 1]) % goods + 1
    return order, some.customer[order - 1], some.day[order - 1], item


def priced(rng: np.random.Generator, way: Way, count: int) -> Columns:
    """Numbers and prices of lines, as the specification has them follow from each other."""
    quantity = rng.integers(1, 101, count)
    wholesale = rng.integers(100, 10001, count)
    listed = (wholesale * (1 + rng.random(count) * way.markup)).astype(int)
    price = (listed * (1 - rng.random(count) * (rng.random(count) < 0.8))).astype(int)
    whole = price * quantity
    coupon = np.where(rng.random(count) < 0.2, (whole * rng.random(count)).astype(int), 0)
    paid = whole - coupon
    tax = paid * rng.integers(0, 10, count) // 100
    shipping = (listed * quantity * rng.random(count) / 2).astype(int)
    found: Columns = {
        "quantity": quantity, "wholesale_cost": wholesale, "list_price": listed, "sales_price": price,
        "ext_discount_amt": (listed - price) * quantity, "ext_sales_price": whole,
        "ext_wholesale_cost": wholesale * quantity, "ext_list_price": listed * quantity, "ext_tax": tax,
        "coupon_amt": coupon, "net_paid": paid, "net_paid_inc_tax": paid + tax,
        "net_profit": paid - wholesale * quantity,
    }  # fmt: skip
    if way is not STORE:
        found |= {"ext_ship_cost": shipping, "net_paid_inc_ship": paid + shipping,
                  "net_paid_inc_ship_tax": paid + shipping + tax}  # fmt: skip
    return found


class Shop:
    """Sells and takes back; what customers are and where they live goes with them."""

    def __init__(self, rng: np.random.Generator, sizes: Sizes, people: Columns, kinds: Columns) -> None:
        self.rng, self.sizes, self.kinds = rng, sizes, kinds
        self.own = {
            each: np.asarray(np.ma.getdata(people[f"c_current_{each}_sk"])) for each in ("cdemo", "hdemo", "addr")
        }

    def about(self, customer: Array) -> Columns:
        """A customer with kind, household and address: mostly their own."""
        count = len(customer)
        other = {"cdemo": kinds_of_people(self.rng, self.kinds, count), "hdemo": self.rng.integers(1, 7201, count),
                 "addr": self.rng.integers(1, self.sizes.addresses + 1, count)}  # fmt: skip
        own = self.rng.random(count) < 0.7
        return {"customer_sk": customer} | {
            f"{each}_sk": np.where(own, values[customer - 1], other[each]) for each, values in self.own.items()
        }

    def other(self, customer: Array, share: float) -> Array:
        """The same customers, but for a share of them."""
        strangers = self.rng.integers(1, self.sizes.customers + 1, len(customer))
        return np.where(self.rng.random(len(customer)) < share, strangers, customer)

    def keys(self, count: int, **most: int) -> Columns:
        return {f"{each}_sk": self.rng.integers(1, highest + 1, count) for each, highest in most.items()}

    def sell(self, way: Way, some: Orders) -> Lines:
        order, customer, day, item = sold(self.rng, way, some, self.sizes.items)
        count = len(order)
        at = order - 1
        whole = len(some.customer)
        keys: Columns = {"sold_time_sk": self.rng.integers(8 * 3600, 21 * 3600, whole)[at]}
        buyer = {each: values[at] for each, values in self.about(some.customer).items()}
        if way is STORE:
            keys |= buyer | {"store_sk": self.rng.integers(1, self.sizes.stores + 1, whole)[at]}
        else:
            receiver = self.about(self.other(some.customer, 0.15))
            keys |= {f"bill_{each}": values for each, values in buyer.items()}
            keys |= {f"ship_{each}": values[at] for each, values in receiver.items()}
            keys |= self.keys(count, ship_mode=20, warehouse=self.sizes.warehouses)
            keys["ship_date_sk"] = day + self.rng.integers(2, 131, count)
        if way is CATALOG:
            keys |= self.keys(count, call_center=self.sizes.call_centers, catalog_page=self.sizes.catalog_pages)
        if way is WEB:
            keys |= self.keys(count, web_page=self.sizes.web_pages, web_site=self.sizes.web_sites)
        keys |= {"sold_date_sk": day} | self.keys(count, promo=self.sizes.promotions)
        return Lines(order=order, customer=customer, day=day, item=item, money=priced(self.rng, way, count), keys=keys)

    def written(self, way: Way, lines: Lines) -> Columns:
        """The table of these lines, with NULLs."""
        values = lines.keys | lines.money
        found = {f"{way.letters}_{each}": holed(self.rng, column, NULLS) for each, column in values.items()}
        return found | {f"{way.letters}_item_sk": lines.item, way.order: lines.order}

    def take_back(self, lines: Lines) -> tuple[Array, Columns, Columns]:
        """Which lines come back, when, and what that costs."""
        which = np.flatnonzero(self.rng.random(len(lines.order)) < 0.1)
        count = len(which)
        money = {each: values[which] for each, values in lines.money.items()}
        quantity = self.rng.integers(1, money["quantity"] + 1)
        amount = quantity * money["sales_price"]
        tax = amount * self.rng.integers(0, 10, count) // 100
        cash = (amount * self.rng.random(count)).astype(int)
        charge = ((amount - cash) * self.rng.random(count)).astype(int)
        fee = self.rng.integers(50, 10001, count)
        shipping = (money["list_price"] * quantity * self.rng.random(count) / 2).astype(int)
        values: Columns = {
            "return_quantity": quantity, "return_amt": amount, "return_tax": tax, "return_amt_inc_tax": amount + tax,
            "fee": fee, "return_ship_cost": shipping, "refunded_cash": cash, "reversed_charge": charge,
            "credit": amount - cash - charge, "net_loss": fee + shipping + tax,
        }  # fmt: skip
        when = {"day": lines.day[which] + self.rng.integers(1, 151, count),
                "time": self.rng.integers(8 * 3600, 18 * 3600, count)}  # fmt: skip
        return which, values, when

    def store_returns(self, lines: Lines) -> tuple[Columns, Columns]:
        which, money, when = self.take_back(lines)
        money["store_credit"] = money.pop("credit")
        keys = self.about(self.other(lines.customer[which], 0.2)) | self.keys(len(which), reason=35)
        keys |= {"returned_date_sk": when["day"], "return_time_sk": when["time"],
                 "store_sk": lines.keys["store_sk"][which]}  # fmt: skip
        found = {f"sr_{each}": holed(self.rng, values, NULLS) for each, values in (keys | money).items()}
        found |= {"sr_item_sk": lines.item[which], "sr_ticket_number": lines.order[which]}
        seen = {"customer": lines.customer[which], "item": lines.item[which], "day": when["day"]}
        return found, seen

    def shipped_returns(self, lines: Lines, letters: str) -> Columns:
        which, money, when = self.take_back(lines)
        back = self.about(self.other(lines.customer[which], 0.2))
        kept = self.rng.random(len(which)) < 0.6  # who brings a thing back mostly gets the money
        other = self.about(self.other(lines.customer[which], 0.2))
        keys = {f"refunded_{each}": values for each, values in back.items()}
        keys |= {f"returning_{each}": np.where(kept, values, other[each]) for each, values in back.items()}
        keys |= {"returned_date_sk": when["day"], "returned_time_sk": when["time"]}
        keys |= self.keys(len(which), reason=35)
        if letters == "cr":
            money["return_amount"], money["store_credit"] = money.pop("return_amt"), money.pop("credit")
            same = ["call_center_sk", "catalog_page_sk", "ship_mode_sk", "warehouse_sk"]
        else:
            money["account_credit"] = money.pop("credit")
            same = ["web_page_sk"]
        keys |= {each: lines.keys[each][which] for each in same}
        found = {f"{letters}_{each}": holed(self.rng, values, NULLS) for each, values in (keys | money).items()}
        return found | {f"{letters}_item_sk": lines.item[which], f"{letters}_order_number": lines.order[which]}


def made(lines: int) -> dict[str, Columns]:
    """All tables."""
    rng, sizes = np.random.default_rng(1998), Sizes(lines=lines)
    found = tables(rng, sizes)
    kinds = found["customer_demographics"]
    found["customer"] = customers(rng, sizes, kinds)
    shop = Shop(rng, sizes, found["customer"], kinds)
    in_store = shop.sell(STORE, orders(rng, STORE, sizes.customers))
    found["store_sales"] = shop.written(STORE, in_store)
    found["store_returns"], returned = shop.store_returns(in_store)
    by_mail = shop.sell(CATALOG, and_again(rng, CATALOG, orders(rng, CATALOG, sizes.customers), returned))
    found["catalog_sales"] = shop.written(CATALOG, by_mail)
    found["catalog_returns"] = shop.shipped_returns(by_mail, "cr")
    on_web = shop.sell(WEB, orders(rng, WEB, sizes.customers))
    found["web_sales"] = shop.written(WEB, on_web)
    found["web_returns"] = shop.shipped_returns(on_web, "wr")
    return found


def declared() -> dict[str, dict[str, str]]:
    """The columns of each table, with the letters of their types."""
    found: dict[str, dict[str, str]] = {}
    for line in COLUMNS.read_text().splitlines():
        if line.startswith(" "):
            found[list(found)[-1]] |= dict(each.split(":") for each in line.split())
        else:
            found[line] = {}
    return found


def column(values: Any, letter: str) -> pa.Array:
    """Values in the type of their column; money is in cents."""
    mask = np.ma.getmaskarray(values) if np.ma.isMaskedArray(values) else None
    plain = np.ma.getdata(values) if mask is not None else values
    if letter in "mrc":
        hundredths = pa.array(np.asarray(plain).astype(np.int64), mask=mask).cast(pa.decimal128(19, 0))
        scaled = pa.Array.from_buffers(pa.decimal128(19, 2), len(hundredths), hundredths.buffers())
        return scaled.cast(TYPES[letter])
    if letter in "ki":
        return pa.array(np.asarray(plain).astype(np.int64), mask=mask).cast(TYPES[letter])
    return pa.array(np.asarray(plain), mask=mask).cast(TYPES[letter])


def arrow(table: str, columns: Columns, letters: dict[str, str]) -> pa.Table:
    assert columns.keys() == letters.keys(), f"{table}: {sorted(columns.keys() ^ letters.keys())}"
    return pa.table({each: column(columns[each], letter) for each, letter in letters.items()})


def write(folder: Path, lines: int) -> None:
    """Write a Parquet file for each table."""
    folder.mkdir(parents=True, exist_ok=True)
    found = made(lines)
    for table, letters in declared().items():
        pq.write_table(arrow(table, found[table], letters), folder / f"{table}.parquet", compression="zstd")


def main() -> None:
    reader = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    reader.add_argument("folder", type=Path, help="where the files are put")
    reader.add_argument("lines", nargs="?", type=int, default=200_000)
    said = reader.parse_args()
    print(f"Making about {said.lines:,} lines of sales in stores …", file=sys.stderr)
    write(said.folder, said.lines)


if __name__ == "__main__":
    main()
