# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tandem Authors
"""Cases of the ops with effects, as far as a call shows them: that they succeed, or their error."""

from case_suite import Suite, common_errors, scalar, vector


def print_cases(suite):
    text = scalar("string", "some text")
    suite.case("PrintV2", "tf.PrintV2", [text], [])
    suite.case("PrintV2_empty", "tf.PrintV2", [scalar("string", "")], [])
    suite.case("PrintV2_end", "tf.PrintV2", [text], [], {"end": ""})
    for stream in ("stdout", "stderr", "log(info)", "log(warning)", "log(error)"):
        suite.case(f"PrintV2_{stream.replace('(', '_').rstrip(')')}", "tf.PrintV2", [text], [],
                   {"output_stream": stream})
    suite.error("PrintV2_vector", "tf.PrintV2", [vector("string", ["a"])],
                "input must be a scalar, got input: string[1]")
    suite.error("PrintV2_number", "tf.PrintV2", [scalar("f32", 1.0)], "argument 0 (input) must be string, got f32[]")
    suite.error("PrintV2_stream", "tf.PrintV2", [text], "attribute output_stream must be one of 'stdout', 'stderr', "
                "'log(info)', 'log(warning)', 'log(error)', got 'file'", {"output_stream": "file"})
    suite.error("PrintV2_end_number", "tf.PrintV2", [text], "attribute end must be string, got i64", {"end": 1})
    common_errors(suite, "tf.PrintV2", [text], ["input"], None, required="one of output_stream, end")


def assert_cases(suite):
    true, false = scalar("bool", True), scalar("bool", False)
    numbers, words = vector("i32", [1, 2, 3, 4, 5]), vector("string", ["a", "b"])
    suite.case("Assert_true", "tf.Assert", [true], [])
    suite.case("Assert_true_data", "tf.Assert", [true, numbers, words], [])
    suite.error("Assert_false", "tf.Assert", [false], "assertion failed")

    def wrong(name, data, text, summarize=None):
        suite.error(f"Assert_{name}", "tf.Assert", [false] + data, f"assertion failed, got {text}",
                    None if summarize is None else {"summarize": summarize})

    wrong("i32", [numbers], "i32[5] = [1, 2, 3, ...]")
    wrong("all", [numbers], "i32[5] = [1, 2, 3, 4, 5]", -1)
    wrong("more_than_there_are", [numbers], "i32[5] = [1, 2, 3, 4, 5]", 9)
    wrong("several", [vector("f32", [0.5]), scalar("bool", True), words],
          'f32[1] = [0.5]; bool[] = [true]; string[2] = ["a", "b"]')
    suite.error("Assert_vector", "tf.Assert", [vector("bool", [True])],
                "condition must be a scalar, got condition: bool[1]")
    suite.error("Assert_number", "tf.Assert", [scalar("i32", 1)], "argument 0 (condition) must be bool, got i32[]")
    suite.error("Assert_nothing", "tf.Assert", [], "expected at least 1 argument, got 0")
    suite.error("Assert_wrong_list", "tf.Assert", [true, numbers], "argument 1 (data) must be f32, got i32[5]",
                {"T": ["f32"]})
    suite.error("Assert_list_length", "tf.Assert", [true, numbers],
                "expected 2 arguments for data as attribute T says, got 1",
                {"T": ["i32", "i32"]})
    suite.error("Assert_unknown_attr", "tf.Assert", [true],
                "attribute no_such is not defined, expected one of T, summarize",
                {"no_such": 1})


def suite():
    result = Suite()
    print_cases(result)
    assert_cases(result)
    return result
