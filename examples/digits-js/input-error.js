// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// InputError: what the user gave, an option or a file, is not what it must be.

/** Its message says what was expected and what was given, and names the file and byte where there is one. */
export class InputError extends Error {
  /** @override */
  name = 'InputError';
}
