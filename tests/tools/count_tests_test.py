# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Runs tools/count_tests.py on reports such as test programs leave, and checks what it prints and its exit status.

usage: count_tests_test.py
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

COUNT_TESTS = pathlib.Path(__file__).resolve().parents[2] / "tools" / "count_tests.py"
# As CTest 3.25 writes them.
RAN = '<testcase name="{}" status="run"/>'
FAILED = '<testcase name="{}" status="fail"><failure message=""/></testcase>'
SKIPPED = '<testcase name="{}" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>'
MISSING = '<testcase name="{}" status="notrun"><skipped message="Unable to find executable"/></testcase>'


class CountTests(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.build = pathlib.Path(directory.name)
        self.reports = self.build / "reports"
        self.reports.mkdir()

    def ctest(self, *cases):
        (self.reports / "ctest.xml").write_text(f"<testsuite>{''.join(cases)}</testsuite>", encoding="utf-8")

    def counts(self, name, passed, failed, skipped):
        counts = {"passed": passed, "failed": failed, "skipped": skipped}
        (self.reports / f"{name}.json").write_text(json.dumps(counts), encoding="utf-8")

    def run_on(self, *args):
        """(exit status, lines) for the build, with `args` before it."""
        command = [sys.executable, COUNT_TESTS, *args, self.build]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.splitlines()

    def expect(self, status, passed, failed, skipped, *args):
        got, lines = self.run_on(*args)
        self.assertEqual(lines[-1], f"{passed} passed, {failed} failed, {skipped} skipped")
        self.assertEqual(got, status)
        return lines

    def test_adds_up_what_programs_report(self):
        self.ctest(RAN.format("a"), RAN.format("b"), RAN.format("counts_nothing"))
        self.counts("a", 3, 0, 1)
        self.counts("b", 4, 0, 0)
        self.expect(0, 7, 0, 1)

    def test_a_program_that_skipped_itself_is_skipped(self):
        self.ctest(RAN.format("a"), SKIPPED.format("b"), SKIPPED.format("c"))
        self.counts("a", 3, 0, 0)
        self.counts("c", 0, 0, 5)
        self.expect(0, 3, 0, 6)

    def test_a_program_that_is_missing_or_crashed_failed(self):
        for case in (MISSING, FAILED):
            self.ctest(RAN.format("a"), case.format("b"))
            self.counts("a", 3, 0, 0)
            self.assertIn(f"  {self.build}: b: 1 failed", self.expect(1, 3, 1, 0))

    def test_cases_that_failed_are_counted(self):
        self.ctest(FAILED.format("a"))
        self.counts("a", 3, 2, 0)
        self.expect(1, 3, 2, 0)

    def test_googletest_and_junit_reports(self):
        self.ctest(RAN.format("g"), RAN.format("j"))
        cases = [{"status": "RUN", "result": "COMPLETED"}, {"status": "RUN", "result": "SKIPPED"},
                 {"status": "NOTRUN", "result": "SUPPRESSED"},
                 {"status": "RUN", "result": "COMPLETED", "failures": [{}]}]
        (self.reports / "g.json").write_text(json.dumps({"testsuites": [{"testsuite": cases}]}), encoding="utf-8")
        (self.reports / "j.xml").write_text(
            "<a><b><testcase/><testcase><skipped/></testcase><testcase><failure/></testcase></b></a>", encoding="utf-8")
        self.expect(1, 2, 2, 3)

    def test_steps(self):
        (self.reports / "steps.txt").write_text("a ok\nb FAILED\n", encoding="utf-8")
        self.counts("a", 3, 0, 0)
        self.expect(1, 3, 1, 0)

    def test_failures_elsewhere_and_builds_without_tests(self):
        self.expect(1, 0, 1, 0)
        self.ctest()
        self.expect(1, 0, 1, 0)
        self.ctest(RAN.format("a"))
        self.expect(1, 0, 0, 0)
        self.counts("a", 3, 0, 0)
        self.expect(1, 3, 2, 0, "--also-failed", "2")


if __name__ == "__main__":
    unittest.main()
