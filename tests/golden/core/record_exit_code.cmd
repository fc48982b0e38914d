# and a program without Kymo
exit: 7
kymo record -- sh -c "echo out; echo err >&2; exit 7"
