// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Each collective operation as exchanges between all pairs of processes.

#include "collectives.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace tandem::mpi {

namespace {

constexpr const char* kKinds[] = {"AllReduce", "Broadcast", "AllGather", "ReduceScatter"};

struct Text {
  char bytes[120];
};

Text Describe(const Announcement& call) {
  Text text;
  char* const to = text.bytes;
  constexpr size_t kSize = sizeof(text.bytes);
  if (call.kind == Kind::kFarewell) {
    std::snprintf(to, kSize, "ends");
  } else if (call.kind >= Kind::kFailed) {
    std::snprintf(to, kSize, "has failed to begin its call");
  } else {
    char of[32] = "";
    if (call.kind == Kind::kBroadcast) std::snprintf(of, sizeof(of), " from %d", static_cast<int>(call.root));
    if (call.reduction != Reduction::kNone) std::snprintf(of, sizeof(of), " (%s)", NameOf(call.reduction));
    std::snprintf(to, kSize, "calls %s%s of %llu %s tensors with %llu elements", kKinds[static_cast<size_t>(call.kind)],
                  of, static_cast<unsigned long long>(call.num_tensors), NameOf(call.dtype),
                  static_cast<unsigned long long>(call.num_elements));
  }
  return text;
}

// The bytes of tensors one after the other, read or written from their beginning to their end.
class Sequence {
 public:
  explicit Sequence(std::span<const Memory> tensors) : tensors_(tensors) {}

  void Read(std::span<std::byte> to) {
    ForParts(
        to.size(), [](const Memory& tensor) { return tensor.from_size; },
        [&](const Memory& tensor, size_t offset, size_t size, size_t done) {
          std::memcpy(to.data() + done, tensor.from + offset, size);
        });
  }
  void Write(std::span<const std::byte> from) {
    ForParts(
        from.size(), [](const Memory& tensor) { return tensor.to_size; },
        [&](const Memory& tensor, size_t offset, size_t size, size_t done) {
          std::memcpy(tensor.to + offset, from.data() + done, size);
        });
  }

 private:
  template <typename SizeOf, typename Copy>
  void ForParts(size_t count, SizeOf size_of, Copy copy) {
    for (size_t done = 0; done < count;) {
      const Memory& tensor = tensors_[index_];
      const size_t size = std::min(size_of(tensor) - offset_, count - done);
      if (size > 0) copy(tensor, offset_, size, done);
      done += size;
      offset_ += size;
      if (offset_ == size_of(tensor)) {
        ++index_;
        offset_ = 0;
      }
    }
  }

