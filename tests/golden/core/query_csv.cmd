# Quoted texts, and NULL as an empty field.
skip: DuckDB is not installed.*
kymo query device.kymo 'SELECT name, args, device, depth, correlation FROM ranges ORDER BY start_ns, name, args LIMIT 5' --csv
