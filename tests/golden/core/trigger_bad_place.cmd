exit: 2
kymo trigger --all -o '{who}.kymo'
