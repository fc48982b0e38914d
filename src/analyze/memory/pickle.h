// Python's pickle format, protocol 2: the values that dictionaries of snapshots are made of, written one by one.
//
//   PickleWriter pickle(sink);
//   pickle.begin_dict();
//   pickle.key("segments");
//   pickle.begin_list();
//   pickle.end_list();
//   pickle.end_dict();
//   pickle.finish();
//
// Nothing in it makes a reader run code. Memory does not grow with what is written, but for what is to be shared.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "convert/export_stream.h"

namespace kymo::memory {

class PickleWriter {
 public:
  explicit PickleWriter(convert::ExportStream& sink);

  // A value: the whole, an item of a list, or what follows a key.
  void begin_dict();
  void end_dict();
  void begin_list();
  void end_list();
  void number(uint64_t value);
  void number(int64_t value);
  void boolean(bool value);
  void none();
  void pair(uint64_t first, uint64_t second);  // a tuple
  void text(std::string_view untrusted);       // bytes that are not UTF-8 are replaced; the same text is written once

  void key(std::string_view name);

  // The value that was just ended gets a number, by which it can stand again elsewhere, the same one for the reader.
  uint32_t share();
  void shared(uint32_t number);

  void finish();

 private:
  struct Container {
    bool is_dict;
    uint32_t in_batch = 0;
  };
  void before_value();
  void byte(unsigned char one) { out_.push_back(static_cast<char>(one)); }
  void little_endian(uint64_t value, size_t bytes);
  void put_text(std::string_view untrusted);
  void get(uint32_t number);
  void flush_if_large();

  convert::ExportStream& sink_;
  std::string out_, room_;
  std::vector<Container> open_;
  std::unordered_map<std::string, uint32_t> texts_;
  uint32_t next_share_ = 0;
};

}  // namespace kymo::memory
