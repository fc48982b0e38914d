# Where the time went: names, counts and totals.
skip: DuckDB is not installed.*
kymo query rich.kymo 'SELECT name, count(*) AS count, sum(duration_ns) AS total_ns FROM ranges GROUP BY name ORDER BY total_ns DESC'
