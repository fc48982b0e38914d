// How a process tells `kymo record` that it could not record.
//
// By a datagram to a socket that has a name and no file, so that a process which sees no folder of the recorder's
// (chroot) reaches it too, and nothing is left behind. It says why; the kernel says which process sent it.
#pragma once

#include <cstddef>
#include <cstdint>

struct sockaddr_un;

namespace kymo::record {

// Fills in the socket's address for a session, and returns how long it is.
uint32_t refusal_address(const uint8_t (&session)[16], sockaddr_un& address) noexcept;

// Waits at most a fifth of a second for a recorder that is busy. One that has ended is not told.
inline constexpr size_t kMostRefusalBytes = 512;
void send_refusal(const uint8_t (&session)[16], const char* why) noexcept;

}  // namespace kymo::record
