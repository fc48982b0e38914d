# One line says what is missing and how to install it.
exit: 1
KYMO_DUCKDB_LIBRARY=/nowhere/libduckdb.so kymo query rich.kymo 'SELECT 1'
