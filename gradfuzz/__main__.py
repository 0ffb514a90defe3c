"""`python -m gradfuzz` is `gradfuzz`."""

from gradfuzz.cli import main

if __name__ == "__main__":
    main(prog_name="gradfuzz")
