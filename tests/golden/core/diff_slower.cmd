# Five iterations each; the kernel of B takes longer.
exit: 1
for run in a:100 b:160; do
  name=${run%:*} length=${run#*:}
  { echo '[{"ph":"M","name":"process_labels","pid":0,"tid":0,"args":{"labels":"GPU 0"}},'
    for i in 1 2 3 4 5; do
      t=$((i * 1000))
      echo '{"ph":"X","name":"step '$i'","pid":9,"tid":9,"ts":'$t',"dur":'$((400 + length + i))'},'
      echo '{"ph":"X","cat":"cuda_runtime","name":"launch","pid":9,"tid":9,"ts":'$((t + 10))',"dur":5,"args":{"correlation":'$i'}},'
      echo '{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":'$((t + 20))',"dur":'$((length + i))',"args":{"correlation":'$i'}},'
    done; echo ']'; } >$name.json
done
kymo diff a.json b.json --fail-above 5%
