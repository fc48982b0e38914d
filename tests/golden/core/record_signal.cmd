exit: 137
kymo record -o run.kymo -- sh -c "kill -9 \$\$"
