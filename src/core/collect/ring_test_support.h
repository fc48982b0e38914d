// Shared by the tests of the decoder: a ring that a test fills by hand.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "collect/ring_decoder.h"
#include "record/registry.h"

namespace kymo::collect {

class RingDecoderTest : public ::testing::Test {
 protected:
  using Kind = record::Kind;
  static constexpr uint64_t kCells = 4096;

  uint32_t add_class(const char* name, std::vector<kymo_arg> args = {}) {
    const kymo_label label{name, nullptr, static_cast<uint32_t>(std::strlen(name)), 0, 0};
    const auto count = static_cast<uint32_t>(args.size());
    const uint32_t id =
        record::find_class(*registry, label, args.data(), count, record::signature_of(label, args.data(), count));
    classes.update(*registry);
    return id;
  }
  void put(uint64_t time, Kind kind, uint32_t class_id = 0, std::vector<uint64_t> words = {}) {
    if (words.size() % 2 != 0) words.push_back(0);
    put_cell(time, record::make_word(kind, static_cast<uint32_t>(words.size() / 2), class_id));
    for (size_t i = 0; i < words.size(); i += 2) put_cell(words[i], words[i + 1]);
  }
  void put_cell(uint64_t first, uint64_t second) {
    cells[head % kCells].time = first;
    cells[head % kCells].word = second;
    ++head;
  }
  void begin_thread(uint64_t tid) {
    put(1, Kind::Sync, 0, {1, 0});
    put(1, Kind::ThreadBegin, 0, {tid, 0});
  }
  void begin_queue(uint64_t queue, const std::string& name, const std::string& uuid, uint64_t wrap_bits = 64) {
    std::vector<uint64_t> words{0, queue, 1, wrap_bits, 40, 3};
    for (const std::string& text : {name, uuid}) {
      words.push_back(text.size());
      words.resize(words.size() + (text.size() + 7) / 8);
      std::memcpy(words.data() + words.size() - (text.size() + 7) / 8, text.data(), text.size());
    }
    put(1, Kind::QueueBegin, 0, words);
  }
  void span(uint64_t start, uint64_t end, uint32_t class_id, uint64_t correlation = 0) {
    put(end, Kind::Span, class_id, {start, correlation});
  }
  // Everything put since the last call.
  const trace::EventBatch& decode() {
    position = decoder.decode(cells.data(), kCells - 1, position, head);
    return decoder.batch();
  }

  std::unique_ptr<record::Registry> registry = std::make_unique<record::Registry>();
  ClassTable classes;
  OpenHandles handles;
  uint32_t next_track = 1;
  QueueClocks clocks{2};
  RingDecoder decoder{3, {classes, handles, clocks, next_track}};
  std::vector<record::Cell> cells = std::vector<record::Cell>(kCells);
  uint64_t head = 0, position = 0;
};

}  // namespace kymo::collect
