// The configuration of libkineto programs on a host: a file in the form of their config text.
#pragma once

#include <string>

namespace kymo::ondemand {

// The file that KINETO_CONFIG names, else /etc/libkineto.conf. Empty if there is none, or if it cannot be understood.
std::string base_config();

}  // namespace kymo::ondemand
