// SPDX-License-Identifier: BSD-3-Clause
// TCP and UDP frames that are not RoCE, from both sides of a device. They must come out unchanged and in order.
#pragma once

#include <vector>

#include "base/side.hpp"
#include "test/bench/device.hpp"
#include "test/bench/frame_template.hpp"
#include "test/bench/stream.hpp"
#include "test/bench/workload.hpp"

namespace longhaul::bench {

class ForeignStream final : public Stream {
 public:
  /// All references must outlive it.
  ForeignStream(const Point& point, rte_mempool* pool, const Treatment& treatment, const Payloads& payloads,
                Errors& errors);

  void offer(Part part, std::size_t budget, Offer& offer) override;
  bool take(Side out, wire::ParseStatus status, const wire::Frame& parsed, const rte_mbuf* mbuf) override;
  void after_chunk() override;

 private:
  std::uint16_t size_of(std::uint32_t number) const;
  void write(Side from, std::uint32_t number, std::uint8_t* to) const;

  Point point_;
  rte_mempool* pool_;
  const Treatment& treatment_;
  const Payloads& payloads_;
  Errors& errors_;
  BySide<std::uint32_t> sent_{};     ///< by the side where they come from
  BySide<std::uint32_t> arrived_{};  ///< how many of them arrived
  std::vector<std::uint8_t> scratch_;
};

}  // namespace longhaul::bench
