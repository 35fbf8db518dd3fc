-- How many lines of each supplier, at most 8 for each mode and kind of order; then the same sums.
SELECT
    l_shipmode,
    SUM(LEAST(high, 8)) AS high_line_count,
    SUM(LEAST(low, 8)) AS low_line_count
FROM
    (
        SELECT
            l_suppkey,
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
            l_suppkey,
            l_shipmode
    )
GROUP BY
    l_shipmode
ORDER BY
    l_shipmode
