# A file that is not a library.
exit: 1
mask: /\S*rich\.kymo
KYMO_DUCKDB_LIBRARY=rich.kymo kymo query rich.kymo 'SELECT 1'
