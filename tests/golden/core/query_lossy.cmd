skip: DuckDB is not installed.*
kymo query lossy.kymo 'SELECT cause, count, thread, detail FROM losses ORDER BY count'
