-- What each customer spent, at most 200,000 of it; then the same sums. Nobody's nation is counted line by line.
SELECT
    n_name,
    SUM(LEAST(spent, 200000)) AS revenue
FROM
    (
        SELECT
            c_custkey,
            SUM(l_extendedprice * (1 - l_discount)) AS spent
        FROM
            customer,
            orders,
            lineitem,
            supplier
        WHERE
            c_custkey = o_custkey
            AND l_orderkey = o_orderkey
            AND l_suppkey = s_suppkey
            AND c_nationkey = s_nationkey
            AND o_orderdate >= DATE '1994-01-01'
            AND o_orderdate < DATE '1994-01-01' + INTERVAL '1' YEAR
        GROUP BY
            c_custkey
    ) AS spending
    JOIN customer ON customer.c_custkey = spending.c_custkey
    JOIN nation ON c_nationkey = n_nationkey
    JOIN region ON n_regionkey = r_regionkey
WHERE
    r_name = 'ASIA'
GROUP BY
    n_name
ORDER BY
    revenue DESC
