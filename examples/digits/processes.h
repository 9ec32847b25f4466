// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Processes: those that train together, by the op library of MPI.

#ifndef TANDEM_EXAMPLES_DIGITS_PROCESSES_H_
#define TANDEM_EXAMPLES_DIGITS_PROCESSES_H_

#include <string>
#include <vector>

#include "digits/layers.h"
#include "tandem/chain.h"
#include "tandem/eager.h"
#include "tandem/load_op_library.h"

namespace digits {

// One thread at a time.
class Processes {
 public:
  // This process alone.
  Processes() = default;
  // All that mpirun has started; waits for them. `library` is the path of libtandem_mpi.so.
  tandem::Status Join(tandem::eager::Runtime& runtime, const std::string& library);

  int rank() const { return rank_; }
  int count() const { return count_; }
  // Makes each gradient the mean of those of all processes, of equal shares of a batch: the same bits in each.
  void AverageGradients(const std::vector<Parameter*>& parameters);

 private:
  tandem::eager::Runtime* runtime_ = nullptr;
  tandem::LoadedOpLibrary library_;
  tandem::AsyncValueRef<tandem::Chain> order_;
  int rank_ = 0;
  int count_ = 1;
};

}  // namespace digits

#endif  // TANDEM_EXAMPLES_DIGITS_PROCESSES_H_
