kymo info window.kymo --json
