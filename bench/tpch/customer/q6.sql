-- What each customer was let off, at most 7,500 of it: that is the dearest single line. Then the same sum.
SELECT
    SUM(LEAST(saved, 7500)) AS revenue
FROM
    (
        SELECT
            o_custkey,
            SUM(l_extendedprice * l_discount) AS saved
        FROM
            orders,
            lineitem
        WHERE
            o_orderkey = l_orderkey
            AND l_shipdate >= DATE '1994-01-01'
            AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR
            AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01
            AND l_quantity < 24
        GROUP BY
            o_custkey
    )
