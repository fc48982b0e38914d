# writes a page that holds everything
kymo memory memory.kymo -o m.html && grep -c "</html>" m.html && grep -o "\"peak_bytes\":[0-9]*" m.html
