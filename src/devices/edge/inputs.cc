#include "edge/inputs.h"

#include <cmath>
#include <iterator>
#include <utility>

#include "base/hash.h"
#include "base/json_writer.h"
#include "base/text.h"

namespace kymo::edge {

namespace {

using Tag = Inputs::Tag;

// A whole number is written with a decimal point, to distinguish it from an integer.
void append_real(std::string& out, double value) {
  constexpr double kAsInteger = 1e10;
  if (std::fabs(value) < kAsInteger && value == std::trunc(value)) {
    base::format_to(out, "{}{}.", std::signbit(value) ? "-" : "", static_cast<int64_t>(std::fabs(value)));
    return;
  }
  base::format_to(out, "{}", value);
}

template <class Text, class Numbers, class AppendOne>
void append_list(Text& out, const Numbers& numbers, AppendOne append_one) {
  out.push_back('[');
  for (uint32_t at = 0; at < numbers.size(); ++at) {
    if (at != 0) out.append(", ");
    append_one(numbers[at]);
  }
  out.push_back(']');
}

void append_sizes(std::string& out, const PackedNumbers<int64_t>& sizes) {
  append_list(out, sizes, [&](int64_t size) { base::format_to(out, "{}", size); });
}

EdgeInput decode_one(const InputView& view) {
  EdgeInput input;
  input.type = type_text(view);
  input.sizes.reserve(view.sizes.size());
  for (uint32_t at = 0; at < view.sizes.size(); ++at) input.sizes.push_back(view.sizes[at]);
  input.strides.reserve(view.strides.size());
  for (uint32_t at = 0; at < view.strides.size(); ++at) input.strides.push_back(view.strides[at]);
  append_value(input.value, view);
  return input;
}

}  // namespace

const std::byte* InputReader::take(size_t size) {
  if (size > rest_.size()) return nullptr;
  const std::byte* const taken = rest_.data();
  rest_ = rest_.subspan(size);
  return taken;
}

bool InputReader::next(InputView& input) {
  input = {};
  // If a list claims more numbers than there are bytes, they are not read.
  const auto counted = [this](size_t size, const std::byte*& data, uint32_t& count) {
    const std::byte* const at = take(sizeof count);
    if (at == nullptr) return false;
    std::memcpy(&count, at, sizeof count);
    data = take(size * count);
    return data != nullptr;
  };
  const auto end = [this] {
    rest_ = {};
    return false;
  };

  const std::byte* at = take(1);
  if (at == nullptr) return false;
  input.tag = static_cast<Tag>(*at);
  uint32_t count = 0;
  switch (input.tag) {
    case Tag::Tensor: {
      if ((at = take(3)) == nullptr) return end();
      input.element = static_cast<Element>(at[0]);
      count = std::to_integer<uint32_t>(at[1]);
      input.has_strides = at[2] != std::byte{0};
      if ((at = take(count * sizeof(int64_t))) == nullptr) return end();
      input.sizes = {at, count};
      if (!input.has_strides) return true;
      if ((at = take(count * sizeof(int64_t))) == nullptr) return end();
      input.strides = {at, count};
      return true;
    }
    case Tag::Integer:
      if ((at = take(sizeof input.integer)) == nullptr) return end();
      std::memcpy(&input.integer, at, sizeof input.integer);
      return true;
    case Tag::Real:
      if ((at = take(sizeof input.real)) == nullptr) return end();
      std::memcpy(&input.real, at, sizeof input.real);
      return true;
    case Tag::Boolean:
      if ((at = take(1)) == nullptr) return end();
      input.integer = *at != std::byte{0} ? 1 : 0;
      return true;
    case Tag::Text:
      if (!counted(1, at, count)) return end();
      input.text = {reinterpret_cast<const char*>(at), count};
      return true;
    case Tag::Integers:
      if (!counted(sizeof(int64_t), at, count)) return end();
      input.integers = {at, count};
      return true;
    case Tag::Reals:
      if (!counted(sizeof(double), at, count)) return end();
      input.reals = {at, count};
      return true;
    case Tag::Booleans:
      if (!counted(1, at, count)) return end();
      input.booleans = {at, count};
      return true;
    case Tag::TensorList:
      if ((at = take(sizeof input.list_count)) == nullptr) return end();
      std::memcpy(&input.list_count, at, sizeof input.list_count);
      return true;
    case Tag::None:
    case Tag::Other:
      return true;
  }
  return end();
}

std::vector<EdgeInput> decode_inputs(std::span<const std::byte> untrusted) {
  std::vector<EdgeInput> inputs;
  InputReader reader(untrusted);
  InputView view;
  while (reader.next(view)) {
    EdgeInput& input = inputs.emplace_back(decode_one(view));
    // The format has no lists within lists: inner elements count as elements of the outer list.
    for (uint32_t left = view.tag == Tag::TensorList ? view.list_count : 0; left != 0 && reader.next(view); --left)
      input.tensors.push_back(decode_one(view));
  }
  return inputs;
}

std::string_view type_text(Element element) {
  static constexpr std::string_view kNames[] = {"",
                                                "bool",
                                                "unsigned char",
                                                "signed char",
                                                "short int",
                                                "int",
                                                "long int",
                                                "c10::Half",
                                                "c10::BFloat16",
                                                "float",
                                                "double",
                                                "c10::complex<c10::Half>",
                                                "c10::complex<float>",
                                                "c10::complex<double>",
                                                "c10::qint8",
                                                "c10::quint8",
                                                "c10::qint32"};
  static_assert(std::size(kNames) == static_cast<size_t>(Element::QInt32) + 1);
  const auto number = static_cast<size_t>(element);
  return number < std::size(kNames) ? kNames[number] : "";
}

std::string_view type_text(const InputView& input) {
  switch (input.tag) {
    case Tag::Tensor:
      return type_text(input.element);
    case Tag::Integer:
    case Tag::Real:
    case Tag::Boolean:
      return "Scalar";
    case Tag::Integers:
    case Tag::Reals:
    case Tag::Booleans:
      return "ScalarList";
    case Tag::TensorList:
      return "TensorList";
    case Tag::Text:
    case Tag::None:
    case Tag::Other:
      break;
  }
  return "";
}

void append_value(std::string& out, const InputView& input) {
  const auto truth = [](bool value) { return value ? "True" : "False"; };
  switch (input.tag) {
    case Tag::Integer:
      base::format_to(out, "{}", input.integer);
      return;
    case Tag::Real:
      return append_real(out, input.real);
    case Tag::Boolean:
      out += truth(input.integer != 0);
      return;
    case Tag::Text:
      out += input.text;
      return;
    case Tag::Integers:
      return append_sizes(out, input.integers);
    case Tag::Reals:
      return append_list(out, input.reals, [&](double value) { append_real(out, value); });
    case Tag::Booleans:
      return append_list(out, input.booleans, [&](std::byte value) { out += truth(value != std::byte{0}); });
    case Tag::Tensor:
    case Tag::TensorList:
    case Tag::None:
    case Tag::Other:
      return;
  }
}

// ---- Texts for files ------------------------------------------------------------------------------------------------

namespace {

using base::append;
using base::TextBuffer;

void append_numbers(TextBuffer& out, const PackedNumbers<int64_t>& numbers) {
  append_list(out, numbers, [&](int64_t number) { out.append_number(number); });
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
