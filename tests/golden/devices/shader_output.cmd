# -o without --to writes the list, and says so; /dev/null and /dev/stdout are no files; -I names folders that exist
echo 'kernel void f(device int* x) { x[0] = 1; }' > f.metal
kymo shader f.metal -o list.txt && cat list.txt
kymo shader f.metal --to cuda -o /dev/null
kymo shader f.metal --list -o /dev/stdout -I no_such_folder
