#include "device/ptx/ptx_stamps.h"

#include <cstddef>

#include "base/text.h"

namespace kymo::device {

std::string stamp_parameter(std::string_view name) {
  return base::format(" .param .align 8 .b8 {}_kymo_stamp[{}]", name, sizeof(Stamp));
}

// For most groups the first compare is enough: a launch may have millions of groups.
std::string stamp_start(std::string_view name) {
  return base::format(
      " {{ .reg .pred %kymo_p; .reg .b32 %kymo_r<2>; .reg .b64 %kymo_d<2>;"
      " ld.param.u64 %kymo_d0, [{}_kymo_stamp+{}];"
      " setp.eq.u64 %kymo_p, %kymo_d0, 0; @%kymo_p bra $kymo_start;"
      " mov.u32 %kymo_r0, %ctaid.x; setp.ne.u32 %kymo_p, %kymo_r0, 0; @%kymo_p bra $kymo_start;"
      " mov.u32 %kymo_r0, %ctaid.y; mov.u32 %kymo_r1, %ctaid.z; or.b32 %kymo_r0, %kymo_r0, %kymo_r1;"
      " mov.u32 %kymo_r1, %tid.x; or.b32 %kymo_r0, %kymo_r0, %kymo_r1;"
      " mov.u32 %kymo_r1, %tid.y; or.b32 %kymo_r0, %kymo_r0, %kymo_r1;"
      " mov.u32 %kymo_r1, %tid.z; or.b32 %kymo_r0, %kymo_r0, %kymo_r1;"
      " setp.ne.u32 %kymo_p, %kymo_r0, 0; @%kymo_p bra $kymo_start;"
      " mov.u64 %kymo_d1, %globaltimer; st.global.u64 [%kymo_d0], %kymo_d1; $kymo_start: }}",
      name, offsetof(Stamp, start));
}

// Of the threads that exit together, the one with the lowest lane stamps.
std::string stamp_end(std::string_view name, size_t number) {
  return base::format(
      " {{ .reg .pred %kymo_p; .reg .b32 %kymo_r<2>; .reg .b64 %kymo_d<2>;"
      " ld.param.u64 %kymo_d0, [{0}_kymo_stamp+{1}];"
      " setp.eq.u64 %kymo_p, %kymo_d0, 0; @%kymo_p bra $kymo_left_{3};"
      " activemask.b32 %kymo_r0; mov.u32 %kymo_r1, %lanemask_lt; and.b32 %kymo_r0, %kymo_r0, %kymo_r1;"
      " setp.ne.u32 %kymo_p, %kymo_r0, 0; @%kymo_p bra $kymo_left_{3};"
      " ld.param.u32 %kymo_r0, [{0}_kymo_stamp+{2}]; mov.u32 %kymo_r1, %smid; and.b32 %kymo_r0, %kymo_r0, %kymo_r1;"
      " mul.wide.u32 %kymo_d1, %kymo_r0, {4}; add.u64 %kymo_d0, %kymo_d0, %kymo_d1;"
      " mov.u64 %kymo_d1, %globaltimer; red.global.max.u64 [%kymo_d0], %kymo_d1; $kymo_left_{3}: }}",
      name, offsetof(Stamp, ends), offsetof(Stamp, mask), number, kStampLine);
}

bool can_stamp(uint32_t version_major, uint32_t version_minor, uint32_t architecture) {
  return (version_major > 6 || (version_major == 6 && version_minor >= 2)) && architecture >= 70;
}

}  // namespace kymo::device
