#include "edge/input_texts.h"

#include <cstring>
#include <utility>

#include "base/hash.h"
#include "base/json_text.h"
#include "edge/inputs.h"

namespace kymo::edge {
namespace {

using base::append;
using base::TextBuffer;

void append_numbers(TextBuffer& out, const PackedNumbers<int64_t>& numbers) {
  out.push_back('[');
  for (uint32_t at = 0; at < numbers.size(); ++at) {
    if (at != 0) append(out, ", ");
    out.append_number(numbers[at]);
  }
  out.push_back(']');
}

// Writes the inputs one after the other. A list of tensors is one input; its sizes and strides are lists with those of
// its elements.
class InputTextWriter {
 public:
  InputTextWriter() {
    for (TextBuffer* const out : {&sizes_, &strides_, &types_, &values_}) out->push_back('[');
  }

  void add(const InputView& input) {
    const bool is_element = list_left_ != 0;
    const bool is_list = input.tag == Inputs::Tag::TensorList && !is_element;
    if (!std::exchange(is_first_, false)) {
      append(sizes_, ", ");
      append(strides_, ", ");
    }
    if (is_list) {
      sizes_.push_back('[');
      strides_.push_back('[');
      is_first_ = true;
      list_left_ = input.list_count;
      if (list_left_ == 0) end_list();
    } else {
      append_numbers(sizes_, input.sizes);
      append_numbers(strides_, input.strides);
    }
    if (!is_element) {
      add_type_and_value(input);
    } else if (--list_left_ == 0) {
      end_list();
    }
  }

  InputTexts finish() {
    if (list_left_ != 0) end_list();  // the bytes ended before the list did
    for (TextBuffer* const out : {&sizes_, &strides_, &types_, &values_}) out->push_back(']');
    return {sizes_.string(), strides_.string(), types_.string(), values_.string()};
  }

 private:
  void end_list() {
    sizes_.push_back(']');
    strides_.push_back(']');
    is_first_ = false;
    list_left_ = 0;
  }

  void add_type_and_value(const InputView& input) {
    if (types_.size() > 1) {
      append(types_, ", ");
      append(values_, ", ");
    }
    base::append_json_string(types_, type_text(input));
    value_.clear();
    append_value(value_, input);
    base::append_json_string(values_, value_);
  }

  TextBuffer sizes_, strides_, types_, values_;
  std::string value_;
  bool is_first_ = true;    // the first element of its list
  uint32_t list_left_ = 0;  // remaining elements
};

}  // namespace

InputTexts input_texts(std::span<const std::byte> untrusted) {
  InputTextWriter writer;
  InputView input;
  for (InputReader reader(untrusted); reader.next(input);) writer.add(input);
  return writer.finish();
}

const InputTexts& InputTextCache::of(std::span<const std::byte> untrusted) {
  Entry& entry = entries_[base::hash(untrusted)];
  const bool is_known = !entry.texts.sizes.empty() && entry.bytes.size() == untrusted.size() &&
                        (untrusted.empty() || std::memcmp(entry.bytes.data(), untrusted.data(), untrusted.size()) == 0);
  if (!is_known) {
    if (entries_.size() > kMax) {
      entries_.clear();
      return of(untrusted);
    }
    entry = {untrusted, input_texts(untrusted)};
  }
  return entry.texts;
}

}  // namespace kymo::edge
