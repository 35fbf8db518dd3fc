-- What each supplier gave away, at most 30,000 of it; then the same sum.
SELECT
    SUM(LEAST(given, 30000)) AS revenue
FROM
    (
        SELECT
            l_suppkey,
            SUM(l_extendedprice * l_discount) AS given
        FROM
            lineitem
        WHERE
            l_shipdate >= DATE '1994-01-01'
            AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR
            AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01
            AND l_quantity < 24
        GROUP BY
            l_suppkey
    )
