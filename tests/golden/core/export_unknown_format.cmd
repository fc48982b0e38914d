exit: 2
kymo export rich.kymo -o rich.docx
