// Plays CUDA's driver and CUPTI for programs that Kymo records, where there is no GPU: launches, copies and graphs of
// one device, whose work takes as long as the program says. KYMO_CUPTI names it.
//
//   play_launch("kernel", 5000);           // 5 µs, after all work before
//   play_begin_capture(); play_launch(…); play_end_capture();
//   play_replay();                         // by node if the driver was asked for kernels of graphs, else as a whole
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "inject/cuda/cupti.h"

using namespace kymo::inject::cuda;

namespace {

constexpr uint32_t kLaunchKernel = 307, kGraphLaunch = 514, kContext = 1, kStream = 7;
constexpr size_t kRecordBytes = 256;  // more than any record has

struct Node {
  uint64_t id;
  const char* name;
  uint64_t ns;
};

std::mutex mutex;  // of the records
Cupti::OnCall on_call;
void* user;
Cupti::Requested requested;
Cupti::Completed completed;
std::set<Kind> kinds;
std::vector<std::variant<Kernel, Graph>> records;
std::set<std::string> names;
uint64_t device_free, next_node = 1;
uint32_t correlation;
thread_local bool is_capturing;
std::vector<Node> captured, executable;  // one graph
std::deque<Node> all_nodes;              // their addresses are the handles
int graph_handle, executable_handle;

uint64_t real_time() {  // CUPTI's clock, until somebody asks for another one
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}
uint64_t (*now)() = real_time;

template <class Work>
void call(uint32_t id, Work work) {
  uint64_t memory = 0;
  int result = 0;
  CallData data{};
  data.site = kEnter;
  data.context = &kinds;
  data.context_id = kContext;
  data.memory = &memory;
  data.result = &result;
  {
    const std::lock_guard lock(mutex);
    data.correlation = ++correlation;
  }
  if (on_call != nullptr) on_call(user, kDriverDomain, id, &data);
  work(data.correlation);
  data.site = kExit;
  if (on_call != nullptr) on_call(user, kDriverDomain, id, &data);
}

void run(const Node& node, uint32_t by, bool in_graph) {
  const std::lock_guard lock(mutex);
  Kernel kernel{};
  kernel.kind = Kind::Kernel;
  kernel.start = std::max(device_free, now());
  kernel.end = device_free = kernel.start + node.ns;
  kernel.context = kContext;
  kernel.stream = kStream;
  kernel.correlation = by;
  kernel.name = node.name;
  kernel.graph_node = in_graph ? node.id : 0;
  if (on_call != nullptr) records.emplace_back(kernel);
}

Node& made(const char* name, uint64_t ns) { return all_nodes.emplace_back(Node{next_node++, name, ns}); }

void tell(uint32_t what, const GraphData& graph) {
  const ResourceData data{&kinds, nullptr, &graph};
  if (on_call != nullptr) on_call(user, kResourceDomain, what, &data);
}

}  // namespace

