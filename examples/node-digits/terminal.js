// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What the example needs to know about where its output goes.

/** Columns of the terminal behind standard output; 80 if there is none. */
export function terminalWidth() {
  return process.stdout.columns ?? 80;
}

/** Whether the environment's locale (LC_ALL, LC_CTYPE, LANG: the first that is set) uses UTF-8. */
export function localeIsUtf8() {
  const { LC_ALL, LC_CTYPE, LANG } = process.env;
  return /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || '');
}
