exit: 1
ln -s rich.kymo link.kymo; kymo cut rich.kymo -o link.kymo --to 10ms
