// The processes and tracks of a Chrome trace: found by the pid and tid of each event, named by metadata events.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "import/chrome_piece.h"
#include "import/json_events.h"
#include "import/trace_builder.h"

namespace kymo::import {

class ChromeRows {
 public:
  explicit ChromeRows(TraceBuilder& builder) : builder_(builder) {}

  uint32_t track(const ChromePiece::Row& row);
  void name(const ChromePiece::Name& name);
  void saw_launch(uint32_t track);
  // Kineto's "deviceProperties": a JSON list of objects with the id and name of a device.
  void name_devices(std::string_view json, JsonEvents& parser);
  std::optional<uint32_t> find_process(uint64_t pid) const;
  uint32_t main_process() const { return launching_process_.value_or(0); }  // which the file is about

  // The streams that are known. Another object after each change, so that other threads can read it.
  std::shared_ptr<const ChromeQueues> queues() const { return queues_; }
  // True if the piece's streams are those that the pieces before it say.
  bool agrees(const ChromePiece& piece) const;

  // Gives the queues of devices to the process that launched their work, and the tracks their names.
  void finish();

 private:
  struct Row {
    uint32_t track = 0;
    uint32_t process = 0;
    std::string tid;
  };

  uint32_t process(const std::string& pid);
  void number_ids();
  void find_lanes();

  TraceBuilder& builder_;
  std::unordered_map<std::string, uint32_t> processes_;  // by pid
  std::unordered_map<std::string, Row> rows_;            // by pid and tid
  std::shared_ptr<const ChromeQueues> queues_ = std::make_shared<ChromeQueues>();
  std::map<std::string, std::string> track_names_, process_labels_;
  std::map<std::string, uint64_t> track_orders_;  // by pid and tid
  // In Kymo's exports, by pid and tid: the pid of the process of a queue, and its device.
  std::map<std::string, std::string> queue_owners_, queue_devices_;
  std::map<uint32_t, std::string> own_devices_;      // by track
  std::map<std::string, std::string> device_names_;  // by the pid of a device, which is its number
  std::map<uint32_t, std::string> device_pids_;      // by track
  std::map<uint32_t, uint32_t> owning_processes_;    // of queues, by track
  std::optional<uint32_t> launching_process_;
};

}  // namespace kymo::import
