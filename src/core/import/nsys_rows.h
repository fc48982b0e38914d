// The processes, threads, devices and texts of an export of Nsight Systems.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "import/sqlite_file.h"
#include "import/trace_builder.h"

namespace kymo::import {

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

}  // namespace kymo::import
