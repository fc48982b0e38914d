#include "trace/foreign.h"

#include <algorithm>
#include <string_view>

namespace kymo::trace {

namespace {

using namespace std::string_view_literals;

struct Signature {
  std::string_view beginning;
  const char* description;
};

constexpr Signature kSignatures[] = {
    {"\x1f\x8b"sv, "it looks like gzip: unpack it first (gzip -d)"},
    {"\x28\xb5\x2f\xfd"sv, "it looks like zstd: unpack it first (zstd -d)"},
    {"\xfd"
     "7zXZ"sv,
     "it looks like xz: unpack it first (xz -d)"},
    {"PK\x03\x04"sv, "it looks like a zip archive: unpack it first"},
    {"\x7f"
     "ELF"sv,
     "it is a program or a library: to record it, run it under `kymo record`"},
    {"SQLite format 3"sv, "it looks like a SQLite database, as Nsight Systems exports them"},
    {"PERFILE2"sv, "it looks like the output of perf"},
    {"#!"sv, "it is a script: to record it, run it under `kymo record`"},
    {"\n"sv, "it looks like a Perfetto trace, which has to be imported"},
};

bool is_text(char c) { return c == '\t' || c == '\n' || c == '\r' || static_cast<unsigned char>(c) >= 0x20; }

}  // namespace

std::string describe_foreign(base::Bytes beginning) {
  const std::string_view text(reinterpret_cast<const char*>(beginning.data()), beginning.size());
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != text.npos && (text[begin] == '{' || text[begin] == '[')) {
    return "it looks like JSON, perhaps a Chrome or Kineto trace, which has to be imported";
  }
  if (text.find_first_not_of('\0') == text.npos) return "it begins with zeros, as files do that lost their contents";
  const bool all_text = std::all_of(text.begin(), text.end(), is_text);
  for (const Signature& signature : kSignatures) {
    // A protobuf tag, or an empty line at the beginning of a text
    const bool ambiguous = signature.beginning == "\n"sv;
    if (text.starts_with(signature.beginning) && !(ambiguous && all_text)) return signature.description;
  }
  if (all_text) return "it looks like text";
  return "it is of no kind that Kymo knows";
}

}  // namespace kymo::trace
