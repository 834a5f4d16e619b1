// SPDX-License-Identifier: BSD-3-Clause
// A tenant whose attack is data: a list of steps, which a program can change and judge. All its frames are between one
// pair of hosts, so that whatever it takes beyond a share is a breach of rule 9.
#pragma once

#include <cstddef>
#include <string_view>

#include "sim/attack_connection.hpp"
#include "sim/case.hpp"

namespace longhaul::sim {

/// The attack's name in the table.
inline constexpr std::string_view kScripted = "scripted";

/// Connections that a script can have. A greater number in a step means one of these.
inline constexpr Number kScriptConnections = 64;

/// How many verbs there are. A greater number in a step means one of these.
std::size_t script_verbs();

/// How the connections of the case's script behave.
Manners manners_of_script(const Case& c);

/// A few random steps, and manners.
void draw_script(Case& c);

/// The attack: at step `number` the script's step with this number. Nothing without a script.
void run_script(Attacker& attacker, Number number);

}  // namespace longhaul::sim
