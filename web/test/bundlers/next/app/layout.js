// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tandem Authors

// What all pages of the site have in common.

export const metadata = { title: 'app' };

export default function Layout({ children }) {
  return <html lang="en"><body>{children}</body></html>;
}