extern "C" {

void play_launch(const char* name, uint64_t ns) {
  const char* const kept = names.insert(name).first->c_str();
  call(kLaunchKernel, [&](uint32_t number) {
    if (!is_capturing) return run({0, kept, ns}, number, false);
    Node& node = made(kept, ns);
    captured.push_back(node);
    tell(kNodeCreated, {&graph_handle, nullptr, &node, nullptr, 0, nullptr, nullptr});
  });
}
void play_launch_elsewhere(const char* name, uint64_t ns) {  // on a thread of its own
  std::thread([=] { play_launch(name, ns); }).join();
}
void play_begin_capture() {
  captured.clear();
  executable.clear();
  is_capturing = true;
}
void play_end_capture() {
  is_capturing = false;
  for (const Node& one : captured) {
    Node& node = made(one.name, one.ns);
    executable.push_back(node);
    const auto original =
        std::find_if(all_nodes.begin(), all_nodes.end(), [&](const Node& n) { return n.id == one.id; });
    tell(kNodeCloned, {&executable, &graph_handle, &node, &*original, 0, nullptr, nullptr});
  }
  tell(kGraphMadeExecutable, {&executable, nullptr, nullptr, nullptr, 0, nullptr, &executable_handle});
}
void play_replay() {
  call(kGraphLaunch, [&](uint32_t number) {
    if (kinds.count(Kind::Graph) == 0) {
      for (const Node& one : executable) run(one, number, true);
      return;
    }
    const std::lock_guard lock(mutex);
    Graph graph{};
    graph.kind = Kind::Graph;
    graph.correlation = number;
    graph.start = graph.end = std::max(device_free, now());
    for (const Node& one : executable) graph.end += one.ns;
    device_free = graph.end;
    graph.graph = 3;
    graph.context = kContext;
    graph.stream = kStream;
    records.emplace_back(graph);
  });
}
void play_wait() {  // until all work is done
  while (now() < device_free) {
    const timespec pause{0, 100'000};
    nanosleep(&pause, nullptr);
  }
}

// ---- CUPTI

int cuptiGetVersion(uint32_t* version) { return *version = 26, 0; }
int cuptiSubscribe(void** subscriber, Cupti::OnCall callback, void* data) {
  *subscriber = &kinds;
  on_call = callback;
  user = data;
  return 0;
}
int cuptiUnsubscribe(void*) { return on_call = nullptr, 0; }
int cuptiEnableCallback(uint32_t, void*, int, uint32_t) { return 0; }
int cuptiEnableDomain(uint32_t, void*, int) { return 0; }
int cuptiActivityEnable(Kind kind) { return kinds.insert(kind), 0; }
int cuptiActivityDisable(Kind kind) { return kinds.erase(kind), 0; }
int cuptiActivityRegisterCallbacks(Cupti::Requested request, Cupti::Completed complete) {
  requested = request;
  completed = complete;
  return 0;
}
int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, void** record) {
  uint8_t* const next = *record == nullptr ? buffer : static_cast<uint8_t*>(*record) + kRecordBytes;
  if (next + kRecordBytes > buffer + valid) return 12;
  *record = next;
  return 0;
}
int cuptiActivityFlushAll(uint32_t forced) {
  std::vector<std::variant<Kernel, Graph>> done;
  {
    const std::lock_guard lock(mutex);
    const auto ends = [](const auto& one) { return std::visit([](const auto& work) { return work.end; }, one); };
    const auto first_pending =
        std::find_if(records.begin(), records.end(), [&](const auto& one) { return forced == 0 && ends(one) > now(); });
    done.assign(records.begin(), first_pending);
    records.erase(records.begin(), first_pending);
  }
  for (size_t at = 0; at < done.size();) {
    uint8_t* buffer = nullptr;
    size_t size = 0, most = 0, valid = 0;
    requested(&buffer, &size, &most);
    for (; at < done.size() && valid + kRecordBytes <= size; ++at, valid += kRecordBytes)
      std::visit([&](const auto& work) { memcpy(buffer + valid, &work, sizeof work); }, done[at]);
    completed(nullptr, 0, buffer, size, valid);
  }
  return 0;
}
int cuptiActivityGetNumDroppedRecords(void*, uint32_t, size_t* count) { return *count = 0, 0; }
int cuptiActivityRegisterTimestampCallback(uint64_t (*clock)()) {
  const std::lock_guard lock(mutex);
  device_free = 0;
  return now = clock, 0;
}
int cuptiGetTimestamp(uint64_t* time) { return *time = now(), 0; }
int cuptiFinalize() { return on_call = nullptr, 0; }
int cuptiGetDeviceId(void*, uint32_t* device) { return *device = 0, 0; }
int cuptiGetStreamIdEx(void*, void*, uint8_t, uint32_t* id) { return *id = kStream, 0; }
int cuptiGetGraphNodeId(void* node, uint64_t* id) { return *id = static_cast<Node*>(node)->id, 0; }
int cuptiGetGraphId(void* graph, uint32_t* id) { return *id = graph == &graph_handle ? 1 : 2, 0; }
int cuptiGetGraphExecId(void*, uint32_t* id) { return *id = 3, 0; }
}
