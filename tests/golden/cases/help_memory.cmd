kymo help memory
