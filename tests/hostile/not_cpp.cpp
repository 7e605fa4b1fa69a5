// verdict: build_failed compile_error
Here is a kernel that squares every element.
