"""`python -m uhost`: the command line."""

from uhost.cli import main

if __name__ == "__main__":
    main()
