# a picture that every XML reader accepts, the same each time
kymo flame hostile.kymo -o x.svg && kymo flame hostile.kymo -o y.svg && cmp x.svg y.svg && python3 -c "
import xml.etree.ElementTree as tree
for title in tree.parse(\"x.svg\").iter(\"{http://www.w3.org/2000/svg}title\"): print(title.text)"
