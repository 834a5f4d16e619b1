// SPDX-License-Identifier: BSD-3-Clause
#include "replay/conversations.hpp"

namespace longhaul::replay {
namespace {

constexpr std::size_t kMostConversations = 4096;

bool sends_or_writes(const wire::Frame& frame) {
  return frame.opcode != nullptr && frame.service() == wire::Service::rc && !frame.opcode->is_response() &&
         !frame.opcode->wants_response();
}

}  // namespace

void Conversations::note(const wire::Frame& frame, const NearHosts& near) {
  Ends ends{frame.source.bytes, frame.destination.bytes};
  if (ends.second < ends.first) std::swap(ends.first, ends.second);
  auto found = index_.find(ends);
  if (found == index_.end()) {
    if (all_.size() == kMostConversations) return;
    found = index_.emplace(ends, all_.size()).first;
    Conversation& added = all_.emplace_back();
    added.hosts[0] = {.address = frame.source, .near = near.is_near(frame.source)};
    added.hosts[1] = {.address = frame.destination, .near = near.is_near(frame.destination)};
  }
  Conversation& conversation = all_[found->second];
  Conversation::Host& sender = conversation.hosts[conversation.hosts[0].address == frame.source ? 0 : 1];
  ++sender.frames;
  if (sends_or_writes(frame)) ++sender.requests;
}

}  // namespace longhaul::replay
