// The names, categories, fields and texts of imported events, with a number each. Equal ones are kept once.
//
// Each thread that reads events has its own tables. A block of events refers to the tables that it was made with
// (event_block.h); the numbers of the trace are given when it is written (class_numbers.h). So threads share nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/model.h"

namespace kymo::import {

// A named value of an event.
struct ImportedValue {
  std::string_view name;
  trace::FieldType type = trace::FieldType::Int;
  uint64_t bits = 0;
  double real = 0;
  std::string_view text;
};

struct ImportedEvent {
  std::string_view name, category;
  const std::vector<ImportedValue>* values = nullptr;
  uint32_t colour = 0;  // as in trace::EventClass
};

// Texts with a number each. Texts longer than kLongest are cut off.
class Texts {
 public:
  static constexpr size_t kLongest = 1 << 20;

  Texts();
  uint32_t number_of(std::string_view text);
  std::string_view operator[](uint32_t number) const { return texts_[number]; }
  size_t size() const { return texts_.size(); }

 private:
  struct Slot {
    uint32_t hash = 0, number = kFree;
  };
  static constexpr uint32_t kFree = UINT32_MAX;

  void grow();
  std::string_view keep(std::string_view text);

  std::vector<Slot> slots_;  // the number is a power of two
  std::vector<std::string_view> texts_;
  std::vector<std::unique_ptr<char[]>> memory_;
  char* free_ = nullptr;  // in the last block for short texts
  size_t left_ = 0;
};

class EventTables {
 public:
  // Events are of one class if their names, categories, colours and fields are equal.
  struct Class {
    uint32_t name = 0, category = 0;  // texts
    uint32_t fields = 0;              // a list of fields
    uint32_t colour = 0;
    uint32_t hash = 0;
  };
  static constexpr size_t kMostFields = 254;  // of an event; one more may be its name
  static constexpr size_t kLongestName = 1 << 16;

  EventTables();
  uint32_t class_of(const ImportedEvent& event);
  const Class& at(uint32_t number) const { return classes_[number]; }
  size_t class_count() const { return classes_.size(); }
  std::vector<trace::Field> fields(uint32_t list) const;
  size_t field_list_count() const { return lists_.size(); }

  Texts texts;

 private:
  // A list of fields is another one plus a field. List 0 is empty.
  struct FieldList {
    uint32_t before = 0;
    uint32_t name = 0;  // a text
    trace::FieldType type = trace::FieldType::Int;
    struct Next {
      uint32_t name = 0, list = 0;
      trace::FieldType type = trace::FieldType::Int;
    };
    std::vector<Next> next;  // some of the lists that begin with this one
  };

  uint32_t longer_list(uint32_t list, std::string_view name, trace::FieldType type);
  uint32_t number_of_category(std::string_view category);
  void grow();

  std::vector<uint32_t> slots_;  // classes by hash: the number plus 1; 0: free
  std::vector<Class> classes_;
  std::vector<FieldList> lists_;
  std::unordered_map<std::string, uint32_t> more_lists_;  // that are not in `next`
  std::string key_;
  static constexpr size_t kRecent = 4;
  uint32_t recent_categories_[kRecent] = {};
  size_t next_recent_ = 0;
};

}  // namespace kymo::import
