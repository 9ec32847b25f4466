// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// Classes of the environment, for types that programs for others compile as well.

/** What the class of this name makes; `Else` where the types of the environment are not known. */
export type Dom<Name extends string, Else = never> =
  typeof globalThis extends { [key in Name]: { prototype: infer T } } ? T : Else;
