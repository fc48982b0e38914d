# A word that is no device.
exit: 1
kymo replay small.kycap --device gpu
