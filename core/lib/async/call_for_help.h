// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// CallForHelp: how a kernel asks again for threads that take a part of its work.

#ifndef TANDEM_CORE_LIB_ASYNC_CALL_FOR_HELP_H_
#define TANDEM_CORE_LIB_ASYNC_CALL_FOR_HELP_H_

namespace tandem::internal {

// To be called now and then by a worker that has added a helping task which nobody has taken yet: a worker may have
// been held back in favour of a thread that was about to help, and has something else to do now.
void CallForHelp();

}  // namespace tandem::internal

#endif  // TANDEM_CORE_LIB_ASYNC_CALL_FOR_HELP_H_
