kymo hist many.kymo forward
