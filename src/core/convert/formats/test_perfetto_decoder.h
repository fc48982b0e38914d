// Reads a Perfetto trace for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>

#include "base/text.h"
#include "convert/perfetto_fields.h"
#include "trace/test_recorder.h"

namespace kymo::convert::testing {

using namespace perfetto;
using trace::testing::kMonotonicZero;
using trace::testing::kRealtimeZero;

// A strict reader: it fails the test if an id is used before its definition, if an event is on a track without a
// description, if an end has no start, or if times go backwards where they must not.
class PerfettoDecoder {
 public:
  enum class Times { Nested, Any };  // Any: only the order of begins and ends is checked

  explicit PerfettoDecoder(const std::string& bytes, Times times = Times::Nested) : times_(times) {
    protozero::pbf_reader trace(bytes);
    while (trace.next(kPacket)) packet_(trace.get_message());
  }

  struct Track {
    std::string name, thread_name, process_name;
    uint64_t parent = 0;
    bool is_counter = false, may_merge = true;
    uint64_t unit = 0;
    std::vector<int64_t> open;  // begin times
    std::string log;            // "(name@time", "@time)", ".name@time", "=value@time"
  };
  std::map<uint64_t, Track> tracks;
  std::map<uint64_t, std::string> flows;  // "b" for an id, "e" for a terminating id, in file order
  std::map<uint32_t, uint64_t> clocks;
  uint64_t primary_clock = 0;
  std::vector<std::string> annotations;

  const Track* find(const std::string& name) const {
    for (const auto& [uuid, track] : tracks) {
      if (track.name == name || track.thread_name == name || track.process_name == name) return &track;
    }
    return nullptr;
  }
  std::string log_of(const std::string& name) const { return find(name) == nullptr ? "no track" : find(name)->log; }

 private:
  struct Sequence {
    bool started = false;
    uint64_t clock = 0, track = 0;
    std::map<uint64_t, std::string> names, categories, annotation_names, texts;
  };

  void packet_(protozero::pbf_reader message) {
    std::string interned_data, track_event, descriptor, defaults_data, snapshot;
    uint64_t time = 0, id = 0, flags = 0;
    while (message.next()) {
      switch (message.tag()) {
        case packet::kTimestamp:
          time = message.get_uint64();
          break;
        case packet::kSequenceId:
          id = message.get_uint32();
          break;
        case packet::kSequenceFlags:
          flags = message.get_uint32();
          break;
        case packet::kInternedData:
          interned_data = message.get_string();
          break;
        case packet::kTrackEvent:
          track_event = message.get_string();
          break;
        case packet::kTrackDescriptor:
          descriptor = message.get_string();
          break;
        case packet::kDefaults:
          defaults_data = message.get_string();
          break;
        case packet::kClockSnapshot:
          snapshot = message.get_string();
          break;
        default:
          message.skip();
      }
    }
    EXPECT_NE(id, 0u);
    Sequence& sequence = sequences_[id];
    if (!defaults_data.empty()) read_defaults(sequence, defaults_data);
    if (!snapshot.empty()) read_clocks(snapshot);
    if (!descriptor.empty()) read_descriptor(descriptor);
    if (!interned_data.empty()) read_interned(sequence, interned_data);
    if (track_event.empty()) return;
    EXPECT_EQ((flags & packet::kStateCleared) != 0, !sequence.started)
        << "the first packet and no other clears the state";
    EXPECT_TRUE(flags & packet::kNeedsState);
    sequence.started = true;
    EXPECT_EQ(sequence.clock, primary_clock);
    read_event(sequence, static_cast<int64_t>(time), track_event);
  }

  static void read_defaults(Sequence& sequence, const std::string& bytes) {
    protozero::pbf_reader message(bytes);
    while (message.next()) {
      if (message.tag() == defaults::kTimestampClockId) {
        sequence.clock = message.get_uint32();
      } else {
        protozero::pbf_reader of_events(message.get_message());
        while (of_events.next(event::kTrackUuid)) sequence.track = of_events.get_uint64();
      }
    }
  }

  void read_clocks(const std::string& bytes) {
    protozero::pbf_reader message(bytes);
    while (message.next()) {
      if (message.tag() == clock_snapshot::kPrimaryClock) {
        primary_clock = static_cast<uint64_t>(message.get_enum());
        continue;
      }
      protozero::pbf_reader one(message.get_message());
      uint32_t id = 0;
      while (one.next()) {
        if (one.tag() == clock::kId) {
          id = one.get_uint32();
        } else {
          clocks[id] = one.get_uint64();
        }
      }
    }
  }

  void read_descriptor(const std::string& bytes) {
    protozero::pbf_reader message(bytes);
    uint64_t uuid = 0;
    Track track;
    while (message.next()) {
      switch (message.tag()) {
        case track::kUuid:
          uuid = message.get_uint64();
          break;
        case track::kParentUuid:
          track.parent = message.get_uint64();
          break;
        case track::kName:
          track.name = message.get_string();
          break;
        case track::kSiblingMerge:
          track.may_merge = message.get_enum() != static_cast<int32_t>(track::kNoMerge);
          break;
        case track::kThread: {
          protozero::pbf_reader thread(message.get_message());
          while (thread.next()) {
            if (thread.tag() == thread::kName) {
              track.thread_name = thread.get_string();
            } else {
              thread.skip();
            }
          }
          break;
        }
        case track::kProcess: {
          protozero::pbf_reader process(message.get_message());
          while (process.next()) {
            if (process.tag() == process::kName) {
              track.process_name = process.get_string();
            } else {
              process.skip();
            }
          }
          break;
        }
        case track::kCounter: {
          track.is_counter = true;
          protozero::pbf_reader counter(message.get_message());
          while (counter.next(counter::kUnit)) track.unit = static_cast<uint64_t>(counter.get_enum());
          break;
        }
        default:
          message.skip();
      }
    }
    EXPECT_NE(uuid, 0u);
    EXPECT_FALSE(tracks.contains(uuid)) << "described twice";
    EXPECT_TRUE(track.parent == 0 || tracks.contains(track.parent)) << "a child before its parent";
    EXPECT_TRUE(track.name.empty() || !track.may_merge) << track.name;
    for (const auto& [sibling, other] : tracks)
      EXPECT_FALSE(!track.name.empty() && other.parent == track.parent && other.name == track.name) << track.name;
    tracks[uuid] = track;
  }

