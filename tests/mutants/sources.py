"""Files and frames: a value that breaks or changes the rows of others."""

from __future__ import annotations

from mutants.mutant import Edit, Mutant

MUTANTS = [
    Mutant(
        "an open quote goes on in the next line",
        [
            Edit(
                "discreet.engines.duckdb.csv:_lines",
                ("        fields = split(line, form)\n        if fields"),
                (
                    "        fields = split(line, form)\n"
                    "        while fields is None and line and (more := _line(file)) is not None:\n"
                    "            line += more\n"
                    "            fields = split(line, form)\n"
                    "        if fields"
                ),
            )
        ],
        [
            "test_sources.py::test_a_line_is_a_record_of_its_own",
            "test_sources.py::test_any_bytes_are_read_line_by_line",
        ],
    ),
    Mutant(
        "a line that is not UTF-8 ends the file",
        [
            Edit(
                "discreet.engines.duckdb.csv:split",
                "            return [_text(field, form) for field in line.split(delimiter)]",
                "            raise",
            )
        ],
        [
            "test_sources.py::test_a_line_is_a_record_of_its_own",
            "test_sources.py::test_any_bytes_are_read_line_by_line",
        ],
    ),
    Mutant(
        "a stray quote in a file that promises none",
        [
            Edit(
                "discreet.engines.duckdb.csv:split",
                "if strict and line.find(quote, at, end) >= 0:",
                "if strict and len(line) > 10**9:",
            )
        ],
        ["test_sources.py::test_a_file_that_does_not_keep_to_its_form_is_refused"],
    ),
    Mutant(
        "why data cannot be read again is told",
        [
            Edit(
                "discreet.engines.duckdb.engine:DuckDB.snapshot",
                (
                    "            except Exception:  # whatever it says, it may say it of somebody\n"
                    "                self._unreadable"
                ),
                ("            except OSError:\n                self._unreadable"),
            )
        ],
        ["test_sources.py::test_data_that_cannot_be_read_again_are_refused_in_one_sentence"],
    ),
    Mutant(
        "milliseconds as DuckDB reads them",
        [
            Edit(
                "discreet.engines.duckdb.parquet:_other",
                '"MicroSeconds", "NanoSeconds"',
                '"MicroSeconds", "MilliSeconds", "NanoSeconds"',
            )
        ],
        ["test_sources.py::test_a_value_changes_its_own_row_only[timestamp ms None-parquet-{}]"],
    ),
    Mutant(
        "a file's statistics decide which rows are read",
        [
            Edit(
                "discreet.engines.duckdb.parquet:UNPRUNED",
                '"filter_pullup,filter_pushdown,join_filter_pushdown,row_group_pruner,',
                '"',
            )
        ],
        ["test_sources.py::test_statistics_decide_nothing"],
    ),
    Mutant(
        "one text that is no text refuses a frame",
        [
            Edit(
                "discreet.engines.duckdb.frames:_letters",
                ("    except pa.ArrowInvalid:\n        texts"),
                ("    except pa.ArrowKeyError:\n        texts"),
            )
        ],
        ["test_sources.py::test_a_value_changes_its_own_row_only[string_view-arrow-{}]"],
    ),
    Mutant(
        "people whose names are not UTF-8 are one",
        [
            Edit(
                "discreet.engines.duckdb.parquet:_shown",
                'if telling and column.stored == "VARCHAR":',
                'if telling and column.stored == "TEXT":',
            )
        ],
        [
            "test_sources.py::test_two_people_whose_names_are_not_utf8_are_not_one",
            "test_sources.py::test_keys_that_are_not_utf8_join_nobody_with_others",
        ],
    ),
    Mutant(
        "people beyond all years are one",
        [
            Edit(
                "discreet.engines.duckdb.frames:TELLING",
                "lambda column: _moments(_known(column))",
                "_moments",
            )
        ],
        [
            "test_sources.py::test_two_people_beyond_all_years_are_not_one",
            "test_telling.py::test_two_values_are_never_one_unit[arrow timestamp[s]]",
        ],
    ),
    Mutant(
        "campaign: an empty field is what it was in the line before",
        [
            Edit(
                "discreet.engines.duckdb.csv:_lines",
                ("        fields = split(line, form)\n        if fields is not None and len(fields) == width:\n"),
                (
                    "        fields = split(line, form)\n"
                    "        if fields is not None and len(fields) == width:\n"
                    "            last = fields = [a or b for a, b in zip(fields, locals().get('last') or "
                    "fields, strict=True)]\n"
                ),
            )
        ],
        ["test_campaign_sources.py::test_a_line_changes_its_own_record_only"],
    ),
    Mutant(
        "campaign: texts as the file has them",
        [Edit("discreet.engines.duckdb.parquet:reader", ", utf8_validation = 'replace')", ")")],
        ["test_campaign_sources.py::test_a_physical_type[string]"],
    ),
    Mutant(
        "campaign: times as DuckDB reads them",
        [
            Edit(
                "discreet.engines.duckdb.parquet:SAFE",
                '"DOUBLE", "DATE", "VARCHAR"',
                '"DOUBLE", "DATE", "TIME", "VARCHAR"',
            )
        ],
        ["test_campaign_sources.py::test_a_physical_type[time64 us]"],
    ),
    Mutant(
        "moments of a database as they are stored",
        [Edit("discreet.engines.duckdb.files:_form", "    if stored in MOMENTS:\n", "    if False:\n")],
        ["test_sources.py::test_a_moment_beyond_the_calendar_breaks_nothing"],
    ),
    Mutant(
        "people whose whole numbers are cut are one",
        [Edit("discreet.engines.duckdb.parquet:check", " and not each.tells:", " and not each.stored:")],
        [
            "test_telling.py::test_two_values_are_never_one_unit[parquet pages of int8]",
            "test_telling.py::test_two_values_are_never_one_unit[parquet pages of int96]",
        ],
    ),
    Mutant(
        "people whose decimals are cut are one",
        [Edit("discreet.engines.duckdb.parquet:_tells", "return whole is None or whole <=", "return True or 0 <=")],
        ["test_telling.py::test_two_values_are_never_one_unit[parquet pages of decimal(4, 0) in 32 bits]"],
    ),
    Mutant(
        "people of one day are one",
        [Edit("discreet.engines.duckdb.frames:TELLING", '(_any("date64"), _whole_days)', '(_any("date64"), _days)')],
        ["test_telling.py::test_two_values_are_never_one_unit[arrow date64[ms]]"],
    ),
    Mutant(
        "people whose lists are written alike are one",
        [
            Edit(
                "discreet.engines.duckdb.frames:readable_column",
                "in TELLING if telling else TOTAL",
                "in (*TELLING, *TOTAL)",
            )
        ],
        ["test_telling.py::test_two_values_are_never_one_unit[arrow list of time64[ns]]"],
    ),
    Mutant(
        "people whose objects are written alike are one",
        [
            Edit(
                "discreet.engines.duckdb.frames:_objects",
                "pa.array(map(_name, values), pa.large_string()) if telling else _texts(values)",
                "_texts(values)",
            )
        ],
        ["test_telling.py::test_two_values_are_never_one_unit[pandas object]"],
    ),
    Mutant(
        "a text can be the name of an object",
        [Edit("discreet.engines.duckdb.frames:_name", "None if said.startswith(MARK) else said", "said")],
        ["test_telling.py::test_two_values_are_never_one_unit[pandas object]"],
    ),
    Mutant(
        "decimals of a database as they are stored",
        [Edit("discreet.engines.duckdb.files:_form", "return only_digits(", "return name or only_digits(")],
        ["test_sources.py::test_a_decimal_with_too_many_digits_breaks_no_question_about_a_database"],
    ),
    Mutant(
        "columns that a database computes are read",
        [Edit("discreet.engines.duckdb.files:_said", "return computed not in", "return False and computed not in")],
        ["test_sources.py::test_a_computed_column_is_refused"],
    ),
    Mutant(
        "lists of a database are read",
        [
            Edit(
                "discreet.engines.duckdb.files:_form", "return name if stored in KINDS or enum else None", "return name"
            )
        ],
        ["test_sources.py::test_types_of_duckdb_that_may_hold_anything_are_refused"],
    ),
]
