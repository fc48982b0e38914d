# nobody is triggered by mistake
exit: 2
kymo trigger --duration 2s
