// A kernel that stores the device's timer, to find out how a driver's times relate to it.
#pragma once

namespace kymo::device {

inline constexpr const char* kTimerKernelName = "kymo_timer";

// Its parameter is the address, 8 bytes by value. One thread is enough.
inline constexpr const char kTimerKernel[] = R"(
.version 6.2
.target sm_70
.address_size 64
.visible .entry kymo_timer(.param .u64 to)
{
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [to];
	mov.u64 %rd2, %globaltimer;
	st.global.u64 [%rd1], %rd2;
	ret;
}
)";

}  // namespace kymo::device
