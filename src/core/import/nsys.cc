#include "import/nsys.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::import {

namespace {

// The processes, threads, devices and texts of an export of Nsight Systems.
class NsysRows {
 public:
  explicit NsysRows(TraceBuilder& builder) : builder_(builder) {}

  void read_texts(SqliteFile& file);
  const std::string& text(int64_t id) const;  // of StringIds; empty if it is not there

  // A global id has the process in the bits above the 24 of the thread.
  uint32_t thread(uint64_t global_tid);
  uint32_t process_track(uint64_t global_pid);  // for events without a thread
  uint32_t queue(uint64_t global_pid, int64_t device, int64_t context, int64_t stream);

  // Names everything. After all events.
  void finish(SqliteFile& file);

 private:
  uint32_t process(uint64_t global_id);

  TraceBuilder& builder_;
  std::unordered_map<int64_t, std::string> texts_;
  std::unordered_map<uint64_t, uint32_t> processes_, threads_, process_tracks_;
  std::map<std::tuple<uint32_t, int64_t, int64_t, int64_t>, uint32_t> queues_;
};

constexpr unsigned kThreadBits = 24;
constexpr uint64_t kThreadMask = (1 << kThreadBits) - 1;
constexpr size_t kMostNsysTracks = 1 << 18;  // the events of further threads and queues are on one

void NsysRows::read_texts(SqliteFile& file) {
  for (SqliteRows rows = file.rows("StringIds", {"id", "value"}); rows.next();)
    if (const auto id = rows.number(0)) texts_.try_emplace(*id, rows.text(1));
}

const std::string& NsysRows::text(int64_t id) const {
  static const std::string kNone;
  const auto found = texts_.find(id);
  return found == texts_.end() ? kNone : found->second;
}

uint32_t NsysRows::process(uint64_t global_id) {
  const uint64_t key = builder_.process_count() < kMostNsysTracks ? global_id >> kThreadBits : 0;
  const auto [known, is_new] = processes_.try_emplace(key, 0);
  if (is_new) known->second = builder_.add_process({.pid = key & kThreadMask, .name = {}});
  return known->second;
}

uint32_t NsysRows::thread(uint64_t global_tid) {
  if (const auto known = threads_.find(global_tid); known != threads_.end()) return known->second;
  if (builder_.track_count() >= kMostNsysTracks) return process_track(0);
  return threads_[global_tid] = builder_.add_track({.process = process(global_tid), .tid = global_tid & kThreadMask});
}

uint32_t NsysRows::process_track(uint64_t global_pid) {
  const uint64_t key = builder_.track_count() < kMostNsysTracks ? global_pid >> kThreadBits : 0;
  const auto [known, is_new] = process_tracks_.try_emplace(key, 0);
  if (is_new)
    known->second =
        builder_.add_track({.process = process(global_pid), .kind = trace::TrackKind::Process, .name = "memory"});
  return known->second;
}

uint32_t NsysRows::queue(uint64_t global_pid, int64_t device, int64_t context, int64_t stream) {
  const uint32_t of = process(global_pid);
  if (const auto known = queues_.find({of, device, context, stream}); known != queues_.end()) return known->second;
  if (builder_.track_count() >= kMostNsysTracks) return process_track(0);
  return queues_[{of, device, context, stream}] = builder_.add_track({.process = of,
                                                                      .kind = trace::TrackKind::DeviceQueue,
                                                                      .name = base::format("stream {}", stream),
                                                                      .device = base::format("GPU {}", device),
                                                                      .context = static_cast<uint64_t>(context),
                                                                      .queue = static_cast<uint64_t>(stream)});
}

void NsysRows::finish(SqliteFile& file) {
  for (SqliteRows rows = file.rows("PROCESSES", {"globalPid", "name"}); rows.next();) {
    const auto found = processes_.find(static_cast<uint64_t>(rows.number(0).value_or(0)) >> kThreadBits);
    if (found != processes_.end() && !rows.text(1).empty()) builder_.process(found->second).name = rows.text(1);
  }
  std::unordered_map<uint32_t, int64_t> priorities;
  for (SqliteRows rows = file.rows("ThreadNames", {"globalTid", "nameId", "priority"}); rows.next();) {
    const auto found = threads_.find(static_cast<uint64_t>(rows.number(0).value_or(0)));
    if (found == threads_.end()) continue;
    const auto [priority, is_new] = priorities.try_emplace(found->second, rows.number(2).value_or(0));
    if (!is_new && rows.number(2).value_or(0) < priority->second) continue;
    priority->second = rows.number(2).value_or(0);
    builder_.track(found->second).name = text(rows.number(1).value_or(-1));
  }
  std::map<int64_t, std::string> devices;
  for (SqliteRows rows = file.rows("TARGET_INFO_GPU", {"cuDevice", "id", "name"}); rows.next();) {
    const auto number = rows.number(0) ? rows.number(0) : rows.number(1);
    if (number && !rows.text(2).empty()) devices[*number] = rows.text(2);
  }
  for (const auto& [key, track] : queues_) {
    const auto device = devices.find(std::get<1>(key));
    if (device != devices.end()) builder_.track(track).device += " (" + device->second + ")";
  }
}

using trace::FieldType;
using trace::PointKind;

namespace nvtx {
enum Type : int64_t {
  kCategory = 33,
  kMark = 34,
  kThreadName = 39,
  kPushPop = 59,
  kStartEnd = 60,
  kPushPopOfFile = 70,
  kStartEndOfFile = 71,
  kDomain = 75,
  kDomainEnd = 76
};
}  // namespace nvtx

constexpr std::array<std::string_view, 11> kCopies = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                      "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
constexpr std::array<std::string_view, 5> kSynchronizations = {
    "Synchronization", "Event Synchronize", "Stream Wait Event", "Stream Synchronize", "Context Synchronize"};
// Tables that are read by name. The others of these have no events.
constexpr std::array<std::string_view, 7> kOwn = {"CUPTI_ACTIVITY_KIND_KERNEL",
                                                  "CUPTI_ACTIVITY_KIND_MEMCPY",
                                                  "CUPTI_ACTIVITY_KIND_MEMSET",
                                                  "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                                  "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                                                  "CUDA_GPU_MEMORY_USAGE_EVENTS",
                                                  "NVTX_EVENTS"};

template <size_t kCount>
std::string_view name_at(const std::array<std::string_view, kCount>& names, int64_t at, std::string_view otherwise) {
  const bool is_known = at >= 0 && at < static_cast<int64_t>(kCount);
  return is_known && !names[static_cast<size_t>(at)].empty() ? names[static_cast<size_t>(at)] : otherwise;
}

class NsysImport {
 public:
  NsysImport(SqliteFile& file, TraceBuilder& builder) : file_(file), builder_(builder), rows_(builder) {}

