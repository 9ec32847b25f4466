// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The scratch area of a module's memory, for what a call gives and takes.

/** What lies where, in bytes from its begin. At the begin is room for the results of C functions. */
export const enum Scratch {
  /** A struct that a function fills or reads; of at most 128 bytes. */
  STRUCT = 64,
  /** A tandem_call_options. */
  OPTIONS = 192,
  /** Another one, in which attributes are all that is ever set. */
  PLAIN_OPTIONS = 224,
  /** Events. */
  EVENTS = 256,
  /** The arguments of a call, and the results behind them; dimensions. */
  ARGUMENTS = 2048,
  BYTES = 65536,
}

/** How many events there is room for. */
export const MAX_EVENTS = 64;

/** How many arguments and results together. */
export const MAX_TENSORS = 4096;
