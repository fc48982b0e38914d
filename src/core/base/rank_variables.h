// The variables of the environment that tell a process its number in its job.
#pragma once

#include <array>
#include <string_view>

namespace kymo::base {

// The first of them that is set counts.
inline constexpr std::array<std::string_view, 5> kRankVariables{"KYMO_RANK", "RANK", "SLURM_PROCID",
                                                                "OMPI_COMM_WORLD_RANK", "PMI_RANK"};

}  // namespace kymo::base
