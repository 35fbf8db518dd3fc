-- What each supplier sold, at most 400,000 of it; then the same sums.
SELECT
    n_name,
    SUM(LEAST(sold, 400000)) AS revenue
FROM
    (
        SELECT
            s_suppkey,
            SUM(l_extendedprice * (1 - l_discount)) AS sold
        FROM
            supplier,
            lineitem,
            orders,
            customer
        WHERE
            c_custkey = o_custkey
            AND l_orderkey = o_orderkey
            AND l_suppkey = s_suppkey
            AND c_nationkey = s_nationkey
            AND o_orderdate >= DATE '1994-01-01'
            AND o_orderdate < DATE '1994-01-01' + INTERVAL '1' YEAR
        GROUP BY
            s_suppkey
    ) AS sales
    JOIN supplier ON supplier.s_suppkey = sales.s_suppkey
    JOIN nation ON s_nationkey = n_nationkey
    JOIN region ON n_regionkey = r_regionkey
WHERE
    r_name = 'ASIA'
GROUP BY
    n_name
ORDER BY
    revenue DESC
