#include "edge/inputs.h"

#include <cmath>
#include <iterator>

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

template <class Numbers, class AppendOne>
void append_list(std::string& out, const Numbers& numbers, AppendOne append_one) {
  out += '[';
  for (uint32_t at = 0; at < numbers.size(); ++at) {
    if (at != 0) out += ", ";
    append_one(numbers[at]);
  }
  out += ']';
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
  switch (element) {
    case Element::Unknown:
      return "";
    case Element::Bool:
      return "bool";
    case Element::Byte:
      return "unsigned char";
    case Element::Char:
      return "signed char";
    case Element::Short:
      return "short int";
    case Element::Int:
      return "int";
    case Element::Long:
      return "long int";
    case Element::Half:
      return "c10::Half";
    case Element::BFloat16:
      return "c10::BFloat16";
    case Element::Float:
      return "float";
    case Element::Double:
      return "double";
    case Element::ComplexHalf:
      return "c10::complex<c10::Half>";
    case Element::ComplexFloat:
      return "c10::complex<float>";
    case Element::ComplexDouble:
      return "c10::complex<double>";
    case Element::QInt8:
      return "c10::qint8";
    case Element::QUInt8:
      return "c10::quint8";
    case Element::QInt32:
      return "c10::qint32";
  }
  return "";
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

std::string shapes_text(std::span<const std::byte> untrusted) {
  std::string out = "[";
  InputReader reader(untrusted);
  InputView view;
  while (reader.next(view)) {
    if (out.size() > 1) out += ", ";
    if (view.tag != Tag::TensorList) {
      append_sizes(out, view.sizes);
      continue;
    }
    out += '[';
    bool first = true;
    for (uint32_t left = view.list_count; left != 0 && reader.next(view); --left) {
      if (!first) out += ", ";
      first = false;
      append_sizes(out, view.sizes);
    }
    out += ']';
  }
  return out + "]";
}

}  // namespace kymo::edge
