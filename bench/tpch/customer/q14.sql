-- What each customer spent, at most 300,000 of it; then the same ratio of sums.
SELECT
    100.00 * SUM(LEAST(promoted, 300000)) / SUM(LEAST(total, 300000)) AS promo_revenue
FROM
    (
        SELECT
            o_custkey,
            SUM(CASE
                WHEN p_type LIKE 'PROMO%'
                    THEN l_extendedprice * (1 - l_discount)
                ELSE 0
            END) AS promoted,
            SUM(l_extendedprice * (1 - l_discount)) AS total
        FROM
            orders,
            lineitem,
            part
        WHERE
            o_orderkey = l_orderkey
            AND l_partkey = p_partkey
            AND l_shipdate >= DATE '1995-09-01'
            AND l_shipdate < DATE '1995-09-01' + INTERVAL '1' MONTH
        GROUP BY
            o_custkey
    )
