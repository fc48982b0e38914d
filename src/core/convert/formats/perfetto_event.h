// Builds one TrackEvent at a time: its name, category, annotations and what the caller adds.
//
//   PerfettoEvent event;
//   event.start(event::kSliceBegin, sequence, range);
//   event.message().add_uint64(…);
//   sequence.append_event(out, range.start_ns, event.bytes());
#pragma once

#include <cstdint>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "convert/events.h"
#include "convert/formats/perfetto_sequence.h"

namespace kymo::convert {

class PerfettoEvent {
 public:
  // Without a name: the end of a slice, a counter.
  void start(uint32_t type);
  // With all data of the event's class and values. Names that are new for the sequence are defined on it.
  void start(uint32_t type, PerfettoSequence& sequence, const Event& from);

  void annotate(PerfettoSequence& sequence, const std::string& name, const Value& value);
  protozero::pbf_writer message() { return protozero::pbf_writer(bytes_); }

  const std::string& bytes() const { return bytes_; }

 private:
  // Numbers for texts, from 1; the same on all sequences.
  class Numbers {
   public:
    uint64_t of(const std::string& text) { return numbers_.try_emplace(text, numbers_.size() + 1).first->second; }

   private:
    std::map<std::string, uint64_t> numbers_;
  };
  // Numbers for long values that may repeat, above all stacks: a sequence then writes the text once.
  class TextNumbers {
   public:
    // 0: the text is short, or there are too many texts. Then it is written as it is.
    uint64_t of(std::string_view text);

   private:
    std::unordered_map<std::string, uint64_t> numbers_;
    std::string key_;  // its memory is reused
  };
  struct Prepared {
    uint64_t name = 0;                  // 0: not prepared yet
    uint64_t category = 0;              // 0: none
    std::vector<uint64_t> annotations;  // for each field; 0: part of the name
    std::string colour;                 // empty: none
  };

  const Prepared& prepare(const ClassInfo& info);
  void define(PerfettoSequence& sequence, const ClassInfo& info, const Prepared& prepared);
  void add_annotation(PerfettoSequence& sequence, uint64_t name, const Value& value);

  Numbers category_numbers_, annotation_numbers_;
  TextNumbers text_numbers_;
  std::vector<Prepared> prepared_;  // by ClassInfo::index
  std::string bytes_, text_;
};

}  // namespace kymo::convert
