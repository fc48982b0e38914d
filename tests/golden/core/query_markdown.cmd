skip: DuckDB is not installed.*
kymo query rich.kymo "SELECT name, max(value) AS \"a|b\" FROM counters GROUP BY name ORDER BY name" --markdown
