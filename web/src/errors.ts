// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// The error that every failure of the package is.

/** The kinds of errors. */
export type ErrorCode =
  | 'Cancelled' | 'Unknown' | 'InvalidArgument' | 'DeadlineExceeded' | 'NotFound' | 'AlreadyExists'
  | 'ResourceExhausted' | 'FailedPrecondition' | 'OutOfRange' | 'Unimplemented' | 'Internal' | 'Unavailable'
  | 'DataLoss';

/** An error of Tandem. */
export class TandemError extends Error {
  readonly code: ErrorCode;
  readonly op?: string;
  readonly location?: string;

  constructor(code: ErrorCode, message: string, options: { op?: string; location?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'TandemError';
    this.code = code;
    if (options.op !== undefined) this.op = options.op;
    if (options.location !== undefined) this.location = options.location;
  }
}
