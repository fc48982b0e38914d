# Several files are one table; FROM 'FILE' is one of them, or any other trace.
skip: DuckDB is not installed.*
kymo query rich.kymo both.kymo "SELECT file, count(*) FROM ranges GROUP BY file ORDER BY file; SELECT count(*) AS other FROM 'device.kymo'" --csv
