"""How much time and memory history processing costs, as ratios measured side by side in one process.

`python -m benchmarks` prints the table; README.md beside this file tells how to read it. Nothing here is imported by
the library, and no number is judged by the tests.
"""
