-- What each supplier sold, at most 600,000 of it; then the same ratio of sums.
SELECT
    100.00 * SUM(LEAST(promoted, 600000)) / SUM(LEAST(total, 600000)) AS promo_revenue
FROM
    (
        SELECT
            l_suppkey,
            SUM(CASE
                WHEN p_type LIKE 'PROMO%'
                    THEN l_extendedprice * (1 - l_discount)
                ELSE 0
            END) AS promoted,
            SUM(l_extendedprice * (1 - l_discount)) AS total
        FROM
            lineitem,
            part
        WHERE
            l_partkey = p_partkey
            AND l_shipdate >= DATE '1995-09-01'
            AND l_shipdate < DATE '1995-09-01' + INTERVAL '1' MONTH
        GROUP BY
            l_suppkey
    )
