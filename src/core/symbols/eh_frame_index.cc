#include "symbols/eh_frame_index.h"

#include <algorithm>
#include <optional>

#include "kymo/error.h"

namespace kymo::symbols {

namespace {

// How an address is stored: its format, and whether it is relative to its own place.
constexpr uint8_t kAbsolute8 = 0x00, kUnsigned4 = 0x03, kSigned4 = 0x0b, kFormat = 0x0f, kToHere = 0x10;

// Of the functions that share a common record. Nothing if the record has another form than compilers write.
std::optional<uint8_t> encoding_of(base::Bytes common) {
  base::ByteReader reader(common);
  reader.fixed<uint32_t>();  // its mark
  reader.byte();             // the version
  std::string letters;
  for (uint8_t letter = reader.byte(); letter != 0; letter = reader.byte()) letters += static_cast<char>(letter);
  if (letters.empty()) return kAbsolute8;
  if (letters[0] != 'z') return std::nullopt;
  reader.varint();  // the factors of code and data, and the column of the return address
  reader.varint();
  reader.varint();
  reader.varint();  // the length of what follows
  for (const char letter : letters.substr(1)) {
    if (letter == 'R') return reader.byte();
    if (letter == 'L') {
      reader.byte();
    } else if (letter == 'P') {
      const uint8_t format = reader.byte() & kFormat;
      if (format != kAbsolute8 && format != kUnsigned4 && format != kSigned4) return std::nullopt;
      reader.take(format == kAbsolute8 ? 8 : 4);
    } else if (letter != 'S' && letter != 'B' && letter != 'G') {
      return std::nullopt;
    }
  }
  return kAbsolute8;
}

}  // namespace

std::vector<DescribedFunction> index_eh_frame(base::Bytes eh_frame, uint64_t address) {
  std::vector<DescribedFunction> functions;
  size_t at = 0;
  constexpr size_t kWord = sizeof(uint32_t);
  while (eh_frame.size() - at >= 2 * kWord) {
    const auto length = base::load<uint32_t>(eh_frame.data() + at);
    constexpr uint32_t kLong = 0xffffffff;
    if (length == 0) {  // the end of a part: the linker joins several
      at += kWord;
      continue;
    }
    if (length == kLong || length > eh_frame.size() - at - kWord || length < kWord) break;
    const size_t body = at + kWord;
    const auto back = base::load<uint32_t>(eh_frame.data() + body);
    if (back != 0 && back <= body && body - back + kWord <= eh_frame.size()) {
      const size_t common = body - back;
      const auto common_length = base::load<uint32_t>(eh_frame.data() + common);
      try {
        if (common_length > eh_frame.size() - common - kWord) throw Error("a record is too long");
        const auto encoding = encoding_of(eh_frame.subspan(common + kWord, common_length));
        base::ByteReader reader(eh_frame.subspan(body + kWord, length - kWord));
        if (encoding) {
          uint64_t begin = 0;
          const uint8_t format = *encoding & kFormat;
          if (format == kAbsolute8) begin = reader.fixed<uint64_t>();
          if (format == kUnsigned4) begin = reader.fixed<uint32_t>();
          if (format == kSigned4)
            begin = static_cast<uint64_t>(int64_t{static_cast<int32_t>(reader.fixed<uint32_t>())});
          if ((*encoding & kToHere) != 0) begin += address + body + kWord;
          if (format == kAbsolute8 || format == kUnsigned4 || format == kSigned4)
            functions.push_back({begin, address + at});
        }
      } catch (const Error&) {  // this function stays unknown
      }
    }
    at = body + length;
  }
  std::ranges::sort(functions, {}, &DescribedFunction::begin);
  return functions;
}

std::vector<std::byte> make_search_table(const std::vector<DescribedFunction>& functions, uint64_t address) {
  base::ByteWriter entries;
  uint32_t count = 0;
  const auto is_near = [](int64_t distance) { return distance == static_cast<int32_t>(distance); };
  for (const DescribedFunction& function : functions) {
    const auto begin = static_cast<int64_t>(function.begin - address);
    const auto description = static_cast<int64_t>(function.description - address);
    if (!is_near(begin) || !is_near(description)) continue;
    entries.fixed(static_cast<uint32_t>(begin));
    entries.fixed(static_cast<uint32_t>(description));
    ++count;
  }
  base::ByteWriter table;
  for (const uint8_t byte : {0x01, 0x1b, 0x03, 0x3b}) table.byte(byte);  // the version, and how numbers are stored
  table.fixed(uint32_t{0});                                              // where .eh_frame is: nobody needs it
  table.fixed(count);
  table.append(entries.bytes());
  return {table.bytes().begin(), table.bytes().end()};
}

}  // namespace kymo::symbols
