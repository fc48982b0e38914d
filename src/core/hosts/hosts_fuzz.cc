// What a host sends, and what a user writes as a list of hosts.
#include "hosts/frame.h"
#include "hosts/host_list.h"
#include "kymo/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kymo::hosts;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const auto expect : {FrameReader::Expect::Greeting, FrameReader::Expect::Frames}) {
    FrameReader reader(expect);
    try {
      for (size_t at = 0; at < size; at += 13) {
        reader.add(bytes.substr(at, 13));
        while (reader.next()) {
        }
      }
    } catch (const kymo::Error&) {
    }
  }
  if (size < 200) {
    try {
      expand_lines(bytes);
    } catch (const kymo::Error&) {
    }
  }
  return 0;
}