  const std::span<const Memory> tensors_;
  size_t index_ = 0;
  size_t offset_ = 0;
};

// Elements [begin, end) of `count`, the share of one of the processes.
struct Share {
  size_t begin, end;
  size_t size() const { return end - begin; }
};
Share ShareOf(size_t count, int process, int num_processes) {
  const auto part = [&](int i) {
    return static_cast<size_t>(static_cast<uint64_t>(count) * static_cast<uint64_t>(i) /
                               static_cast<uint64_t>(num_processes));
  };
  return {part(process), part(process + 1)};
}

template <typename Function>
void ForPeers(const Link& link, Function function) {
  for (int peer = 0; peer < link.count(); ++peer) {
    if (peer != link.rank()) function(peer);
  }
}

// The share of the outgoing buffer that this process has, to all but `except`, and theirs from all.
Failure GatherShares(Link& link, size_t count, size_t element, int except) {
  const auto share_of = [&](int process) {
    const Share share = ShareOf(count, process, link.count());
    return std::span(link.outgoing() + share.begin * element, share.size() * element);
  };
  ForPeers(link, [&](int peer) {
    if (link.rank() != except) link.Receive(peer, share_of(peer));
    if (peer != except) link.Send(peer, share_of(link.rank()));
  });
  return link.Wait();
}

// One piece in the outgoing buffer, to be reduced there.
Failure AllReducePiece(Link& link, const Announcement& call, size_t count) {
  const size_t element = SizeOf(call.dtype);
  const Share own = ShareOf(count, link.rank(), link.count());
  const size_t own_bytes = own.size() * element;
  ForPeers(link, [&](int peer) {
    const Share share = ShareOf(count, peer, link.count());
    link.Receive(peer, {link.incoming() + static_cast<size_t>(peer) * own_bytes, own_bytes});
    link.Send(peer, {link.outgoing() + share.begin * element, share.size() * element});
  });
  TANDEM_MPI_RETURN_IF_FAILED(link.Wait());
  std::byte* const result = link.outgoing() + own.begin * element;
  std::memcpy(link.incoming() + static_cast<size_t>(link.rank()) * own_bytes, result, own_bytes);
  Reduce(call.dtype, call.reduction, link.incoming(), static_cast<size_t>(link.count()), own.size(), result);
  return GatherShares(link, count, element, /*except=*/-1);
}

// One piece in the outgoing buffer of the root, to be there in all processes.
Failure BroadcastPiece(Link& link, const Announcement& call, size_t count) {
  const size_t element = SizeOf(call.dtype);
  const auto share_of = [&](int process) {
    const Share share = ShareOf(count, process, link.count());
    return std::span(link.outgoing() + share.begin * element, share.size() * element);
  };
  if (link.rank() == call.root) {
    ForPeers(link, [&](int peer) { link.Send(peer, share_of(peer)); });
  } else {
    link.Receive(call.root, share_of(link.rank()));
  }
  TANDEM_MPI_RETURN_IF_FAILED(link.Wait());
  return GatherShares(link, count, element, call.root);
}

Failure ReduceOrBroadcast(Link& link, const Announcement& call, std::span<const Memory> tensors) {
  const size_t element = SizeOf(call.dtype);
  const size_t piece = Link::kBufferBytes / element;
  Sequence from(tensors), to(tensors);
  for (uint64_t done = 0; done < call.num_elements;) {
    const auto count = static_cast<size_t>(std::min<uint64_t>(piece, call.num_elements - done));
    const std::span bytes(link.outgoing(), count * element);
    const bool is_reduced = call.kind == Kind::kAllReduce;
    if (is_reduced || link.rank() == call.root) from.Read(bytes);
    TANDEM_MPI_RETURN_IF_FAILED(is_reduced ? AllReducePiece(link, call, count) : BroadcastPiece(link, call, count));
    to.Write(bytes);
    done += count;
  }
  return Failure();
}

// Bytes of a piece where each process has a place in the buffer.
size_t PieceOfEach(const Link& link, size_t element) {
  const size_t elements = Link::kBufferBytes / element / static_cast<size_t>(link.count());
  return std::max<size_t>(elements, 1) * element;
}

Failure AllGather(Link& link, size_t element, const Memory& tensor) {
  const size_t piece = PieceOfEach(link, element);
  for (size_t begin = 0; begin < tensor.from_size; begin += piece) {
    const size_t size = std::min(piece, tensor.from_size - begin);
    std::memcpy(link.outgoing(), tensor.from + begin, size);
    const auto place = [&](int peer) { return link.incoming() + static_cast<size_t>(peer) * size; };
    ForPeers(link, [&](int peer) {
      link.Receive(peer, {place(peer), size});
      link.Send(peer, {link.outgoing(), size});
    });
    TANDEM_MPI_RETURN_IF_FAILED(link.Wait());
    std::memcpy(place(link.rank()), link.outgoing(), size);
    for (int i = 0; i < link.count(); ++i) {
      std::memcpy(tensor.to + static_cast<size_t>(i) * tensor.from_size + begin, place(i), size);
    }
  }
  return Failure();
}

Failure ReduceScatter(Link& link, const Announcement& call, const Memory& tensor) {
  const size_t element = SizeOf(call.dtype);
  const size_t piece = PieceOfEach(link, element);
  for (size_t begin = 0; begin < tensor.to_size; begin += piece) {
    const size_t size = std::min(piece, tensor.to_size - begin);
    const auto place = [&](std::byte* buffer, int peer) { return buffer + static_cast<size_t>(peer) * size; };
    for (int i = 0; i < link.count(); ++i) {
      std::byte* const to = place(i == link.rank() ? link.incoming() : link.outgoing(), i);
      std::memcpy(to, tensor.from + static_cast<size_t>(i) * tensor.to_size + begin, size);
    }
    ForPeers(link, [&](int peer) {
      link.Receive(peer, {place(link.incoming(), peer), size});
      link.Send(peer, {place(link.outgoing(), peer), size});
    });
    TANDEM_MPI_RETURN_IF_FAILED(link.Wait());
    Reduce(call.dtype, call.reduction, link.incoming(), static_cast<size_t>(link.count()), size / element,
           tensor.to + begin);
  }
  return Failure();
}

}  // namespace

Failure Agree(Link& link, const Announcement& own) {
  constexpr size_t kSize = sizeof(Announcement);
  static_assert(kSize == 40, "has no padding");
  std::memcpy(link.outgoing(), &own, kSize);
  ForPeers(link, [&](int peer) {
    link.Receive(peer, {link.incoming() + static_cast<size_t>(peer) * kSize, kSize});
    link.Send(peer, {link.outgoing(), kSize});
  });
  TANDEM_MPI_RETURN_IF_FAILED(link.Wait());
  Failure failure;
  bool all_stay = true;
  ForPeers(link, [&](int peer) {
    Announcement other;
    std::memcpy(&other, link.incoming() + static_cast<size_t>(peer) * kSize, kSize);
    all_stay = all_stay && other.kind != Kind::kFarewell;
    if (!failure.ok() || std::memcmp(&own, &other, kSize) == 0) return;
    const Text theirs = Describe(other), ours = Describe(own);
    const bool is_shape = std::strcmp(theirs.bytes, ours.bytes) == 0;
    failure = Fail(TANDEM_INVALID_ARGUMENT, "expected the same call in every process, process %d %s, process %d %s%s",
                   link.rank(), ours.bytes, peer, theirs.bytes, is_shape ? " of other shapes" : "");
  });
  return failure.ok() || all_stay ? failure : link.Break(failure);
}

Failure RunCollective(Link& link, const Announcement& call, std::span<const Memory> tensors) {
  if (call.num_elements == 0) return Failure();
  switch (call.kind) {
    case Kind::kAllReduce:
    case Kind::kBroadcast:
      return ReduceOrBroadcast(link, call, tensors);
    case Kind::kAllGather:
      return AllGather(link, SizeOf(call.dtype), tensors[0]);
    case Kind::kReduceScatter:
      return ReduceScatter(link, call, tensors[0]);
    case Kind::kFailed:
    case Kind::kFarewell:
      break;
  }
  return Failure();
}

}  // namespace tandem::mpi
