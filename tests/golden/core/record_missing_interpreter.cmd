exit: 127
printf "#!/no/such/interpreter\n" > script; chmod +x script
kymo record -- ./script; code=$?
ls script.kymo 2>/dev/null
exit $code
