#include "device/cuda/fill.h"

#include <algorithm>
#include <cstring>

namespace kymo::device::cuda {
namespace {

constexpr unsigned kGroup = 256;
constexpr unsigned kGroupsPerUnit = 8;  // 2048 threads, all that a multiprocessor runs

// Thread i stores elements i, i + threads, i + 2 × threads, …
constexpr const char* kSource = R"(
.version 6.0
.target sm_50
.address_size 64

.visible .entry kymo_fill_8(.param .u64 to, .param .u64 low, .param .u64 high, .param .u64 count)
{
	.reg .pred %p<2>;
	.reg .b32 %r<5>;
	.reg .b64 %rd<10>;
	ld.param.u64 %rd1, [to];
	ld.param.u64 %rd2, [low];
	ld.param.u64 %rd4, [count];
	cvta.to.global.u64 %rd1, %rd1;
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mov.u32 %r4, %nctaid.x;
	mul.wide.u32 %rd5, %r1, %r2;
	cvt.u64.u32 %rd6, %r3;
	add.u64 %rd5, %rd5, %rd6;
	mul.wide.u32 %rd7, %r4, %r2;
loop:
	setp.ge.u64 %p1, %rd5, %rd4;
	@%p1 ret;
	shl.b64 %rd8, %rd5, 3;
	add.u64 %rd8, %rd1, %rd8;
	st.global.u64 [%rd8], %rd2;
	add.u64 %rd5, %rd5, %rd7;
	bra loop;
}

.visible .entry kymo_fill_16(.param .u64 to, .param .u64 low, .param .u64 high, .param .u64 count)
{
	.reg .pred %p<2>;
	.reg .b32 %r<5>;
	.reg .b64 %rd<10>;
	ld.param.u64 %rd1, [to];
	ld.param.u64 %rd2, [low];
	ld.param.u64 %rd3, [high];
	ld.param.u64 %rd4, [count];
	cvta.to.global.u64 %rd1, %rd1;
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mov.u32 %r4, %nctaid.x;
	mul.wide.u32 %rd5, %r1, %r2;
	cvt.u64.u32 %rd6, %r3;
	add.u64 %rd5, %rd5, %rd6;
	mul.wide.u32 %rd7, %r4, %r2;
loop:
	setp.ge.u64 %p1, %rd5, %rd4;
	@%p1 ret;
	shl.b64 %rd8, %rd5, 4;
	add.u64 %rd8, %rd1, %rd8;
	st.global.v2.u64 [%rd8], {%rd2, %rd3};
	add.u64 %rd5, %rd5, %rd7;
	bra loop;
}
)";

}  // namespace

void PatternFill::load() {
  const Api& api = context_.api;
  CUmodule module = nullptr;  // lives as long as the context
  check(api, api.module_load(&module, kSource), "cuModuleLoadData of Kymo's own kernels");
  check(api, api.module_function(&fill_8_, module, "kymo_fill_8"), "cuModuleGetFunction");
  check(api, api.module_function(&fill_16_, module, "kymo_fill_16"), "cuModuleGetFunction");
  int units = 0;
  check(api, api.device_attribute(&units, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, context_.device),
        "cuDeviceGetAttribute");
  groups_ = static_cast<unsigned>(units) * kGroupsPerUnit;
}

void PatternFill::operator()(CUdeviceptr to, const void* pattern, uint32_t pattern_bytes, size_t bytes,
                             CUstream stream) {
  std::call_once(loaded_, [this] { load(); });
  uint64_t words[2] = {};
  std::memcpy(words, pattern, pattern_bytes);
  uint64_t count = bytes / pattern_bytes;
  void* parameters[] = {&to, &words[0], &words[1], &count};
  const auto groups = static_cast<unsigned>(std::min<uint64_t>((count + kGroup - 1) / kGroup, groups_));
  check(context_.api,
        context_.api.launch(pattern_bytes == 8 ? fill_8_ : fill_16_, groups, 1, 1, kGroup, 1, 1, 0, stream, parameters,
                            nullptr),
        "cuLaunchKernel");
}

}  // namespace kymo::device::cuda
