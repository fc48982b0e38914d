exit: 2
KYMO_SAMPLE=often kymo record -- true