  static void read_interned(Sequence& sequence, const std::string& bytes) {
    protozero::pbf_reader message(bytes);
    while (message.next()) {
      if (message.tag() > interned::kAnnotationNames && message.tag() != interned::kStrings) {  // the stacks of samples
        message.skip();
        continue;
      }
      auto& table = message.tag() == interned::kCategories   ? sequence.categories
                    : message.tag() == interned::kEventNames ? sequence.names
                    : message.tag() == interned::kStrings    ? sequence.texts
                                                             : sequence.annotation_names;
      protozero::pbf_reader entry(message.get_message());
      uint64_t iid = 0;
      std::string name;
      while (entry.next()) {
        if (entry.tag() == interned::kIid) {
          iid = entry.get_uint64();
        } else {
          name = entry.get_string();
        }
      }
      EXPECT_NE(iid, 0u);
      EXPECT_TRUE(table.emplace(iid, name).second) << "defined twice";
    }
  }

  void read_event(Sequence& sequence, int64_t ns, const std::string& bytes) {
    protozero::pbf_reader message(bytes);
    uint64_t type = 0, uuid = sequence.track;
    std::string name, value, annotations_of_event;
    while (message.next()) {
      switch (message.tag()) {
        case event::kType:
          type = static_cast<uint64_t>(message.get_enum());
          break;
        case event::kTrackUuid:
          uuid = message.get_uint64();
          break;
        case event::kNameIid: {
          const uint64_t iid = message.get_uint64();
          EXPECT_TRUE(sequence.names.contains(iid)) << "a name used before it is defined";
          name = sequence.names[iid];
          break;
        }
        case event::kName:
          name = message.get_string();
          break;
        case event::kCategoryIids:
          EXPECT_TRUE(sequence.categories.contains(message.get_uint64()));
          break;
        case event::kCounterValue:
          value = std::to_string(message.get_int64());
          break;
        case event::kDoubleCounterValue:
          value = base::format("{}", message.get_double());
          break;
        case event::kFlowIds:
          flows[message.get_fixed64()] += "b";
          break;
        case event::kTerminatingFlowIds:
          flows[message.get_fixed64()] += "e";
          break;
        case event::kDebugAnnotations:
          read_annotation(sequence, message.get_message());
          break;
        default:
          message.skip();
      }
    }
    ASSERT_TRUE(tracks.contains(uuid)) << "an event on a track nobody described";
    Track& track = tracks[uuid];
    EXPECT_EQ(track.is_counter, type == event::kCounter);
    const int64_t tick = ns - static_cast<int64_t>(primary_clock == clock::kMonotonic ? kMonotonicZero : kRealtimeZero);
    switch (type) {
      case event::kSliceBegin:
        EXPECT_TRUE(times_ == Times::Any || track.open.empty() || track.open.back() <= tick)
            << "a child begins before its parent";
        track.open.push_back(tick);
        track.log += base::format("({}@{} ", name, tick);
        break;
      case event::kSliceEnd:
        ASSERT_FALSE(track.open.empty()) << "an end without a beginning";
        EXPECT_TRUE(times_ == Times::Any || track.open.back() <= tick) << "an end before its beginning";
        track.open.pop_back();
        track.log += base::format("@{}) ", tick);
        break;
      case event::kInstant:
        track.log += base::format(".{}@{} ", name, tick);
        break;
      case event::kCounter:
        track.log += base::format("={}@{} ", value, tick);
        break;
      default:
        FAIL() << "an event of type " << type;
    }
  }

  void read_annotation(Sequence& sequence, protozero::pbf_reader message) {
    std::string text;
    while (message.next()) {
      switch (message.tag()) {
        case annotation::kNameIid: {
          const uint64_t iid = message.get_uint64();
          EXPECT_TRUE(sequence.annotation_names.contains(iid));
          text += sequence.annotation_names[iid] + " ";
          break;
        }
        case annotation::kBool:
          text += message.get_bool() ? "true" : "false";
          break;
        case annotation::kUInt:
          text += base::format("uint {}", message.get_uint64());
          break;
        case annotation::kInt:
          text += base::format("int {}", message.get_int64());
          break;
        case annotation::kDouble:
          text += base::format("double {}", message.get_double());
          break;
        case annotation::kPointer:
          text += base::format("pointer {:x}", message.get_uint64());
          break;
        case annotation::kString:
          text += base::format("string {}", message.get_string());
          break;
        case annotation::kStringIid: {
          const uint64_t iid = message.get_uint64();
          EXPECT_TRUE(sequence.texts.contains(iid));
          text += base::format("string {}", sequence.texts[iid]);
          break;
        }
        default:
          message.skip();
      }
    }
    annotations.push_back(text);
  }

  const Times times_;
  std::map<uint64_t, Sequence> sequences_;
};

}  // namespace kymo::convert::testing
