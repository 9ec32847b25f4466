// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Collective operations over a link. Every process computes a part of the results and sends it to the others, so that
// all hold the same bits; long tensors go through the link's buffers in pieces.

#ifndef TANDEM_MPI_COLLECTIVES_H_
#define TANDEM_MPI_COLLECTIVES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "failure.h"
#include "link.h"
#include "reduction.h"
#include "tandem.h"

namespace tandem::mpi {

enum class Kind : uint32_t { kAllReduce, kBroadcast, kAllGather, kReduceScatter, kFailed, kFarewell };

// What a process is about to do, which all must agree on. The same bytes on all processes of one kind of machine.
struct Announcement {
  Kind kind = Kind::kFarewell;
  Reduction reduction = Reduction::kNone;
  tandem_dtype dtype = 0;
  int32_t root = 0;
  uint64_t num_tensors = 0;
  uint64_t num_elements = 0;  // of all tensors together
  uint64_t shapes = 0;        // a hash of all
};

// Tells the other processes, and hears of them. InvalidArgument if one of them announces something else.
Failure Agree(Link& link, const Announcement& own);

// The memory of a tensor that is read and of the one that is written, either of which may be null.
struct Memory {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  size_t from_size = 0;
  size_t to_size = 0;
};

// What all have agreed on, with this process's tensors: of AllReduce and Broadcast any number, else one.
Failure RunCollective(Link& link, const Announcement& call, std::span<const Memory> tensors);

}  // namespace tandem::mpi

#endif  // TANDEM_MPI_COLLECTIVES_H_
