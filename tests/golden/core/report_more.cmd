# Rows that are not shown are counted, the commands of findings name the file, and the clocks of the device are shown.
{ echo '[{"ph":"M","name":"process_labels","pid":0,"tid":0,"args":{"labels":"GPU 0"}},'
  for i in 1 2 3 4 5 6 7 8 9; do
    t=$((i * 1000))
    echo '{"ph":"X","name":"step '$i'","pid":9,"tid":9,"ts":'$t',"dur":900},'
    echo '{"ph":"X","name":"load '$i'","pid":9,"tid":9,"ts":'$((t + 10))',"dur":'$((300 + i))'},'
    echo '{"ph":"X","cat":"cuda_runtime","name":"launch","pid":9,"tid":9,"ts":'$((t + 400))',"dur":5,"args":{"correlation":'$i'}},'
    echo '{"ph":"X","cat":"kernel","name":"gemm'$i'","pid":0,"tid":7,"ts":'$((t + 420))',"dur":'$((400 + i))',"args":{"stream":7,"correlation":'$i'}},'
    echo '{"ph":"C","name":"SM clock [MHz]","pid":9,"ts":'$t',"args":{"value":'$((1980 - i * 20))'}},'
  done; echo ']'; } >'my run.json'
kymo report 'my run.json' && kymo report 'my run.json' --json | grep '"command"'
