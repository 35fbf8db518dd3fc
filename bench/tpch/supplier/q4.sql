-- Orders are public here and their lines are not: the lines are asked, and the orders among them are counted.
SELECT
    o_orderpriority,
    COUNT(DISTINCT l_orderkey) AS order_count
FROM
    lineitem,
    orders
WHERE
    l_orderkey = o_orderkey
    AND l_commitdate < l_receiptdate
    AND o_orderdate >= DATE '1993-07-01'
    AND o_orderdate < DATE '1993-07-01' + INTERVAL '3' MONTH
GROUP BY
    o_orderpriority
ORDER BY
    o_orderpriority
