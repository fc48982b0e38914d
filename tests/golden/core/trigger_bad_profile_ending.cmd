exit: 2
kymo trigger --all --memory-profile -o profile.pftrace
