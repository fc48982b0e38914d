// A loaded file with arbitrary unwind tables: the input bytes are both the table and the code.
#include <cstdint>
#include <cstring>
#include <vector>

#include "unwind/unwind_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kymo::unwind;
  if (size < 4) return 0;
  uint16_t at = 0;
  std::memcpy(&at, data, sizeof at);
  // A separate allocation, so that a read past its end is detected
  const std::vector<uint8_t> file(data + sizeof at, data + size);
  ElfW(Phdr) segments[2] = {};
  segments[0].p_type = PT_LOAD;
  segments[0].p_flags = PF_R | PF_X;
  segments[0].p_filesz = segments[0].p_memsz = file.size();
  segments[1] = segments[0];
  segments[1].p_type = PT_GNU_EH_FRAME;
  LoadedCode code;
  code.offset = code.begin = reinterpret_cast<uintptr_t>(file.data());
  code.end = code.begin + file.size();
  code.segments = segments;
  code.segment_count = 2;
  const uintptr_t address = code.begin + at % file.size();
  if (find_rule_in(code, address, address).kind == Rule::Kind::None) __builtin_trap();
  uint8_t id[kMaxBuildIdBytes];
  segments[1].p_type = PT_NOTE;
  if (build_id_of(code, id) > sizeof id) __builtin_trap();
  return 0;
}
