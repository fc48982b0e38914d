# What cannot be recorded does not replace an older trace: no shared memory, no interpreter, a damaged program.
mask: kymo-[0-9]+
cp rich.kymo old.kymo; KYMO_SHM_DIR=/nonexistent kymo record -o old.kymo -- true; printf '#!/nonexistent/sh\n' > script; chmod +x script; kymo record -o old.kymo -- ./script; echo $?; head -c 200 "$(command -v kymo)" > damaged; chmod +x damaged; kymo record -o old.kymo -- ./damaged; echo $?; cmp rich.kymo old.kymo && echo kept
