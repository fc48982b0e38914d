exit: 2
kymo query 'SELECT 1'
