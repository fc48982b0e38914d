cp rich.kymo old.kymo && kymo cut window.kymo -o old.kymo
