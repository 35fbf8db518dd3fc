-- How many lines of each customer, at most 2 for each mode and kind of order; then the same sums.
SELECT
    l_shipmode,
    SUM(LEAST(high, 2)) AS high_line_count,
    SUM(LEAST(low, 2)) AS low_line_count
FROM
    (
        SELECT
            o_custkey,
            l_shipmode,
            SUM(CASE
                WHEN o_orderpriority = '1-URGENT'
                    OR o_orderpriority = '2-HIGH'
                    THEN 1
                ELSE 0
            END) AS high,
            SUM(CASE
                WHEN o_orderpriority <> '1-URGENT'
                    AND o_orderpriority <> '2-HIGH'
                    THEN 1
                ELSE 0
            END) AS low
        FROM
            orders,
            lineitem
        WHERE
            o_orderkey = l_orderkey
            AND l_shipmode IN ('MAIL', 'SHIP')
            AND l_commitdate < l_receiptdate
            AND l_shipdate < l_commitdate
            AND l_receiptdate >= DATE '1994-01-01'
            AND l_receiptdate < DATE '1994-01-01' + INTERVAL '1' YEAR
        GROUP BY
            o_custkey,
            l_shipmode
    )
GROUP BY
    l_shipmode
ORDER BY
    l_shipmode