  int64_t read() {
    const auto is_own = [](const std::string& table) {
      return std::find(kOwn.begin(), kOwn.end(), table) != kOwn.end();
    };
    const auto& tables = file_.tables();
    if (!file_.has_table("StringIds") && std::none_of(tables.begin(), tables.end(), is_own))
      throw Error("it is an SQLite file, but not an export of Nsight Systems (it has no table StringIds)");
    rows_.read_texts(file_);
    for (const std::string& table : tables)
      if (!is_own(table)) calls(table);
    kernels();
    copies("CUPTI_ACTIVITY_KIND_MEMCPY", "gpu_memcpy");
    copies("CUPTI_ACTIVITY_KIND_MEMSET", "gpu_memset");
    synchronizations();
    graphs();
    allocations();
    annotations();
    rows_.finish(file_);
    builder_.lose("rows without a time", without_time_);
    if (!file_.damage().empty()) builder_.lose_damaged("the rest of the file: " + file_.damage());
    int64_t base_ns = 0;
    for (SqliteRows rows = file_.rows("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}); rows.next();)
      base_ns = rows.number(0).value_or(0);
    return base_ns;
  }

 private:
  // Adds a value if there is one.
  void add(std::string_view name, std::optional<int64_t> number, FieldType type = FieldType::Int) {
    if (number) values_.push_back({name, type, static_cast<uint64_t>(*number), 0, {}});
  }
  void add_text(std::string_view name, std::string_view text) {
    if (!text.empty()) values_.push_back({name, FieldType::String, 0, 0, text});
  }
  // Starts with columns 0 and 1, `start` and `end`.
  bool takes_time(const SqliteRows& rows) {
    values_.clear();
    if (rows.number(0)) return true;
    ++without_time_;
    return false;
  }
  void range(uint32_t track, const SqliteRows& rows, std::string_view name, std::string_view category,
             uint64_t correlation, uint32_t colour = 0) {
    const ImportedEvent event{name, category, &values_, colour};
    if (rows.number(1)) return builder_.range(track, *rows.number(0), *rows.number(1), event, correlation);
    builder_.open_range(track, *rows.number(0), event, correlation);
  }
  static uint64_t id_of(std::optional<int64_t> number) { return static_cast<uint64_t>(number.value_or(0)); }

  // Calls of threads: of CUDA, of the operating system, of libraries.
  void calls(const std::string& table) {
    const bool is_call = file_.has_column(table, "start") && file_.has_column(table, "end") &&
                         file_.has_column(table, "globalTid") &&
                         (file_.has_column(table, "nameId") || file_.has_column(table, "textId"));
    if (!is_call) {
      if (file_.has_column(table, "start") || file_.has_column(table, "timestamp")) count(table);
      return;
    }
    const std::string category = category_of(table);
    SqliteRows rows =
        file_.rows(table, {"start", "end", "globalTid", "nameId", "textId", "correlationId", "returnValue"});
    while (rows.next()) {
      if (!takes_time(rows)) continue;
      if (rows.number(6).value_or(0) != 0) add("return value", rows.number(6));
      const uint64_t thread = id_of(rows.number(2));
      const bool is_cuda = category == "cuda_runtime" || category == "cuda_driver";
      if (is_cuda && launching_process_ == 0) launching_process_ = thread;
      std::string_view name = rows_.text((rows.number(3) ? rows.number(3) : rows.number(4)).value_or(-1));
      // "cudaLaunchKernel_v7000": the version says nothing to a reader.
      if (const size_t version = name.rfind("_v"); is_cuda && version != name.npos && version > 0 &&
                                                   name.find_first_not_of("0123456789", version + 2) == name.npos)
        name = name.substr(0, version);
      range(rows_.thread(thread), rows, name.empty() ? std::string_view(category) : name, category,
            is_cuda ? id_of(rows.number(5)) : 0);
    }
  }

  static std::string category_of(std::string_view table) {
    if (table == "CUPTI_ACTIVITY_KIND_RUNTIME") return "cuda_runtime";
    if (table == "CUPTI_ACTIVITY_KIND_DRIVER") return "cuda_driver";
    if (table == "OSRT_API") return "os_runtime";
    if (table.ends_with("_EVENTS")) table.remove_suffix(7);
    if (table.ends_with("_API")) table.remove_suffix(4);
    std::string category(table);
    for (char& c : category)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return category;
  }

  void count(const std::string& table) {
    uint64_t lost = 0;
    for (SqliteRows rows = file_.rows(table, {"start"}); rows.next();) ++lost;
    builder_.lose(base::format("rows of table {}", table.substr(0, 64)), lost);
  }

  // Columns 2 to 6 of a table of device work: globalPid, deviceId, contextId, streamId, correlationId. Old exports have
  // no globalPid.
  uint32_t queue_of(const SqliteRows& rows) {
    return rows_.queue(rows.number(2) ? id_of(rows.number(2)) : launching_process_, rows.number(3).value_or(0),
                       rows.number(4).value_or(0), rows.number(5).value_or(0));
  }
  std::vector<std::string_view> device_columns(std::initializer_list<std::string_view> more) {
    std::vector<std::string_view> columns = {"start",     "end",      "globalPid",    "deviceId",
                                             "contextId", "streamId", "correlationId"};
    columns.insert(columns.end(), more);
    return columns;
  }

  void kernels() {
    SqliteRows rows =
        file_.rows("CUPTI_ACTIVITY_KIND_KERNEL",
                   device_columns({"demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY",
                                   "blockZ", "registersPerThread", "staticSharedMemory", "dynamicSharedMemory"}));
    std::string grid, block;
    while (rows.next()) {
      if (!takes_time(rows)) continue;
      const auto triple = [&](size_t first) {
        return base::format("[{}, {}, {}]", rows.number(first).value_or(0), rows.number(first + 1).value_or(0),
                            rows.number(first + 2).value_or(0));
      };
      if (rows.number(9)) add_text("grid", grid = triple(9));
      if (rows.number(12)) add_text("block", block = triple(12));
      add("registers per thread", rows.number(15));
      if (rows.number(16) || rows.number(17)) {
        const uint64_t shared = id_of(rows.number(16)) + id_of(rows.number(17));
        add("shared memory", static_cast<int64_t>(shared), FieldType::ByteCount);
      }
      // Old exports have the text itself.
      std::string_view name = rows_.text((rows.number(7) ? rows.number(7) : rows.number(8)).value_or(-1));
      if (name.empty()) name = rows.text(7);
      range(queue_of(rows), rows, name.empty() ? "kernel" : name, "kernel", id_of(rows.number(6)));
    }
  }

  void copies(std::string_view table, std::string_view category) {
    const bool is_copy = category == "gpu_memcpy";
    SqliteRows rows = file_.rows(table, device_columns({"bytes", "copyKind", "value"}));
    std::string name;
    while (rows.next()) {
      if (!takes_time(rows)) continue;
      add("bytes", rows.number(7), FieldType::ByteCount);
      if (!is_copy) add("value", rows.number(9));
      name = "Memset";
      if (is_copy) name = base::format("Memcpy {}", name_at(kCopies, rows.number(8).value_or(0), "?"));
      range(queue_of(rows), rows, name, category, id_of(rows.number(6)));
    }
  }

  void synchronizations() {
    SqliteRows rows = file_.rows("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", device_columns({"syncType", "eventId"}));
    while (rows.next()) {
      if (!takes_time(rows)) continue;
      if (rows.number(8).value_or(0) > 0) add("event", rows.number(8));
      range(queue_of(rows), rows, name_at(kSynchronizations, rows.number(7).value_or(0), kSynchronizations[0]),
            "cuda_sync", id_of(rows.number(6)));
    }
  }

  void graphs() {
    SqliteRows rows = file_.rows("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", device_columns({"graphId"}));
    while (rows.next()) {
      if (!takes_time(rows)) continue;
      add("graph", rows.number(7));
      range(queue_of(rows), rows, "CUDA graph", "gpu_graph", id_of(rows.number(6)));
    }
  }

  void allocations() {
    int64_t free = 1;  // of memoryOperationType
    for (SqliteRows rows = file_.rows("ENUM_CUDA_DEV_MEM_EVENT_OPER", {"id", "label"}); rows.next();)
      if (rows.text(1).starts_with("Dealloc")) free = rows.number(0).value_or(free);
    SqliteRows rows = file_.rows("CUDA_GPU_MEMORY_USAGE_EVENTS",
                                 {"start", "end", "globalPid", "deviceId", "address", "bytes", "memoryOperationType"});
    std::string device;
    while (rows.next()) {
      if (!takes_time(rows)) continue;
      const bool is_free = rows.number(6).value_or(0) == free;
      add("bytes", rows.number(5), FieldType::ByteCount);
      add_text("device", device = base::format("cuda:{}", rows.number(3).value_or(0)));
      builder_.point(rows_.process_track(id_of(rows.number(2))), *rows.number(0),
                     is_free ? PointKind::Free : PointKind::Allocation, id_of(rows.number(4)),
                     {is_free ? "free" : "allocate", "memory", &values_});
    }
  }

  void annotations() {
    const auto text_of = [this](const SqliteRows& rows, size_t text, size_t id) -> std::string_view {
      return !rows.text(text).empty() || !rows.number(id) ? rows.text(text)
                                                          : std::string_view(rows_.text(*rows.number(id)));
    };
    // Names first: an event may come before them.
    std::unordered_map<int64_t, std::string> domains;
    std::map<std::pair<int64_t, int64_t>, std::string> categories;
    SqliteRows names = file_.rows("NVTX_EVENTS", {"eventType", "domainId", "category", "text", "textId"});
    while (names.next()) {
      const int64_t domain = names.number(1).value_or(0);
      if (names.number(0) == nvtx::kDomain) domains[domain] = text_of(names, 3, 4);
      if (names.number(0) == nvtx::kCategory) categories[{domain, names.number(2).value_or(0)}] = text_of(names, 3, 4);
    }
    SqliteRows rows =
        file_.rows("NVTX_EVENTS", {"start", "end", "eventType", "globalTid", "endGlobalTid", "domainId", "category",
                                   "text", "textId", "color", "uint64Value", "int64Value", "uint32Value", "int32Value",
                                   "doubleValue", "floatValue", "jsonText", "jsonTextId"});
    uint64_t next_id = 1;
    while (rows.next()) {
      const int64_t type = rows.number(2).value_or(nvtx::kPushPop);
      if (type == nvtx::kCategory || type == nvtx::kDomain || type == nvtx::kDomainEnd || type == nvtx::kThreadName)
        continue;
      if (!takes_time(rows)) continue;
      const int64_t domain = rows.number(5).value_or(0);
      if (const auto category = categories.find({domain, rows.number(6).value_or(0)}); category != categories.end())
        add_text("category", category->second);
      for (size_t value = 10; value <= 13; ++value)
        add("value", rows.number(value), value % 2 == 0 ? FieldType::UInt : FieldType::Int);
      for (const size_t value : {14, 15})
        if (rows.real(value)) values_.push_back({"value", FieldType::Double, 0, *rows.real(value), {}});
      add_text("payload", text_of(rows, 16, 17));
      const auto of_domain = domains.find(domain);
      const std::string_view name = text_of(rows, 7, 8);
      std::string_view category = "nvtx";
      if (of_domain != domains.end() && !of_domain->second.empty()) category = of_domain->second;
      const auto colour = static_cast<uint32_t>(rows.number(9).value_or(0));
      const uint64_t thread = id_of(rows.number(3));
      const ImportedEvent event{name, category, &values_, colour};
      switch (type) {
        case nvtx::kMark:
          builder_.point(rows_.thread(thread), *rows.number(0), PointKind::Instant, 0, event);
          break;
        case nvtx::kStartEnd:
        case nvtx::kStartEndOfFile: {
          const uint64_t id = next_id++;
          builder_.point(rows_.thread(thread), *rows.number(0), PointKind::AsyncBegin, id, event);
          if (!rows.number(1)) break;
          const uint64_t end_thread = rows.number(4) ? id_of(rows.number(4)) : thread;
          builder_.lose(TraceBuilder::kReversed, *rows.number(1) < *rows.number(0));
          builder_.point(rows_.thread(end_thread), std::max(*rows.number(0), *rows.number(1)), PointKind::AsyncEnd, id,
                         {name, category, nullptr});
          break;
        }
        case nvtx::kPushPop:
        case nvtx::kPushPopOfFile:
          range(rows_.thread(thread), rows, name, category, 0, colour);
          break;
        default:
          builder_.lose("NVTX events of unknown types", 1);
      }
    }
  }

  SqliteFile& file_;
  TraceBuilder& builder_;
  NsysRows rows_;
  std::vector<ImportedValue> values_;
  uint64_t without_time_ = 0;
  uint64_t launching_process_ = 0;  // the global id of the first thread that called CUDA
};

}  // namespace

int64_t read_nsys(SqliteFile& file, TraceBuilder& builder) { return NsysImport(file, builder).read(); }

}  // namespace kymo::import
