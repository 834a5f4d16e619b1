// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

namespace longhaul::expose {

/// The status page (status_page.html): one HTML file, which asks for /status.json.
extern const std::string_view kStatusPage;

}  // namespace longhaul::expose
