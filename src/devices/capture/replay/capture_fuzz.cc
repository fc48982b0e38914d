// Reads any bytes as the manifest of a capture, and as its calls.

#include <string>

#include "capture/files.h"
#include "capture/replay/reader.h"
#include "json/document.h"
#include "kymo/error.h"

namespace {

using namespace kymo;

template <class F>
void refused_or_fine(F&& read) {
  try {
    read();
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  refused_or_fine([&] { json::Document{text}; });
  refused_or_fine([&] {
    // With the right checksum, because otherwise the code after the check would not be reached.
    const std::string body(text);
    capture::parse_manifest(body + capture::manifest_end(body));
  });
  refused_or_fine([&] {
    capture::Tables tables([](uint64_t piece) -> uint32_t {
      if (piece > 3) throw Error("no such piece");
      return piece == 3 ? 16 : capture::kPieceBytes;
    });
    // A record that was read is written with the same bytes.
    const auto bytes = base::as_bytes(text);
    capture::walk_records(bytes, tables, [&](const capture::Record& record, const capture::Tables&) {
      base::ByteWriter out;
      capture::encode(record, out);
      base::ByteReader again(out.bytes());
      if (capture::decode(again).index() != record.index() || again.left() != 0) __builtin_trap();
    });
  });
  return 0;
}
