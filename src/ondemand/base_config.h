// What the peers' programs are set up with, host by host: a file in the form of their config text.
#pragma once

#include <string>

namespace kymo::ondemand {

// The file that KINETO_CONFIG names, or else /etc/libkineto.conf. Empty where there is none, or where it says something
// that cannot be understood: then it is as if there were none.
std::string base_config();

}  // namespace kymo::ondemand
