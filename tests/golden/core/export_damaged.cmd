# what could not be read is not in the file
exit: 3
kymo export damaged.kymo -o damaged.json --strict
