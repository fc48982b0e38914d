# what a window shows is what a trace holds that was cut to it
mkdir cut && kymo cut window.kymo -o cut/window.kymo 2>/dev/null
for form in json csv pftrace; do
  kymo export window.kymo -o a.$form 2>/dev/null
  (cd cut && kymo export window.kymo -o a.$form 2>/dev/null)
  cmp a.$form cut/a.$form && echo "$form: the same"
done
