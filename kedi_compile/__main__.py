"""`python -m kedi_compile`: the `kedi-compile` command where its script is not on the path; it is in `cli.py`."""

from kedi_compile.cli import main

if __name__ == "__main__":
    main()
